package report

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// cell holds all runs of one table entry.
type cell struct {
	experiment.Job // the job of any of the runs
	runs           []experiment.Result
}

type value func(experiment.Result) float64

// Scores of a run of SPADE-DFL. Runs of other methods have only the first two.
var (
	accuracy       value = func(r experiment.Result) float64 { return r.Accuracy }
	network        value = func(r experiment.Result) float64 { return r.Network }
	averaged       value = func(r experiment.Result) float64 { return r.Averaged }
	cooled         value = func(r experiment.Result) float64 { return r.Cooled }
	cooledAveraged value = func(r experiment.Result) float64 { return r.CooledAveraged }
)

// values returns f(r) for every run r, in order of seed and fold.
func (c *cell) values(f value) []float64 {
	var out []float64
	for _, r := range c.runs {
		out = append(out, f(r))
	}
	return out
}

// text returns the mean and the population standard deviation of f over the runs, in the paper's format.
func (c *cell) text(f value) string {
	if c == nil {
		return "–"
	}
	v := c.values(f)
	return fmt.Sprintf("%.2f ± %.2f", stat.Mean(v), stat.SD(v))
}

// mean returns the mean of f over the runs, or -1 if c is nil.
func (c *cell) mean(f value) float64 {
	if c == nil {
		return -1
	}
	return stat.Mean(c.values(f))
}

// losses returns the mean number of losses queried per training sample and round.
func (c *cell) losses(samples int) float64 {
	sum := 0.0
	for _, r := range c.runs {
		sum += float64(r.Losses)
	}
	return sum / float64(len(c.runs)) / float64(samples) / float64(c.Rounds)
}

// gather collects a table's results on a data set into cells, in the order of each cell's first run.
func gather(store *experiment.Store, table, dataset string, seeds int) ([]*cell, error) {
	results, err := store.Results(table, dataset)
	if err != nil {
		return nil, err
	}
	var cells []*cell
	byJob := make(map[experiment.Job]*cell)
	for _, r := range results {
		if r.Seed > uint64(seeds) {
			continue
		}
		j := r.Job
		j.Seed, j.Fold = 0, 0
		if byJob[j] == nil {
			byJob[j] = &cell{Job: j}
			cells = append(cells, byJob[j])
		}
		byJob[j].runs = append(byJob[j].runs, r)
	}
	for _, c := range cells {
		slices.SortFunc(c.runs, func(a, b experiment.Result) int {
			if a.Seed != b.Seed {
				return int(a.Seed) - int(b.Seed)
			}
			return a.Fold - b.Fold
		})
	}
	return cells, nil
}

func find(cells []*cell, ok func(j experiment.Job) bool) *cell {
	for _, c := range cells {
		if ok(c.Job) {
			return c
		}
	}
	return nil
}

// in returns a function that finds the cell of a method in one partition of the samples. The cell of the pooled data is in
// every partition.
func in(cells []*cell, partition string) func(method string) *cell {
	return func(method string) *cell {
		return find(cells, func(j experiment.Job) bool {
			return j.Method == method && (j.Partition == partition || method == experiment.Pooled)
		})
	}
}

// paired returns f for the runs of a and for the runs of b, restricted to the seeds and folds that both cells have.
func paired(a, b *cell, f value) (x, y []float64) { return pairedBy(a, b, f, f) }

// pairedBy is like paired, but applies f to the runs of a and g to the runs of b.
func pairedBy(a, b *cell, f, g value) (x, y []float64) {
	for _, r := range a.runs {
		for _, q := range b.runs {
			if r.Seed == q.Seed && r.Fold == q.Fold {
				x, y = append(x, f(r)), append(y, g(q))
			}
		}
	}
	return x, y
}

func samples(lab *experiment.Lab, dataset string) (int, error) {
	s, err := lab.Source(dataset)
	if err != nil {
		return 0, err
	}
	split, err := s.Split(1, 0, false)
	if err != nil {
		return 0, err
	}
	return split.Train.Len(), nil
}

// title returns the paper's title for a partition.
func title(partition string) string {
	switch partition {
	case "iid":
		return "IID"
	case "dirichlet:0.6":
		return "Dir. (α = 0.6)"
	case "dirichlet:0.3":
		return "Dir. (α = 0.3)"
	case "pathological:2":
		return "Pathological"
	}
	return partition
}

func heading(dataset string) string { return data.Titles[dataset] }
