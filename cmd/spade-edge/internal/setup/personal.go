package setup

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

const (
	personalFolds  = 5  // parts of the own records, each held back once to choose how many rounds are best
	personalRounds = 50 // at most

	quantile = 1.96 // of a normal variable, for 95 %
)

// Personal compares three models on samples of a site that none of them has learned from: the fleet's, one that learned from the site's
// own records alone, and the fleet's fitted further on these.
type Personal struct {
	Shared   Judged `json:"shared"`
	Own      Judged `json:"own"`
	Personal Judged `json:"personal"`
	Records  int    `json:"records"` // own ones
	Samples  int    `json:"samples"` // that judged
	Best     string `json:"best"`    // shared, own or personal: the least loss
	// Clear says that its loss is less than that of both others beyond chance: the 95 % intervals of the differences are below zero.
	Clear bool `json:"clear"`

	Model []float32 `json:"-"` // the personal one
}

// Judged is what a model is worth on a site's samples.
type Judged struct {
	Rounds         int                 `json:"rounds"` // of local learning
	Loss           float64             `json:"loss"`   // the mean
	Classification *task.ClassMetrics  `json:"classification,omitempty"`
	Regression     *task.NumberMetrics `json:"regression,omitempty"`

	x      []float32
	losses []float64
}

// Personalize fits a fleet's model further on a site's own records, and compares. spec is the model's, start where the fleet began,
// and lopsided says that columns are components or pixels. All is computed here, without noise, from the seed 1, and sent nowhere.
func Personalize(ctx context.Context, spec task.ModelSpec, shared, start []float32, lopsided bool, train, test *task.Data) (*Personal, error) {
	if test.Len() == 0 {
		return nil, errors.New("no samples to judge by: the node holds none back (test_fraction is 0)")
	}
	l := local{ctx: ctx, spec: spec, lopsided: lopsided}
	p := &Personal{Records: train.Len(), Samples: test.Len()}
	p.Shared.x = shared
	var err error
	if p.Personal.x, p.Personal.Rounds, err = l.tune(train, shared); err == nil {
		p.Own.x, p.Own.Rounds, err = l.tune(train, start)
	}
	if err != nil {
		return nil, err
	}
	p.Model = p.Personal.x
	all := map[string]*Judged{"shared": &p.Shared, "own": &p.Own, "personal": &p.Personal}
	judge := spec.New(test)
	for _, name := range []string{"shared", "personal", "own"} { // of equal ones the first
		if err := all[name].judge(judge); err != nil {
			return nil, err
		}
		if p.Best == "" || all[name].Loss < all[p.Best].Loss {
			p.Best = name
		}
	}
	p.Clear = true
	for name, other := range all {
		p.Clear = p.Clear && (name == p.Best || less(all[p.Best].losses, other.losses, quantile))
	}
	return p, nil
}

func (j *Judged) judge(m *task.Model) (err error) {
	j.losses = make([]float64, m.Len())
	for i := range j.losses {
		if j.losses[i], err = m.Loss(context.Background(), j.x, i); err != nil {
			return err
		}
		j.Loss += j.losses[i] / float64(len(j.losses))
	}
	if j.Regression, err = m.Errors(j.x); err != nil {
		j.Regression = nil
		j.Classification, err = m.Judge(j.x)
	}
	return err
}

// less reports whether the mean of a is below that of b by more than so many standard errors of the mean of differences.
func less(a, b []float64, most float64) bool {
	n, mean, square := float64(len(a)), 0.0, 0.0
	for i := range a {
		mean += (b[i] - a[i]) / n
	}
	for i := range a {
		d := b[i] - a[i] - mean
		square += float64(d * d)
	}
	return len(a) > 1 && mean > most*math.Sqrt(square/(n-1)/n)
}

// local is learning on one site's records alone.
type local struct {
	ctx      context.Context
	spec     task.ModelSpec
	lopsided bool
}

// tune learns from a start on, for the fewest rounds whose loss on parts that are held back one after the other is within a standard
// error of the least (Breiman et al., "Classification and Regression Trees", 1984, section 3.4.3); perhaps for none.
func (l *local) tune(train *task.Data, start []float32) (x []float32, rounds int, err error) {
	parts, err := task.Partition{}.Deal(train, personalFolds, 1)
	if err != nil {
		return nil, 0, err
	}
	losses := make([][]float64, personalRounds+1) // by round and sample
	for k := range losses {
		losses[k] = make([]float64, train.Len())
	}
	for i, held := range parts {
		judge := l.spec.New(train.Select(held))
		rest := slices.Concat(slices.Concat(parts[:i]...), slices.Concat(parts[i+1:]...))
		slices.Sort(rest)
		note := func(round int, x []float32) {
			for k, sample := range held {
				losses[round][sample], _ = judge.Loss(l.ctx, x, k)
			}
		}
		note(0, start)
		if err := l.learn(train.Select(rest), start, note); err != nil {
			return nil, 0, err
		}
	}
	best := slices.MinFunc(losses, func(a, b []float64) int { return cmp.Compare(sum(a), sum(b)) })
	rounds = slices.IndexFunc(losses, func(these []float64) bool { return !less(best, these, 1) })
	x = start
	err = l.learn(train, start, func(round int, now []float32) {
		if round == rounds {
			x = slices.Clone(now)
		}
	})
	return x, rounds, err
}

func sum(xs []float64) (all float64) {
	for _, x := range xs {
		all += x
	}
	return all
}

// learn trains on all samples; each sees the model after each round.
func (l *local) learn(d *task.Data, start []float32, each func(round int, x []float32)) error {
	oracle := l.spec.New(d)
	fleet := &sdk.Fleet{Run: "local", Dim: oracle.Dim(), Members: []string{"own"}, X0: start}
	var err error
	fleet.Method, fleet.Privacy, err = plan.Suggest(plan.Known{
		Dim: fleet.Dim, Samples: []int{d.Len()}, Hidden: l.spec.Hidden > 0, Uneven: l.lopsided, Open: true,
		Method: sdk.Method{Rounds: personalRounds, Cooldown: -1, Seed: 1}, Privacy: sdk.Privacy{NonPrivate: true},
	})
	if err != nil {
		return err
	}
	machines, err := fleet.Machines([]int{d.Len()}, nil)
	if err != nil {
		return err
	}
	network, err := sim.New([]sim.Client{{Config: machines[0], Oracle: oracle}})
	if err != nil {
		return err
	}
	return network.Run(l.ctx, func(round int) error {
		each(round, network.Models()[0])
		return nil
	})
}
