package setup

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

const (
	personalRounds = 50 // of local learning, at most
	personalParts  = 5  // of the samples that judge: how many rounds are best for each is chosen by the others
	personalLeast  = 20 // samples that judge

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
	// Beats are those whose loss is greater beyond chance: the 95 % interval of the mean difference is above zero.
	Beats []string `json:"beats"`

	Model []float32 `json:"-"` // the personal one
}

// Judged is what a model is worth on a site's samples.
type Judged struct {
	Start          int                 `json:"start"`  // of a personal model: 0 the fleet's, 1 half way back to its start, 2 that start
	Rounds         int                 `json:"rounds"` // of local learning from there on
	Loss           float64             `json:"loss"`   // the mean
	Classification *task.ClassMetrics  `json:"classification,omitempty"`
	Regression     *task.NumberMetrics `json:"regression,omitempty"`

	x      []float32
	losses []float64
}

// Personalize fits a fleet's model further on a site's own records, train, and compares by test, which none of the models has learned
// from. spec is the model's, start where the fleet began, and lopsided says that columns are components or pixels. All is computed here,
// without noise, from the seed 1, and sent nowhere.
func Personalize(ctx context.Context, spec task.ModelSpec, shared, start []float32, lopsided bool, train, test *task.Data) (*Personal, error) {
	if test.Len() < personalLeast {
		return nil, fmt.Errorf("%d samples to judge by, want %d or more", test.Len(), personalLeast)
	}
	parts, err := task.Partition{}.Deal(test, personalParts, 1)
	if err != nil {
		return nil, err
	}
	l := local{ctx: ctx, spec: spec, lopsided: lopsided, train: train, test: test, parts: parts}
	p := &Personal{Records: train.Len(), Samples: test.Len()}
	if err := l.tune(&p.Shared, &p.Personal, shared, Mean([][]float32{shared, start}), start); err != nil {
		return nil, err
	}
	if err := l.tune(nil, &p.Own, start); err != nil {
		return nil, err
	}
	p.Model, p.Best, p.Beats = p.Personal.x, "shared", []string{}
	all := map[string]*Judged{"shared": &p.Shared, "personal": &p.Personal, "own": &p.Own}
	for _, name := range []string{"personal", "own"} {
		if all[name].Loss < all[p.Best].Loss {
			p.Best = name
		}
	}
	for _, name := range []string{"shared", "own", "personal"} {
		if less(all[p.Best].losses, all[name].losses) {
			p.Beats = append(p.Beats, name)
		}
	}
	return p, nil
}

// less reports whether the mean of a is below that of b by more than the 95 % interval of the mean of differences.
func less(a, b []float64) bool {
	n, mean, square := float64(len(a)), 0.0, 0.0
	for i := range a {
		mean += (b[i] - a[i]) / n
	}
	for i := range a {
		d := b[i] - a[i] - mean
		square += float64(d * d)
	}
	return len(a) > 1 && mean > quantile*math.Sqrt(square/(n-1)/n)
}

// local is learning on one site's records alone.
type local struct {
	ctx         context.Context
	spec        task.ModelSpec
	lopsided    bool
	train, test *task.Data
	parts       [][]int // of test
}

// round is what a model says of the samples that judge after a round.
type round struct {
	losses []float64
	said   []int
	ones   []float64 // of two classes, the probabilities of class 1
}

// tune learns from each start on, and judges the first start, if before is not nil, and the model of the start and the rounds that are
// best. For each part of the samples these are chosen by the other parts, so that what judges a model has not chosen it; the model itself
// is chosen by all.
func (l *local) tune(before, after *Judged, starts ...[]float32) error {
	judge := l.spec.New(l.test)
	var rounds []round // personalRounds+1 for each start
	for _, start := range starts {
		from := len(rounds)
		rounds = append(rounds, make([]round, personalRounds+1)...)
		var failed error
		note := func(k int, x []float32) { failed = cmp.Or(failed, rounds[from+k].note(l.ctx, judge, x)) }
		note(0, start)
		if err := cmp.Or(l.learn(start, note), failed); err != nil {
			return err
		}
	}
	mixed := round{make([]float64, l.test.Len()), make([]int, l.test.Len()), nil}
	if rounds[0].ones != nil {
		mixed.ones = make([]float64, l.test.Len())
	}
	for i, part := range l.parts {
		r := &rounds[choose(rounds, slices.Concat(slices.Concat(l.parts[:i]...), slices.Concat(l.parts[i+1:]...)))]
		for _, k := range part {
			mixed.losses[k], mixed.said[k] = r.losses[k], r.said[k]
			if mixed.ones != nil {
				mixed.ones[k] = r.ones[k]
			}
		}
	}
	best := choose(rounds, slices.Concat(l.parts...))
	after.Start, after.Rounds = best/(personalRounds+1), best%(personalRounds+1)
	after.x = starts[after.Start]
	err := l.learn(after.x, func(k int, x []float32) {
		if k == after.Rounds {
			after.x = slices.Clone(x)
		}
	})
	if err == nil && before != nil {
		before.x = starts[0]
		err = before.judge(judge, l.test, &rounds[0])
	}
	return cmp.Or(err, after.judge(judge, l.test, &mixed))
}

// note keeps what a model says.
func (r *round) note(ctx context.Context, judge *task.Model, x []float32) (err error) {
	for i := range judge.Len() {
		loss, err := judge.Loss(ctx, x, i)
		if err != nil {
			return err
		}
		r.losses = append(r.losses, loss)
	}
	r.said, r.ones, err = judge.Said(x)
	return err
}

// choose returns the round with the least loss on some samples, of equal ones the first.
func choose(rounds []round, samples []int) (best int) {
	least := math.Inf(1)
	for k, r := range rounds {
		sum := 0.0
		for _, i := range samples {
			sum += r.losses[i]
		}
		if sum < least {
			best, least = k, sum
		}
	}
	return best
}

// judge says what a model is worth by what it says; numbers are judged by the model that all samples have chosen.
func (j *Judged) judge(m *task.Model, test *task.Data, r *round) (err error) {
	j.losses, j.Loss = r.losses, 0
	for _, loss := range r.losses {
		j.Loss += loss / float64(len(r.losses))
	}
	if test.Target != nil {
		j.Regression, err = m.Errors(j.x)
		return err
	}
	j.Classification, err = task.JudgeClasses(test.Classes, test.Y, r.said, r.ones)
	return err
}

// learn trains on all records; each sees the model after each round.
func (l *local) learn(start []float32, each func(round int, x []float32)) error {
	d := l.train
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
