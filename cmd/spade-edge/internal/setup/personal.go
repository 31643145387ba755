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
	if err := l.tune(shared, &p.Shared, &p.Personal); err != nil {
		return nil, err
	}
	if err := l.tune(start, nil, &p.Own); err != nil {
		return nil, err
	}
	p.Model, p.Best, p.Clear = p.Personal.x, "shared", true
	all := map[string]*Judged{"shared": &p.Shared, "personal": &p.Personal, "own": &p.Own}
	for _, name := range []string{"personal", "own"} {
		if all[name].Loss < all[p.Best].Loss {
			p.Best = name
		}
	}
	for name, other := range all {
		p.Clear = p.Clear && (name == p.Best || less(all[p.Best].losses, other.losses, quantile))
	}
	return p, nil
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

// tune learns from a start on, and judges the start, unless that is nil, and the model after as many rounds as are best. For each part of the samples these are
// chosen by the other parts, so that what judges a model has not chosen it; the model itself is chosen by all.
func (l *local) tune(start []float32, before, after *Judged) error {
	judge, rounds := l.spec.New(l.test), make([]round, personalRounds+1)
	var failed error
	note := func(k int, x []float32) {
		r := &rounds[k]
		for i := range l.test.Len() {
			loss, err := judge.Loss(l.ctx, x, i)
			r.losses, failed = append(r.losses, loss), cmp.Or(failed, err)
		}
		if l.test.Target == nil {
			var err error
			r.said, r.ones, err = judge.Said(x)
			failed = cmp.Or(failed, err)
		}
	}
	note(0, start)
	if err := cmp.Or(l.learn(start, note), failed); err != nil {
		return err
	}
	mixed := round{make([]float64, l.test.Len()), make([]int, l.test.Len()), make([]float64, l.test.Len())}
	for i, part := range l.parts {
		r := &rounds[choose(rounds, slices.Concat(slices.Concat(l.parts[:i]...), slices.Concat(l.parts[i+1:]...)))]
		for _, k := range part {
			mixed.losses[k] = r.losses[k]
			if r.said != nil {
				mixed.said[k] = r.said[k]
			}
			if r.ones != nil {
				mixed.ones[k] = r.ones[k]
			}
		}
	}
	if rounds[0].ones == nil {
		mixed.ones = nil
	}
	after.x, after.Rounds = start, choose(rounds, slices.Concat(l.parts...))
	err := l.learn(start, func(k int, x []float32) {
		if k == after.Rounds {
			after.x = slices.Clone(x)
		}
	})
	if err == nil && before != nil {
		before.x = start
		err = before.judge(judge, l.test, &rounds[0])
	}
	return cmp.Or(err, after.judge(judge, l.test, &mixed))
}

// choose returns the fewest rounds whose loss on some samples is within a standard error of the least (Breiman et al., "Classification
// and Regression Trees", 1984, section 3.4.3).
func choose(rounds []round, samples []int) int {
	var losses [][]float64
	for _, r := range rounds {
		some := make([]float64, len(samples))
		for k, i := range samples {
			some[k] = r.losses[i]
		}
		losses = append(losses, some)
	}
	best := slices.MinFunc(losses, func(a, b []float64) int { return cmp.Compare(sum(a), sum(b)) })
	return slices.IndexFunc(losses, func(these []float64) bool { return !less(best, these, 1) })
}

// judge says what a model is worth by what it says; numbers are judged by the model that all samples have chosen.
func (j *Judged) judge(m *task.Model, test *task.Data, r *round) (err error) {
	j.losses, j.Loss = r.losses, sum(r.losses)/float64(len(r.losses))
	if test.Target != nil {
		j.Regression, err = m.Errors(j.x)
		return err
	}
	j.Classification, err = task.JudgeClasses(test.Classes, test.Y, r.said, r.ones)
	return err
}

func sum(xs []float64) (all float64) {
	for _, x := range xs {
		all += x
	}
	return all
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
