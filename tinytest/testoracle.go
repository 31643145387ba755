package tinytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestOracle checks that an oracle keeps the promises of [zoest.Oracle] and, if it answers batches, of
// [zoest.BatchOracle]. It returns one error with a line for each broken rule. dim is the number of coordinates of a
// point and samples is the number of samples; both must be at least 1. The coordinates of the tested points have a
// magnitude of at most 1. If repeated queries have the same answer, TestOracle also checks that each answer depends
// only on its query. It makes about 20 queries for every sample.
func TestOracle(o zoest.Oracle, dim, samples int) error {
	if dim < 1 || samples < 1 {
		return fmt.Errorf("tinytest: oracle: found dim = %d and samples = %d, want both to be at least 1", dim, samples)
	}
	c := &oracleTrial{oracle: o}
	for p := range 3 {
		s := rng.New(uint64(p), rng.Address{Purpose: rng.Generate})
		x := make([]float32, dim)
		for i := range x {
			x[i] = float32(p) * float32(s.IntN(2001)-1000) / 2000 // the first point is zero
		}
		for h := range samples {
			c.questions = append(c.questions, question{x: x, point: p, sample: h})
		}
	}
	return tryRules("oracle", []rule{
		{"every sample has a loss: a number of at most 1e30 in absolute value", c.usable},
		{"x belongs to the caller: the oracle does not change it", c.unchanged},
		{"x is valid only during the call: the oracle does not keep it", c.notKept},
		{"a call returns when its context has ended", c.ended},
		{"Losses answers every query as Loss does, however they are grouped", c.grouped},
	})
}

type rule struct {
	name  string
	check func() error
}

// tryRules checks all rules and returns one error with a line for each broken rule.
func tryRules(of string, rules []rule) error {
	var errs []error
	for _, r := range rules {
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("tinytest: %s: rule %q: %w", of, r.name, err))
		}
	}
	return errors.Join(errs...)
}

type oracleTrial struct {
	oracle    zoest.Oracle
	questions []question
	repeats   bool // repeated queries have the same answer
}

// question is a query for one sample at one of the test points.
type question struct {
	x             []float32
	point, sample int
	answer        float64 // the first answer
}

func (q *question) wrong(format string, args ...any) error {
	return fmt.Errorf("sample %d at test point %d: %w", q.sample, q.point, fmt.Errorf(format, args...))
}

// other reports whether a loss wrongly differs from the first answer to the same query. It returns false for a noisy
// oracle, whose answers may differ.
func (c *oracleTrial) other(q *question, loss float64) bool {
	return c.repeats && math.Float64bits(loss) != math.Float64bits(q.answer)
}

func (c *oracleTrial) usable() error {
	repeats := true
	for i := range c.questions {
		q := &c.questions[i]
		var answers [2]float64
		for k := range answers {
			loss, err := c.oracle.Loss(context.Background(), slices.Clone(q.x), q.sample)
			if err != nil {
				return q.wrong("%w", err)
			}
			if !zoest.Usable(loss) {
				return q.wrong("the loss is %v", loss)
			}
			answers[k] = loss
		}
		q.answer = answers[0]
		repeats = repeats && math.Float64bits(answers[0]) == math.Float64bits(answers[1])
	}
	c.repeats = repeats
	return nil
}

func (c *oracleTrial) unchanged() error {
	for _, q := range c.questions {
		x := slices.Clone(q.x)
		_, _ = c.oracle.Loss(context.Background(), x, q.sample)
		if !slices.Equal(x, q.x) {
			return q.wrong("the call changed x")
		}
	}
	return nil
}

// notKept checks that the oracle does not use the slice of a point after the call. For this, notKept passes all points
// in one slice and clears the slice after each call.
func (c *oracleTrial) notKept() error {
	x := slices.Clone(c.questions[0].x)
	for _, q := range c.questions {
		copy(x, q.x)
		loss, err := c.oracle.Loss(context.Background(), x, q.sample)
		clear(x)
		if err == nil && c.other(&q, loss) {
			return q.wrong("the loss is %v, but was %v with x elsewhere in memory", loss, q.answer)
		}
	}
	return nil
}

func (c *oracleTrial) ended() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := c.questions[0].x
	done := async(func() error {
		_, _ = c.oracle.Loss(ctx, slices.Clone(x), 0)
		if b, ok := c.oracle.(zoest.BatchOracle); ok {
			_ = b.Losses(ctx, []zoest.Query{{Point: slices.Clone(x)}}, make([]float64, 1))
		}
		return nil
	})
	if _, late := await(done, patience); late != nil {
		return fmt.Errorf("the call %w", late)
	}
	return nil
}

func (c *oracleTrial) grouped() error {
	b, ok := c.oracle.(zoest.BatchOracle)
	if !ok {
		return nil
	}
	var queries []zoest.Query
	for _, q := range c.questions {
		queries = append(queries, zoest.Query{Point: slices.Clone(q.x), Sample: q.sample})
	}
	const untouched = -1.0625e29
	for _, size := range []int{len(queries), 1, 2, 5} {
		for at := 0; at < len(queries); at += size {
			group := queries[at:min(at+size, len(queries))]
			losses := slices.Repeat([]float64{untouched}, len(group))
			if err := b.Losses(context.Background(), group, losses); err != nil {
				return fmt.Errorf("in a batch of %d queries: %w", len(group), err)
			}
			for i, loss := range losses {
				q := &c.questions[at+i]
				switch {
				case loss == untouched || !zoest.Usable(loss):
					return q.wrong("no loss in a group of %d, index %d", len(group), i)
				case c.other(q, loss):
					return q.wrong("the loss is %v in a group of %d, but %v from Loss", loss, len(group), q.answer)
				case !slices.Equal(group[i].Point, q.x):
					return q.wrong("the call changed the point")
				}
			}
		}
	}
	return nil
}
