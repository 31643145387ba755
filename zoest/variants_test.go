package zoest

import (
	"fmt"
	"math"
	"runtime"
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
		vs = append(vs, slices.Clone(e.row(h)))
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

// TestSeededMatchesDense checks that a seeded table produces the same bits as a dense table, in every estimate and in
// every row of the final table. A seeded table must not store rows.
func TestSeededMatchesDense(t *testing.T) {
	all(t, func(t *testing.T, cfg Config) {
		for _, cfg.Kind = range []Kind{Paper, Centered} {
			cfg.Seeded = false
			want := estimates(t, cfg, wild)
			cfg.Seeded = true
			if err := sameBits(estimates(t, cfg, wild), want); err != nil {
				t.Errorf("kind %v: %v", cfg.Kind, err)
			}
			if e := newTest(t, cfg); e.table.flat != nil {
				t.Error("the seeded table has rows")
			}
		}
	})
}

// TestCenteredMatchesShiftedLoss checks that a centered estimator equals the paper's estimator with a different loss:
// the loss minus the previous loss of the same component, as float32. The estimates must be bit-identical, even across
// rounds.
func TestCenteredMatchesShiftedLoss(t *testing.T) {
	all(t, func(t *testing.T, cfg Config) {
		last := make([]float32, cfg.Samples)
		want := estimates(t, cfg, func(q Query) float64 {
			loss := float32(wild(q))
			shifted := loss - last[q.Sample]
			last[q.Sample] = loss
			return float64(shifted)
		})
		paper := estimates(t, cfg, wild)
		cfg.Kind = Centered
		got := estimates(t, cfg, wild)
		if err := sameBits(got, want); err != nil {
			t.Error(err)
		}
		if sameBits(got, paper) == nil {
			t.Error("centering changed nothing")
		}
	})
}

// TestCenteredLemma checks Lemma 1 for the centered estimator: the conditional mean equals that of the paper's
// estimator, and for losses in [0, 1] the second moment is below the paper's 9 Q^2 = 9d. With a constant loss, the
// variance must be zero after the first round.
func TestCenteredLemma(t *testing.T) {
	p, mu, n := logistic, 0.5, 30000
	if brief() {
		n = 5000
	}
	for _, b := range []int{1, 3, 4} {
		cfg := p.config(Rademacher, b)
		cfg.Kind = Centered
		e := newTest(t, cfg)
		ask := func(q Query) float64 { return at(p, q.Point, q.Sample) }
		first, last := measure(func(round int) (v0, v3 []float64) {
			e.Fill(round, p.x, mu)
			drive(t, e, ask)
			for s, phi := range p.phi {
				e.Step(phi)
				drive(t, e, ask)
				if s == 0 {
					v0 = wide(e.Estimate())
				}
			}
			return v0, wide(e.Estimate())
		}, len(p.x), n)
		for step, m := range map[int]moments{0: first, 3: last} {
			if err := meanFault(m, p.smoothed(p.phi[step], mu)); err != nil {
				t.Errorf("batch %d, step %d: %v", b, step, err)
			}
			if m.square > 9*3 {
				t.Errorf("batch %d, step %d: E|v|^2 is %.3f, above 9 Q^2 = 27", b, step, m.square)
			}
		}
	}
	e := newTest(t, Config{Dim: 5, Samples: 4, Batch: 2, Seed: 9, Kind: Centered})
	x := make([]float32, 5)
	for round := range 3 {
		e.Fill(round, x, mu)
		drive(t, e, func(Query) float64 { return 0.7 })
		e.Step(x)
		drive(t, e, func(Query) float64 { return 0.7 })
		if square := vec.SumSquares(e.Estimate()); round > 0 && square > 1e-12 {
			t.Errorf("round %d: |v|^2 is %v for a loss that never changes", round, square)
		}
	}
}

// TestMeanDoesNotDrift checks that after a million replacements in one table the updated mean equals the recomputed
// mean up to an error of 1e-6 times the largest entry of a row. In comparison, 16384 rounding errors with the same sign
// could add up to 1e-3. Without recomputation, the same run must have a larger error, which shows that the test detects
// drift.
func TestMeanDoesNotDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("a million replacements are left out in short mode")
	}
	drift := func(renew int, seeded bool) float64 {
		const m, b, d = 50, 10, 8
		e := newTest(t, Config{Dim: d, Samples: m, Batch: b, Seed: 10, Seeded: seeded})
		if renew > 0 {
			e.renew = renew
		}
		x := make([]float32, d)
		s := rng.New(1, rng.Address{Purpose: rng.Generate})
		ask := func(Query) float64 { return 1 + s.Float64() }
		e.Fill(0, x, 0.5)
		drive(t, e, ask)
		for range 1_000_000 / b {
			e.Step(x)
			drive(t, e, ask)
		}
		got := slices.Clone(e.abar)
		e.mean()
		var worst float64
		for j := range got {
			worst = max(worst, math.Abs(float64(got[j]-e.abar[j]))/2)
		}
		return worst
	}
	dense, seeded, without := drift(0, false), drift(0, true), drift(math.MaxInt, false)
	t.Logf("off by %.2g of a row's largest entry, %.2g without renewal", dense, without)
	if dense > 1e-6 || seeded != dense {
		t.Errorf("off by %.2g (dense) and %.2g (seeded), want at most 1e-6 and no difference", dense, seeded)
	}
	if without < 2*dense {
		t.Errorf("without renewal it is off by %.2g, with it by %.2g: the test has no power", without, dense)
	}
}

// TestSeededFootprint checks that with a seeded table a million parameters and ten thousand samples fit into a small
// device: the memory is five vectors of 4 MB, and little else.
func TestSeededFootprint(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e := newTest(t, Config{Dim: 1_000_000, Samples: 10_000, Batch: 8, Seed: 1, Seeded: true, Kind: Centered})
	e.Fill(0, make([]float32, 1_000_000), 0.1)
	for range 20 {
		if q, open := next(e); !open || e.Answer(float64(q.Sample)) != nil {
			t.Fatal("the table is not being filled")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 28<<20 {
		t.Errorf("the heap has grown by %d bytes, want at most 28 MiB with x", grown)
	}
	runtime.KeepAlive(e)
}

// BenchmarkVariance measures the variance E|v - E v|^2 of the paper's estimator and the centered estimator for batch
// sizes 1, 8 and m. At the point of measurement, the loss is about one half and its gradient is not zero.
//
//	go test -run xxx -bench Variance ./zoest
func BenchmarkVariance(b *testing.B) {
	const d, m, mu = 10, 64, 0.1
	x := make([]float32, d)
	slope := func(q Query) float64 {
		z := 0.0
		for j, v := range q.Point {
			z += float64(v) * float64((q.Sample+j)%3-1)
		}
		return 0.5 + 0.1*z
	}
	for _, size := range []int{1, 8, m} {
		var variance [2]float64
		for i, centered := range []bool{false, true} {
			b.Run(fmt.Sprintf("b=%d/centered=%v", size, centered), func(b *testing.B) {
				e := newTest(b, Config{Dim: d, Samples: m, Batch: size, Seed: 11, Kind: Kind(i)})
				sum, squares, rounds := make([]float64, d), 0.0, 0.0
				for b.Loop() {
					e.Fill(int(rounds), x, mu)
					drive(b, e, slope)
					e.Step(x)
					drive(b, e, slope)
					for j, v := range e.Estimate() {
						sum[j] += float64(v)
					}
					squares += vec.SumSquares(e.Estimate())
					rounds++
				}
				variance[i] = squares / rounds
				for _, s := range sum {
					variance[i] -= (s / rounds) * (s / rounds)
				}
				b.ReportMetric(variance[i], "variance")
				if i == 1 {
					b.ReportMetric(variance[0]/variance[1], "times-less")
				}
			})
		}
	}
}
