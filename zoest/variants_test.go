package zoest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// wild returns a pseudorandom loss that depends only on the point and the sample.
func wild(q Query) float64 {
	s := rng.New(uint64(q.Sample), rng.Address{Purpose: rng.Generate, Component: math.Float32bits(q.Point[0]),
		Step: math.Float32bits(q.Point[len(q.Point)-1])})
	return 4*s.Float64() - 1
}

// estimates runs an estimator for three rounds of five steps. It returns the estimate v of every step, followed by the
// rows of the final table.
func estimates(t *testing.T, cfg Config, loss func(Query) float64) (vs [][]float32) {
	t.Helper()
	e := newTest(t, cfg)
	phi := make([]float32, cfg.Dim)
	for round := range 3 {
		e.Fill(round, phi, 0.3)
		drive(t, e, loss)
		for range 5 {
			e.Step(phi)
			drive(t, e, loss)
			vs = append(vs, slices.Clone(e.Estimate()))
			vec.Axpy(phi, -0.1, e.Estimate())
		}
	}
	for h := range cfg.Samples {
		vs = append(vs, slices.Clone(tableOf(e).row(h)))
	}
	return vs
}

// all calls f with configurations that combine both distributions with several batch sizes and dimensions.
func all(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, dist := range []Distribution{Rademacher, Walsh} {
		for _, b := range []int{1, 3, 7} {
			for _, d := range []int{1, 10, 64, 200} {
				t.Run(fmt.Sprintf("%v b=%d d=%d", dist, b, d), func(t *testing.T) {
					f(t, Config{Dim: d, Samples: 7, Batch: b, Directions: dist, Seed: 8, Client: 3})
				})
			}
		}
	}
}

func sameBits(a, b [][]float32) error {
	for i := range a {
		for j := range a[i] {
			if math.Float32bits(a[i][j]) != math.Float32bits(b[i][j]) {
				return fmt.Errorf("vector %d, coordinate %d: %v and %v", i, j, a[i][j], b[i][j])
			}
		}
	}
	return nil
}

// TestMeanDoesNotDrift checks that after 300,000 replacements in one table the updated mean equals the recomputed
// mean up to an error of 1e-6 times the largest entry of a row. In comparison, 16384 rounding errors with the same sign
// could add up to 1e-3. Without recomputation, the same run must have a larger error, which shows that the test detects
// drift.
func TestMeanDoesNotDrift(t *testing.T) {
	drift := func(renew int) float64 {
		const m, b, d = 50, 10, 8
		e := newTest(t, Config{Dim: d, Samples: m, Batch: b, Seed: 10})
		if renew > 0 {
			averageOf(e).renew = renew
		}
		x := make([]float32, d)
		s := rng.New(1, rng.Address{Purpose: rng.Generate})
		ask := func(Query) float64 { return 1 + s.Float64() }
		e.Fill(0, x, 0.5)
		drive(t, e, ask)
		for range 300_000 / b {
			e.Step(x)
			drive(t, e, ask)
		}
		a := averageOf(e)
		got := slices.Clone(a.abar)
		a.mean()
		var worst float64
		for j := range got {
			worst = max(worst, math.Abs(float64(got[j]-a.abar[j]))/2)
		}
		return worst
	}
	renewed, without := drift(0), drift(math.MaxInt)
	t.Logf("off by %.2g of a row's largest entry, %.2g without renewal", renewed, without)
	if renewed > 1e-6 {
		t.Errorf("off by %.2g, want at most 1e-6", renewed)
	}
	if without < 2*renewed {
		t.Errorf("without renewal it is off by %.2g, with it by %.2g: the test has no power", without, renewed)
	}
}
