package zoest

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// tracked is a reference implementation of the tracking estimator. It evaluates the estimator's equations directly, in
// float64.
type tracked struct {
	reference
	level, asked         []float64
	low, high            float64
	sumBoth, sumSelf     float64
	kappa, omega, renews float64
}

func newTracked(cfg Config) *tracked {
	r := &tracked{reference: reference{cfg: cfg}, kappa: 0.25, omega: 0.25, renews: 0.25}
	r.level, r.asked = make([]float64, cfg.Samples), make([]float64, cfg.Samples)
	for range cfg.Samples {
		r.a = append(r.a, make([]float64, cfg.Dim))
	}
	return r
}

// begin begins a round. It rescales every G, which estimates mu times the gradient, to the mu of the new round.
func (r *tracked) begin(round int, mu float64) {
	for h := range r.a {
		for i := range r.a[h] {
			if r.mu > 0 {
				r.a[h][i] *= mu / r.mu
			}
		}
	}
	r.round, r.t, r.mu = round, 0, mu
}

func (r *tracked) step(phi []float64, f ask) []float64 {
	d, chosen, v := len(phi), r.batch(), mean(r.a)
	low, high, trust, both, self := r.low, r.high, 0.0, 0.0, 0.0
	if r.sumSelf > 1e-12 { // otherwise only rounding error
		trust = max(0, min(1, r.sumBoth/r.sumSelf))
	}
	for i := range v {
		v[i] *= trust
	}
	for k, h := range chosen {
		u := r.direction(rng.Step, h)
		if r.cfg.Directions == Walsh {
			u = r.walsh(rng.Step, k)
		}
		point, g, along := make([]float64, d), r.a[h], 0.0
		for i := range u {
			point[i] = phi[i] + r.mu*u[i]
			along += g[i] * u[i]
		}
		loss, b := f(point, h), max(low, min(high, r.level[h]))
		r.low, r.high = min(r.low, loss), max(r.high, loss)
		both += (loss - b) * along
		self += along * along
		residual, kappa := loss-b-along, r.kappa
		if r.level[h] = b + r.omega*residual; r.asked[h] == 0 {
			r.level[h], kappa = loss, 0
		}
		r.asked[h]++
		fresh := make([]float64, d)
		for i := range u {
			v[i] += (loss - b - trust*along) * u[i] / float64(len(chosen))
			fresh[i] = g[i] + kappa*residual*u[i]/float64(d)
		}
		r.a[h] = fresh
	}
	keep := 1 - r.renews*float64(len(chosen))/float64(len(r.a))
	r.sumBoth, r.sumSelf = keep*r.sumBoth+both, keep*r.sumSelf+self
	r.t++
	return v
}

// TestTrackingAgainstReference checks that the estimates equal those of the reference up to an error of 1e-4*sqrt(d).
// It performs five rounds with decreasing and increasing radii, large moves, and losses of both signs.
func TestTrackingAgainstReference(t *testing.T) {
	all(t, func(t *testing.T, cfg Config) {
		cfg.Kind = Tracking
		e, ref := newTest(t, cfg), newTracked(cfg)
		s := rng.New(uint64(cfg.Dim), rng.Address{Purpose: rng.Generate})
		for round, mu := range []float64{0.5, 0.5, 0.25, 0.125, 1} {
			phi := make([]float32, cfg.Dim)
			ref.begin(round, mu)
			e.Fill(round, phi, mu)
			if len(e.Next()) > 0 {
				t.Fatal("the tracking kind asks to fill its table")
			}
			for step := range 6 {
				phi = slices.Clone(phi)
				for i := range phi {
					phi[i] += float32(0.3 * s.Normal())
				}
				losses, order := map[int]float64{}, []int{}
				want := ref.step(wide(phi), func(_ []float64, h int) float64 {
					losses[h] = 3*s.Float64() - 1
					order = append(order, h)
					return losses[h]
				})
				e.Step(phi)
				drive(t, e, func(q Query) float64 {
					if q.Sample != order[0] {
						t.Fatalf("asked for sample %d, want %d", q.Sample, order[0])
					}
					order = order[1:]
					return losses[q.Sample]
				})
				for i, v := range e.Estimate() {
					if !(math.Abs(float64(v)-want[i]) < 1e-4*math.Sqrt(float64(cfg.Dim))) {
						t.Fatalf("round %d, step %d: v[%d] is %v, want %v", round, step, i, v, want[i])
					}
				}
			}
		}
	})
}

// TestTrackingSecondMoment checks that the bounds hold for the worst losses: randomly 0 or 1, independent of the query.
func TestTrackingSecondMoment(t *testing.T) {
	const d, m, mu = 5, 6, 0.3
	for _, dist := range []Distribution{Rademacher, Walsh} {
		for _, b := range []int{1, 6} {
			e := newTest(t, Config{Dim: d, Samples: m, Batch: b, Directions: dist, Seed: 12, Kind: Tracking})
			s := rng.New(1, rng.Address{Purpose: rng.Generate})
			x := make([]float32, d)
			var square, rows float64
			const rounds = 4000
			for round := range rounds {
				e.Fill(round, x, mu)
				e.Step(x)
				drive(t, e, func(Query) float64 { return float64(s.IntN(2)) })
				square += vec.SumSquares(e.Estimate()) / rounds
				rows += mu * mu * vec.SumSquares(tableOf(e).rows) / (rounds * m)
			}
			if square > 9*d || rows > 1 {
				t.Errorf("%v, batch %d: E|v|^2 is %.3f and E|G|^2 %.3f, want at most %d and 1", dist, b, square, rows, 9*d)
			}
		}
	}
}

// TestTrackingLearnsWhatIsLinear checks that linear losses are learned exactly if the point does not move: once each
// axis has been queried several times, the estimates have no noise.
func TestTrackingLearnsWhatIsLinear(t *testing.T) {
	const d, m, mu = 10, 12, 0.25
	for _, dist := range []Distribution{Rademacher, Walsh} {
		for _, b := range []int{5, m} {
			e := newTest(t, Config{Dim: d, Samples: m, Batch: b, Directions: dist, Seed: 13, Kind: Tracking})
			linear := func(q Query) float64 {
				z := float64(q.Sample) + 1
				for i, x := range q.Point {
					z += float64(x) * float64((q.Sample*7+i*3)%5-1)
				}
				return z
			}
			x := make([]float32, d)
			for round := range 600 {
				e.Fill(round, x, mu)
				for range 3 {
					e.Step(x)
					drive(t, e, linear)
				}
			}
			for i, v := range e.Estimate() {
				want := 0.0
				for h := range m {
					want += mu * float64((h*7+i*3)%5-1) / m
				}
				if math.Abs(float64(v)-want) > 1e-4 {
					t.Errorf("%v, batch %d: v[%d] is %v, want %v", dist, b, i, v, want)
				}
			}
		}
	}
}

// TestTrackingGoesOnFromItsMemory checks that the memory is all that persists: if it is copied into a new estimator
// after any round, the new estimator produces the same bits, for any window size.
func TestTrackingGoesOnFromItsMemory(t *testing.T) {
	all(t, func(t *testing.T, cfg Config) {
		cfg.Kind = Tracking
		run := func(window int, restart bool) (vs [][]float32) {
			cfg.Window = window
			e, phi := newTest(t, cfg), make([]float32, cfg.Dim)
			for round := range 4 {
				e.Fill(round, phi, 0.3/float64(1+round))
				for range 3 {
					e.Step(phi)
					drive(t, e, wild)
					vs = append(vs, slices.Clone(e.Estimate()))
					vec.Axpy(phi, -0.1, e.Estimate())
				}
				if restart {
					before := e
					e = newTest(t, cfg)
					if n := copy(e.Memory(), before.Memory()); n != cfg.Memory() {
						t.Fatalf("the memory has %d numbers, want %d", n, cfg.Memory())
					}
				}
			}
			return vs
		}
		want := run(0, false)
		for _, window := range []int{0, 3, 9} {
			if err := sameBits(run(window, true), want); err != nil {
				t.Errorf("window %d: %v", window, err)
			}
		}
	})
}

// TestTrackingMemoryIsFinite checks that, for any losses, all numbers in the memory are finite after every stage, so
// that the memory can be stored. A memory that has grown too large must restart in the next round.
func TestTrackingMemoryIsFinite(t *testing.T) {
	for _, mu := range []float64{0x1p-126, 0.1, 1e30} {
		e := newTest(t, Config{Dim: 3, Samples: 2, Batch: 1, Seed: 14, Kind: Tracking})
		s := rng.New(3, rng.Address{Purpose: rng.Generate})
		x := []float32{1e30, -1e30, 0}
		for round := range 50 {
			e.Fill(round, x, mu)
			for range 3 {
				e.Step(x)
				drive(t, e, func(Query) float64 { return 1e30 * (2*s.Float64() - 1) })
				for i, n := range e.Memory() {
					if !(math.Abs(float64(n)) <= 3.001*mostGrown) {
						t.Fatalf("mu = %v, round %d: number %d of the memory is %v", mu, round, i, n)
					}
				}
			}
			x[2] = float32(s.Normal())
		}
		e.method.(*tracking).tail[grown] = mostGrown
		e.Fill(50, x, 0.1)
		if slices.ContainsFunc(e.Memory(), func(n float32) bool { return n != 0 }) {
			t.Errorf("mu = %v: what has grown too far does not start again", mu)
		}
	}
}
