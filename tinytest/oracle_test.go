package tinytest_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestOracles checks that TestOracle accepts correct oracles, also one with noisy measurements.
func TestOracles(t *testing.T) {
	loss := tinytest.SquaredProbability(1, 0, 4, 7)
	together := batch{loss, func(queries []zoest.Query, losses []float64) (err error) {
		for i, q := range queries {
			losses[i], err = loss.Loss(t.Context(), q.Point, q.Sample)
		}
		return err
	}}
	for _, o := range []zoest.Oracle{loss, together} {
		if err := tinytest.TestOracle(o, 4, 7); err != nil {
			t.Error(err)
		}
	}
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	noisy := zoest.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
		v, err := loss.Loss(ctx, x, h)
		return v + s.Normal(), err
	})
	if err := tinytest.TestOracle(noisy, 4, 7); err != nil {
		t.Error(err)
	}
	if err := tinytest.TestOracle(loss, 0, 7); err == nil {
		t.Error("an oracle without parameters passed")
	}
}

// batch is an oracle whose method Losses calls a separate function instead of Loss.
type batch struct {
	zoest.Oracle
	losses func(queries []zoest.Query, losses []float64) error
}

func (b batch) Losses(_ context.Context, queries []zoest.Query, losses []float64) error {
	return b.losses(queries, losses)
}

// TestWrongOracles checks that TestOracle names the broken rule for each of several faulty oracles.
func TestWrongOracles(t *testing.T) {
	loss := tinytest.SquaredProbability(1, 0, 4, 7)
	plain := func(x []float32, h int) float64 {
		v, err := loss.Loss(context.Background(), x, h)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	of := func(f func(ctx context.Context, x []float32, h int) (float64, error)) zoest.Oracle {
		return zoest.OracleFunc(f)
	}
	many := func(f func(queries []zoest.Query, losses []float64) error) zoest.Oracle {
		return batch{loss, f}
	}
	cache := map[*float32]float64{}
	for name, c := range map[string]struct {
		rule   string
		oracle zoest.Oracle
	}{
		"a NaN": {"in absolute value", of(func(_ context.Context, x []float32, h int) (float64, error) {
			if h == 5 {
				return math.NaN(), nil
			}
			return plain(x, h), nil
		})},
		"counts from 1": {"every sample has a loss", of(func(_ context.Context, x []float32, h int) (float64, error) {
			if h == 0 {
				return 0, errors.New("no sample 0")
			}
			return plain(x, h-1), nil
		})},
		"scales x in place": {"does not change it", of(func(_ context.Context, x []float32, h int) (float64, error) {
			v := plain(x, h)
			for i := range x {
				x[i] *= 0.5
			}
			return v, nil
		})},
		"knows x by its place": {"does not keep it", of(func(_ context.Context, x []float32, h int) (float64, error) {
			if _, ok := cache[&x[0]]; !ok {
				cache[&x[0]] = plain(x, 0)
			}
			return cache[&x[0]], nil
		})},
		"deaf": {"returns when its context has ended", of(func(ctx context.Context, x []float32, h int) (float64, error) {
			if ctx.Err() != nil {
				time.Sleep(time.Hour)
			}
			return plain(x, h), nil
		})},
		"forgets the last one": {"answers every query", many(func(queries []zoest.Query, losses []float64) error {
			for i, q := range queries[:max(1, len(queries)-1)] {
				losses[i] = plain(q.Point, q.Sample)
			}
			return nil
		})},
		"relative to the group": {"however they are grouped", many(func(queries []zoest.Query, losses []float64) error {
			for i, q := range queries {
				losses[i] = plain(q.Point, q.Sample) - plain(queries[0].Point, queries[0].Sample)
			}
			return nil
		})},
		"one at a time": {"answers every query", many(func(queries []zoest.Query, losses []float64) error {
			if losses[0] = plain(queries[0].Point, queries[0].Sample); len(queries) > 1 {
				return errors.New("too many")
			}
			return nil
		})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := tinytest.TestOracle(c.oracle, 4, 7)
				time.Sleep(2 * time.Hour) // in virtual time, until the call of a deaf oracle ends
				if err == nil || !strings.Contains(err.Error(), c.rule) || strings.Count(err.Error(), "oracle: rule") != 1 {
					t.Errorf("error %v, want one with %q and no other rule", err, c.rule)
				}
			})
		})
	}
}
