package zoest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newTest(t testing.TB, cfg Config) *Estimator {
	t.Helper()
	e, err := NewEstimator(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// next returns the first open query. If no query is open, it returns false.
func next(e *Estimator) (Query, bool) {
	if open := e.Next(); len(open) > 0 {
		return open[0], true
	}
	return Query{}, false
}

// drive answers the queries of a stage, a window at a time.
func drive(t testing.TB, e *Estimator, f func(Query) float64) {
	losses := make([]float64, 0, 16)
	for open := e.Next(); len(open) > 0; open = e.Next() {
		if losses = losses[:0]; len(open) > e.window {
			t.Fatalf("%d queries are open, want at most %d", len(open), e.window)
		}
		for _, q := range open {
			losses = append(losses, f(q))
		}
		if err := e.Answer(losses...); err != nil {
			t.Fatal(err)
		}
	}
}

// unit is half an ulp of 1: rounding changes a number of magnitude B by at most unit*B.
const unit = 0x1p-24

// shadow compares an estimator with the reference over several rounds and steps. The losses are random, because the
// equations must hold for any answers. shadow returns the first difference that is larger than rounding can explain.
//
// Let B be the largest magnitude of a loss. Rounding explains a difference of up to k*unit*B. For abar, k is the sum of
// m for the mean of the table (each of its m partial sums is at most m*B, and the sum is divided by m), 8 for each row
// that was replaced after that, and a constant. For v, k also includes 3b for the terms of the batch.
func shadow(t *testing.T, cfg Config) error {
	t.Helper()
	const rounds, steps = 4, 5
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(cfg.Client)))
	e := newTest(t, cfg)
	ref := &reference{cfg: cfg}
	b := cfg.Batch
	if b == 0 {
		b = cfg.Samples
	}
	const size = 2.0 // losses are drawn from [-2, 2)
	x := make([]float32, cfg.Dim)

	// The reference makes its queries first. The estimator must then make the same queries in the same order, and gets
	// the same answers.
	type asked struct {
		point []float64
		h     int
		loss  float64
	}
	var todo []asked
	record := func(point []float64, h int) float64 {
		todo = append(todo, asked{slices.Clone(point), h, 4*r.Float64() - 2})
		return todo[len(todo)-1].loss
	}
	replay := func(mu float64) error {
		for {
			q, open := next(e)
			if !open {
				break
			}
			if len(todo) == 0 {
				return fmt.Errorf("one query too many, for sample %d", q.Sample)
			}
			if q.Sample != todo[0].h {
				return fmt.Errorf("asked for sample %d, want %d", q.Sample, todo[0].h)
			}
			for i, y := range q.Point {
				want := todo[0].point[i]
				if math.Abs(float64(y)-want) > unit*(2*math.Abs(want)+60*mu*size) {
					return fmt.Errorf("coordinate %d of the point for sample %d is %v, want %v", i, q.Sample, y, want)
				}
			}
			if err := e.Answer(todo[0].loss); err != nil {
				return err
			}
			todo = todo[1:]
		}
		if len(todo) > 0 {
			return fmt.Errorf("%d queries missing", len(todo))
		}
		return nil
	}
	compare := func(what string, got []float32, want []float64, units int) error {
		for i := range want {
			if diff := math.Abs(float64(got[i]) - want[i]); !(diff <= float64(units)*unit*size) {
				return fmt.Errorf("%s[%d] is %v, want %v: off by %.3g, limit %.3g", what, i, got[i], want[i], diff,
					float64(units)*unit*size)
			}
		}
		return nil
	}

	for k := range rounds {
		move := func() {
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
		}
		mu := 0.3 / float64(k+1)
		move()
		ref.fill(k, wide(x), mu, record)
		e.Fill(k, x, mu)
		if err := replay(mu); err != nil {
			return fmt.Errorf("round %d, table: %w", k, err)
		}
		for s := range steps {
			move()
			v := ref.step(wide(x), record)
			e.Step(x)
			if err := replay(mu); err != nil {
				return fmt.Errorf("round %d, step %d: %w", k, s, err)
			}
			replaced := (s + 1) * b
			if err := compare("v", e.Estimate(), v, cfg.Samples+8*replaced+3*b+166); err != nil {
				return fmt.Errorf("round %d, step %d: %w", k, s, err)
			}
			rows := make([][]float64, cfg.Samples)
			for h := range rows {
				rows[h] = wide(tableOf(e).row(h))
				if err := compare(fmt.Sprintf("a_%d", h), tableOf(e).row(h), ref.a[h], 60); err != nil {
					return fmt.Errorf("round %d, step %d: %w", k, s, err)
				}
			}
			// Compare the updated mean of the table with the recomputed mean of the rows and with the mean of the
			// reference.
			if err := compare("abar", averageOf(e).abar, mean(rows), cfg.Samples+8*replaced+10); err != nil {
				return fmt.Errorf("round %d, step %d: %w", k, s, err)
			}
		}
	}
	return nil
}

func TestEstimatorAgainstReference(t *testing.T) {
	for _, dist := range []Distribution{Rademacher, Walsh} {
		for _, size := range []struct{ d, m, b int }{
			{1, 1, 1}, {5, 7, 1}, {5, 7, 3}, {5, 7, 7}, {5, 7, 0}, {64, 3, 2}, {65, 12, 5}, {200, 2, 1}, {piece + 70, 4, 3},
		} {
			t.Run(fmt.Sprint(dist, size), func(t *testing.T) {
				for client := range uint32(2) {
					cfg := Config{Dim: size.d, Samples: size.m, Batch: size.b, Directions: dist, Seed: 77, Client: client}
					if err := shadow(t, cfg); err != nil {
						t.Fatalf("client %d: %v", client, err)
					}
				}
			})
		}
	}
}

// TestRoundAllocatesNothing checks that a full round allocates no memory: filling the table, all steps, and drawing
// directions and batches.
func TestRoundAllocatesNothing(t *testing.T) {
	configs := recordKinds(40, 50)
	for n := range 4 {
		for _, b := range []int{1, 3, 10} {
			configs = append(configs, Config{Dim: 100, Samples: 10, Batch: b, Directions: Distribution(n % 2), Kind: Kind(n / 2)})
		}
	}
	first := func(q Query) float64 { return float64(q.Point[0]) }
	for _, cfg := range configs {
		e, x, round := newTest(t, cfg), make([]float32, cfg.Dim), 0
		got := testing.AllocsPerRun(10, func() {
			e.Fill(round, x, 0.1)
			drive(t, e, first)
			for range 4 {
				e.Step(x)
				drive(t, e, first)
			}
			round++
		})
		if got != 0 {
			t.Errorf("%+v: %v allocations a round", cfg, got)
		}
	}
}
