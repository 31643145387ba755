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

// TestOracle checks an oracle against what [zoest.Oracle] promises, and, if it is one, [zoest.BatchOracle], at points
// with coordinates of at most 1, and returns one error with a line for each rule that it breaks. dim is d, the length
// of a point, and samples is m; both are at least 1. Where repeated queries have the same answer, more is checked: what
// the answers depend on. It asks some 20 times for every sample.
func TestOracle(o zoest.Oracle, dim, samples int) error {
	if dim < 1 || samples < 1 {
		return fmt.Errorf("tinytest: oracle: dim is %d and samples %d, want at least 1 each", dim, samples)
	}
	c := &oracleTrial{oracle: o, dim: dim, samples: samples}
	for p := range 3 {
		s := rng.New(uint64(p), rng.Address{Purpose: rng.Generate})
		x := make([]float32, dim)
		for i := range x {
			x[i] = float32(p) * float32(s.IntN(2001)-1000) / 2000 // the first point is zero
		}
		c.points = append(c.points, x)
	}
	var errs []error
	for _, rule := range []struct {
		name  string
		check func() error
	}{
		{"every sample has a loss: a number of size at most 1e30", c.usable},
		{"x belongs to the caller: it is not changed", c.unchanged},
		{"x is valid during the call only: it is not kept", c.notKept},
		{"a call returns when its context has ended", c.ended},
		{"Losses answers every query as Loss does, however they are grouped", c.grouped},
	} {
		if err := rule.check(); err != nil {
			errs = append(errs, fmt.Errorf("tinytest: oracle: rule %q: %w", rule.name, err))
		}
	}
	return errors.Join(errs...)
}

// oracleTrial is an oracle on trial.
type oracleTrial struct {
	oracle       zoest.Oracle
	dim, samples int
	points       [][]float32
	first        []float64 // the answers of usable, by point and sample
	repeats      bool      // the same question has the same answer
}

// ask puts a question at a point that nobody else has.
func (c *oracleTrial) ask(x []float32, sample int) (float64, error) {
	return c.oracle.Loss(context.Background(), slices.Clone(x), sample)
}

// wrong describes an answer.
func wrong(p, sample int, format string, args ...any) error {
	return fmt.Errorf("sample %d at point %d: %w", sample, p, fmt.Errorf(format, args...))
}

// all calls f for every question.
func (c *oracleTrial) all(f func(p, sample int) error) error {
	for p := range c.points {
		for h := range c.samples {
			if err := f(p, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *oracleTrial) usable() error {
	c.repeats = true
	return c.all(func(p, h int) error {
		var answers [2]float64
		for i := range answers {
			loss, err := c.ask(c.points[p], h)
			if err != nil {
				return wrong(p, h, "%w", err)
			}
			if !zoest.Usable(loss) {
				return wrong(p, h, "the loss is %v", loss)
			}
			answers[i] = loss
		}
		c.repeats = c.repeats && same(answers[0], answers[1])
		c.first = append(c.first, answers[0])
		return nil
	})
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// known returns the answer to a question asked before, and whether it should be the same again.
func (c *oracleTrial) known(p, h int) (float64, bool) {
	if !c.repeats || len(c.first) < len(c.points)*c.samples {
		return 0, false
	}
	return c.first[p*c.samples+h], true
}

func (c *oracleTrial) unchanged() error {
	return c.all(func(p, h int) error {
		x := slices.Clone(c.points[p])
		_, _ = c.oracle.Loss(context.Background(), x, h)
		if !slices.Equal(x, c.points[p]) {
			return wrong(p, h, "x is another one after the call")
		}
		return nil
	})
}

// notKept asks for all points in one place of memory.
func (c *oracleTrial) notKept() error {
	x := make([]float32, c.dim)
	return c.all(func(p, h int) error {
		copy(x, c.points[p])
		loss, err := c.oracle.Loss(context.Background(), x, h)
		clear(x)
		if want, ok := c.known(p, h); ok && err == nil && !same(loss, want) {
			return wrong(p, h, "the loss is %v, and was %v when x lay elsewhere in memory", loss, want)
		}
		return nil
	})
}

func (c *oracleTrial) ended() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.oracle.Loss(ctx, slices.Clone(c.points[0]), 0)
		if b, ok := c.oracle.(zoest.BatchOracle); ok {
			_ = b.Losses(ctx, []zoest.Query{{Point: slices.Clone(c.points[0])}}, make([]float64, 1))
		}
	}()
	if _, err := await(done, patience); err != nil {
		return fmt.Errorf("it %w", err)
	}
	return nil
}

func (c *oracleTrial) grouped() error {
	b, ok := c.oracle.(zoest.BatchOracle)
	if !ok {
		return nil
	}
	var queries []zoest.Query
	var places [][2]int
	_ = c.all(func(p, h int) error {
		queries = append(queries, zoest.Query{Point: slices.Clone(c.points[p]), Sample: h})
		places = append(places, [2]int{p, h})
		return nil
	})
	const untouched = -1.0625e29
	for _, size := range []int{len(queries), 1, 2, 5} {
		for at := 0; at < len(queries); at += size {
			group := queries[at:min(at+size, len(queries))]
			losses := slices.Repeat([]float64{untouched}, len(group))
			if err := b.Losses(context.Background(), group, losses); err != nil {
				return fmt.Errorf("a group of %d: %w", len(group), err)
			}
			for i, loss := range losses {
				p, h := places[at+i][0], places[at+i][1]
				if loss == untouched || !zoest.Usable(loss) {
					return wrong(p, h, "no loss from a group of %d, place %d", len(group), i)
				}
				if want, ok := c.known(p, h); ok && !same(loss, want) {
					return wrong(p, h, "the loss is %v in a group of %d, and %v from Loss", loss, len(group), want)
				}
				if !slices.Equal(group[i].Point, c.points[p]) {
					return wrong(p, h, "the point is another one after the call")
				}
			}
		}
	}
	return nil
}
