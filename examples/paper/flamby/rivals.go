package flamby

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// The rivals protect each patient at rivalDelta, with the preprocessing of the agreed values. They ask no more queries of a
// patient than SPADE-DFL: at most inRound in a round, and at most total, as many as in 10 such rounds.
const (
	rivalDelta     = 1e-4
	inRound, total = 64, 640

	trials, tries = 12, 2 // points of the search, and seeds for each
)

var rivalEpsilons = []float64{4, 1}

// rival is a method of this module, with the parameters that a search on the training rows varies.
type rival struct {
	name    string
	method  method.Method
	curator bool // all rows are in one place
	average bool // the mean of the clients' models is scored
	space   []method.Param
}

func rivals() []rival {
	space := []method.Param{{Name: "reach", Low: 0.5, High: 30, Log: true}, {Name: "clip", Low: 0.05, High: 3, Log: true},
		{Name: "rounds", Low: 10, High: 64, Log: true, Whole: true}}
	return []rival{
		{"DP-FedAvg of one step (DP-FedSGD), local noise", method.DPSGD{Local: true}, false, false, space},
		{"LT-ADMM-DP, local noise", method.LTADMMDP{PerSample: true}, false, true, append(slices.Clone(space),
			method.Param{Name: "tau", Low: 1, High: 8, Log: true, Whole: true}, method.Param{Name: "gain", Low: 0.1, High: 0.95})},
		{"DP-SGD, a curator who has all rows", method.DPSGD{}, true, false, space},
	}
}

// site has a client's rows to train on, and those to score.
type site struct{ train, test *task.Model }

// sites prepares the clients' rows. If seed is not 0, a quarter of the training rows of each takes the place of its test
// rows.
func (j job) sites(recipe *task.Recipe, seed uint64) (all []site, err error) {
	load := func(file string, fraction float64) (*task.Set, error) {
		return recipe.Apply(task.Spec{Source: "csv:" + file, TestFraction: fraction, Whole: fraction == 0, Seed: seed})
	}
	for i, file := range j.f.train {
		fraction := 0.0
		if seed > 0 {
			fraction = 0.25
		}
		set, err := load(file, fraction)
		if err != nil {
			return nil, err
		}
		test := set.Test
		if seed == 0 {
			own, err := load(j.f.test[i], 0)
			if err != nil {
				return nil, err
			}
			test = own.Train
		}
		all = append(all, site{recipe.Model.New(set.Train), recipe.Model.New(test)})
	}
	return all, nil
}

// joined returns a model of the rows of several, in their order.
func joined(recipe *task.Recipe, models []*task.Model) *task.Model {
	all := *models[0].Data()
	all.X, all.Y, all.Time = nil, nil, nil
	for _, m := range models {
		d := m.Data()
		all.X, all.Y, all.Time = append(all.X, d.X...), append(all.Y, d.Y...), append(all.Time, d.Time...)
	}
	return recipe.Model.New(&all)
}

// score returns the accuracy or the C-index in percent, or NaN if no rows can be compared.
func score(m *task.Model, x []float32) float64 {
	if m.Data().Horizon == nil {
		return 100 * m.Accuracy(x)
	}
	if _, err := m.Answers(x); err != nil {
		return 50 // a model that has diverged ranks nothing
	}
	marks, _ := m.Marks(x) // fails only if Answers does
	return 100 * m.Worth(marks)
}

// run makes a run of a rival with the point of a search, and returns the row of its figures as in runs.csv.
func (r rival) run(ctx context.Context, recipe *task.Recipe, sites []site, epsilon float64, seed uint64, point method.Setting) ([]float64, error) {
	begin := time.Now()
	rounds := point["rounds"]
	w := &method.World{Dim: recipe.Dim(), X0: recipe.Start(seed), Columns: true, Rounds: int(rounds), Queries: min(inRound, math.Floor(total/rounds)),
		Seed: seed, Privacy: &method.Privacy{Epsilon: epsilon, Delta: rivalDelta, Unit: dpmech.Record}}
	var trains, tests []*task.Model
	for _, s := range sites {
		trains, tests = append(trains, s.train), append(tests, s.test)
	}
	if r.curator {
		trains = []*task.Model{joined(recipe, trains)}
	}
	for _, m := range trains {
		w.Clients = append(w.Clients, method.Client{Oracle: m, Samples: m.Len()})
	}
	var err error
	if w.Graph, err = topology.Parse("complete", len(w.Clients), seed); err != nil {
		return nil, err
	}
	s := method.Setting{"clip": point["clip"], "mu": 0.05}
	if eta := point["reach"] / (point["clip"] * rounds); slices.ContainsFunc(r.space, func(p method.Param) bool { return p.Name == "gain" }) {
		s["tau"] = min(point["tau"], math.Floor(w.Queries/2))
		s["gamma"], s["gain"] = eta/s["tau"], point["gain"]
	} else {
		s["tau"], s["eta"] = 1, eta
	}
	models, spent, err := method.Last(ctx, r.method, w, s)
	if err != nil {
		return nil, err
	}
	if r.average {
		models = [][]float32{method.Mean(models)}
	}
	var clients, pooled []float64
	all := joined(recipe, tests)
	for i, test := range tests {
		if c := score(test, models[i%len(models)]); !math.IsNaN(c) {
			clients = append(clients, c)
		}
	}
	for _, x := range models {
		pooled = append(pooled, score(all, x))
	}
	return []float64{stat.Mean(clients), stat.Mean(pooled), rounds, w.Queries, float64(spent.Queries), 4 * float64(spent.Scalars),
		time.Since(begin).Seconds()}, nil
}

// rival makes the runs of a rival that the table does not have, after a search on the training rows.
func (j job) rival(ctx context.Context, r rival, dir string, seeds int, runs *sweep.Table) error {
	recipe, err := builtin.ReadTask(j.task(dir))
	if err != nil {
		return err
	}
	sites, err := j.sites(recipe, 0)
	if err != nil {
		return err
	}
	for _, epsilon := range rivalEpsilons {
		var best method.Setting
		for seed := range seeds {
			key := []string{j.name, r.name, fmt.Sprint(epsilon), fmt.Sprint(rivalDelta), fmt.Sprint(seed + 1)}
			if len(runs.Rows(key...)) > 0 {
				continue
			}
			if best == nil {
				if best, err = j.search(ctx, r, recipe, epsilon); err != nil {
					return err
				}
			}
			values, err := r.run(ctx, recipe, sites, epsilon, uint64(seed+1), best)
			if err != nil {
				return fmt.Errorf("flamby: %s, %s, epsilon %v: %w", j.name, r.name, epsilon, err)
			}
			for i, v := range values {
				key = append(key, strconv.FormatFloat(v, 'f', []int{4, 4, 0, 0, 0, 0, 1}[i], 64))
			}
			if err := runs.Add(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// search returns the point with the best figure of all rows that are held out from the training rows.
func (j job) search(ctx context.Context, r rival, recipe *task.Recipe, epsilon float64) (best method.Setting, err error) {
	top := math.Inf(-1)
	for _, point := range experiment.Hypercube(r.space, trials, fmt.Sprint(j.name, r.name, epsilon)) {
		sum := 0.0
		for seed := range uint64(tries) {
			sites, err := j.sites(recipe, 1001+seed)
			if err != nil {
				return nil, err
			}
			values, err := r.run(ctx, recipe, sites, epsilon, 1001+seed, point)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // the model diverges
				values = []float64{0, 0}
			}
			sum += values[1]
		}
		if sum > top {
			best, top = point, sum
		}
	}
	return best, nil
}
