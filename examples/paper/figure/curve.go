package figure

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Curve is one point of a run's accuracy curve: the accuracy of a method after one round. All figures over rounds are
// drawn from such points.
type Curve struct {
	Dataset   string
	Partition string // in the format of task.Partition: iid, dirichlet:0.3, pathological:2
	Method    string
	Seed      int     // identifies a run; runs of two methods with the same seed form a pair
	Round     int     // 0 is the start
	Accuracy  float64 // on test data, a share in [0, 1]
}

var curveHeader = []string{"dataset", "partition", "method", "seed", "round", "accuracy"}

// WriteCurves writes points as CSV with a header line. Each accuracy has just enough digits to be read back exactly.
func WriteCurves(w io.Writer, curves []Curve) error {
	out := csv.NewWriter(w)
	out.Write(curveHeader)
	for _, c := range curves {
		out.Write([]string{c.Dataset, c.Partition, c.Method, strconv.Itoa(c.Seed), strconv.Itoa(c.Round),
			strconv.FormatFloat(c.Accuracy, 'g', -1, 64)})
	}
	out.Flush()
	return out.Error()
}

// ReadCurves reads the format of WriteCurves. It reports up to ten invalid rows in one error.
func ReadCurves(r io.Reader) ([]Curve, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = len(curveHeader)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("figure: cannot read the header of the curves: %w", err)
	}
	if !slices.Equal(header, curveHeader) {
		return nil, fmt.Errorf("figure: header of the curves is %q, want %q", header, curveHeader)
	}
	var curves []Curve
	var errs []error
	for len(errs) < 10 {
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("figure: curves: %w", err))
			break
		}
		c := Curve{Dataset: row[0], Partition: row[1], Method: row[2]}
		var seed, round, accuracy error
		c.Seed, seed = strconv.Atoi(row[3])
		c.Round, round = strconv.Atoi(row[4])
		c.Accuracy, accuracy = strconv.ParseFloat(row[5], 64)
		line, _ := in.FieldPos(0)
		switch {
		case seed != nil:
			errs = append(errs, fmt.Errorf("figure: curves, line %d: seed is %q, want a whole number", line, row[3]))
		case round != nil || c.Round < 0:
			errs = append(errs, fmt.Errorf("figure: curves, line %d: round is %q, want a whole number that is not negative",
				line, row[4]))
		case accuracy != nil || !(c.Accuracy >= 0 && c.Accuracy <= 1):
			errs = append(errs, fmt.Errorf("figure: curves, line %d: accuracy is %q, want a fraction in 0..1", line, row[5]))
		}
		curves = append(curves, c)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return curves, nil
}

// key identifies a point of a line in a figure, across all seeds: partition, method and round.
type key struct {
	Partition, Method string
	Round             int
}

// group holds all curves of one data set, by key.
type group struct {
	dataset string
	// both in the order in which a figure shows them; methods that are not in the paper come first, in order of first
	// appearance
	partitions, methods []string
	rounds              []int                   // ascending
	at                  map[key]map[int]float64 // accuracies by seed
}

// newGroup groups points by key. It returns an error if the points belong to several data sets or if a point occurs
// twice.
func newGroup(curves []Curve) (*group, error) {
	if len(curves) == 0 {
		return nil, errors.New("figure: no curves")
	}
	g := &group{dataset: curves[0].Dataset, at: make(map[key]map[int]float64)}
	for _, c := range curves {
		if c.Dataset != g.dataset {
			return nil, fmt.Errorf("figure: found curves of the data sets %q and %q, want only one data set",
				g.dataset, c.Dataset)
		}
		if !(c.Accuracy >= 0 && c.Accuracy <= 1) {
			return nil, fmt.Errorf("figure: accuracy is %v (%s, %s, seed %d, round %d), want a fraction in 0..1", c.Accuracy,
				c.Partition, c.Method, c.Seed, c.Round)
		}
		k := key{c.Partition, c.Method, c.Round}
		if g.at[k] == nil {
			g.at[k] = make(map[int]float64)
		}
		if _, twice := g.at[k][c.Seed]; twice {
			return nil, fmt.Errorf("figure: %s, %s, seed %d has two accuracies for round %d", c.Partition, c.Method, c.Seed,
				c.Round)
		}
		g.at[k][c.Seed] = c.Accuracy
		g.partitions = append(g.partitions, c.Partition)
		if !slices.Contains(g.methods, c.Method) {
			g.methods = append(g.methods, c.Method)
		}
		g.rounds = append(g.rounds, c.Round)
	}
	slices.SortStableFunc(g.partitions, comparePartitions)
	g.partitions = slices.Compact(g.partitions)
	slices.SortStableFunc(g.methods, func(a, b string) int { return cmp.Compare(methodRank(a), methodRank(b)) })
	slices.Sort(g.rounds)
	g.rounds = slices.Compact(g.rounds)
	return g, nil
}

// values returns the accuracies, in percent, for a key, in ascending order of seed.
func (g *group) values(k key) []float64 {
	at := g.at[k]
	var out []float64
	for _, seed := range seeds(at) {
		out = append(out, 100*at[seed])
	}
	return out
}

// paired returns the accuracies, in percent, for two keys, in ascending order of seed. It includes only seeds that both
// keys have.
func (g *group) paired(a, b key) (x, y []float64) {
	for _, seed := range seeds(g.at[a]) {
		if v, ok := g.at[b][seed]; ok {
			x, y = append(x, 100*g.at[a][seed]), append(y, 100*v)
		}
	}
	return x, y
}

func seeds(at map[int]float64) []int {
	var all []int
	for seed := range at {
		all = append(all, seed)
	}
	slices.Sort(all)
	return all
}
