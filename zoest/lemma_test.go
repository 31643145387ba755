package zoest

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// The tests in this file check Lemma 1 of the paper on a problem with known constants.

// problem has the loss f_h(x) = (s(a_h.x) - y_h)^2, where s is the logistic function and 0 <= y_h <= 1. The loss is
// smooth and lies in [0, 1]. Let s1 and s2 be the first and second derivatives of s. They satisfy |s1| <= 1/4 and
// |s2| <= 1/(6*sqrt 3). The second derivative of (s-y)^2 is 2*s1^2 + 2*(s-y)*s2, so the gradients have the Lipschitz
// constant L_f = (1/8 + 1/(3*sqrt 3))*max |a_h|^2.
type problem struct {
	a [][]float64
	y []float64
	// The table is filled at x, and steps 0 to 3 are taken at the points phi. Because these points are fixed in
	// advance, the mean over all draws is also the conditional mean.
	x   []float32
	phi [4][]float32
}

// The gradient has length about 0.2 at x, phi^0 and phi^3. At phi^1 and phi^2 the logistic function is flat, so the
// gradient is much smaller.
var logistic = problem{
	a:   [][]float64{{1, 0, 0}, {0.8, 0.6, 0}, {0.8, 0, -0.6}, {0.8, -0.36, 0.48}},
	y:   []float64{0.05, 0.1, 0.05, 0.15},
	x:   []float32{0.3, 0.1, -0.1},
	phi: [4][]float32{{0.3, 0.1, -0.1}, {-5, 0.5, 0.5}, {-6, -0.2, 0.4}, {0.5, -0.2, 0.3}},
}

// lipschitz is the constant L_f of the problem, in which every |a_h| is 1.
const lipschitz = 0.318

func value[F float32 | float64](p problem, x []F, h int) float64 {
	var z float64
	for j, a := range p.a[h] {
		z += a * float64(x[j])
	}
	return 1 / (1 + vec.Exp(-z))
}

// at returns the loss of sample h at the point x.
func at[F float32 | float64](p problem, x []F, h int) float64 {
	r := value(p, x, h) - p.y[h]
	return r * r
}

func (p problem) gradient(x []float32) []float64 {
	g := make([]float64, len(x))
	for h, a := range p.a {
		s := value(p, x, h)
		for j := range g {
			g[j] += 2 * (s - p.y[h]) * s * (1 - s) * a[j] / float64(len(p.a))
		}
	}
	return g
}

// smoothed returns the exact value of E[u f(x + mu*u)] for random sign vectors u: the mean over all 2^d sign vectors.
func (p problem) smoothed(x []float32, mu float64) []float64 {
	d := len(x)
	sum, u, y := make([]float64, d), make([]float64, d), make([]float64, d)
	for signs := range 1 << d {
		for j := range u {
			u[j] = 1 - 2*float64(signs>>j&1)
			y[j] = float64(x[j]) + mu*u[j]
		}
		for h := range p.a {
			for j := range u {
				sum[j] += u[j] * at(p, y, h) / float64(len(p.a)<<d)
			}
		}
	}
	return sum
}

// run performs a round and returns its estimates in steps 0 and 3.
type run func(round int) (first, last []float64)

func (p problem) config(dist Distribution, b int) Config {
	return Config{Dim: len(p.x), Samples: len(p.a), Batch: b, Directions: dist, Seed: 6}
}

func (p problem) estimator(t *testing.T, dist Distribution, b int, mu float64) run {
	e := newTest(t, p.config(dist, b))
	first, last := make([]float64, len(p.x)), make([]float64, len(p.x))
	ask := func(q Query) float64 { return at(p, q.Point, q.Sample) }
	return func(round int) ([]float64, []float64) {
		e.Fill(round, p.x, mu)
		drive(t, e, ask)
		for s, phi := range p.phi {
			e.Step(phi)
			drive(t, e, ask)
			v := last
			if s == 0 {
				v = first
			}
			for j, x := range e.Estimate() {
				v[j] = float64(x)
			}
		}
		return first, last
	}
}

// moments describes a vector over many rounds: the mean of each coordinate and of the squared length, with their
// standard errors.
type moments struct {
	mean, se     []float64
	square, seSq float64
}

func measure(r run, d, n int) (first, last moments) {
	type sums struct {
		x, xx  []float64
		q, qq  float64
		result moments
	}
	acc := [2]sums{}
	for i := range acc {
		acc[i].x, acc[i].xx = make([]float64, d), make([]float64, d)
	}
	for round := range n {
		v0, v3 := r(round)
		for i, v := range [2][]float64{v0, v3} {
			s := &acc[i]
			var q float64
			for j, x := range v {
				s.x[j] += x
				s.xx[j] += x * x
				q += x * x
			}
			s.q += q
			s.qq += q * q
		}
	}
	nn := float64(n)
	for i := range acc {
		s := &acc[i]
		for j := range d {
			m := s.x[j] / nn
			s.result.mean = append(s.result.mean, m)
			s.result.se = append(s.result.se, math.Sqrt((s.xx[j]/nn-m*m)/nn))
		}
		s.result.square = s.q / nn
		s.result.seSq = math.Sqrt((s.qq/nn - s.result.square*s.result.square) / nn)
	}
	return acc[0].result, acc[1].result
}

// meanFault compares each coordinate of a measured mean with the exact mean. The limit is five standard errors.
func meanFault(m moments, want []float64) error {
	for j := range want {
		if math.Abs(m.mean[j]-want[j]) > 5*m.se[j] {
			return fmt.Errorf("mean of coordinate %d is %.5f, want %.5f +- %.5f", j, m.mean[j], want[j], 5*m.se[j])
		}
	}
	return nil
}

// TestConditionalMeanIsExact compares the measured conditional mean with the exact mean over all 8 sign vectors, for a
// large radius. With 30000 rounds, the standard error is about 0.002, otherwise 0.005, while mu times the gradient is about
// 0.1. If the table is never refreshed, the mean is still correct, because the rows cancel against their own mean; only
// TestEstimatorAgainstReference detects that.
func TestConditionalMeanIsExact(t *testing.T) {
	p, mu := logistic, 0.5
	want0, want3 := p.smoothed(p.phi[0], mu), p.smoothed(p.phi[3], mu)
	for _, b := range []int{1, 3, 4} {
		first, last := measure(p.estimator(t, Rademacher, b, mu), len(p.x), rounds(30000))
		if err := meanFault(first, want0); err != nil {
			t.Errorf("batch %d, first step: %v", b, err)
		}
		if err := meanFault(last, want3); err != nil {
			t.Errorf("batch %d, fourth step: %v", b, err)
		}
	}
}

// rounds returns the number of rounds of a statistical test: the given one with SPADE_LONG, otherwise a sixth of it.
func rounds(most int) int {
	if os.Getenv("SPADE_LONG") == "" {
		return most / 6
	}
	return most
}

// TestRemainderBound checks that the exact distance between E[u f(x + mu*u)] and mu*grad f(x) is at most c_r*mu^2, as
// in Lemma 1 (ii), for sign vectors u and for radii mu that span four orders of magnitude.
func TestRemainderBound(t *testing.T) {
	p := logistic
	cr := lipschitz * math.Pow(3, 1.5) / 2
	for _, mu := range []float64{1e-3, 1e-2, 0.1, 0.5, 1, 3, 10} {
		for i, phi := range p.phi {
			mean, g := p.smoothed(phi, mu), p.gradient(phi)
			var distance float64
			for j := range g {
				distance += math.Pow(mean[j]-mu*g[j], 2)
			}
			if math.Sqrt(distance) > cr*mu*mu {
				t.Errorf("point %d, mu = %v: remainder %.3g, bound %.3g", i, mu, math.Sqrt(distance), cr*mu*mu)
			}
		}
	}
}

// TestSecondMoment checks E|v|^2 <= 9 Q^2 with Q^2 = R_u^2 M_2 / c_u^2 = d*M_2. If the loss is 1 everywhere, then M_2 =
// 1, every row has squared length d, and E|v|^2 is known at every step: d/b from the fresh queries plus d*(1/b - 1/m)
// from the difference between the sampled rows and the mean of the table. The sum over the batch instead of its mean would
// exceed the bound: with b = m = 8, it has E|v|^2 = (8 + 8*(1-1/8)^2) Q^2 = 14.1 Q^2.
func TestSecondMoment(t *testing.T) {
	const d, m, mu = 3, 8, 0.5
	x := make([]float32, d)
	for _, b := range []int{1, 3, 8} {
		e := newTest(t, Config{Dim: d, Samples: m, Batch: b, Seed: 7})
		one := func(Query) float64 { return 1 }
		first, last := measure(func(round int) (v0, v3 []float64) {
			e.Fill(round, x, mu)
			drive(t, e, one)
			for s := range 4 {
				e.Step(x)
				drive(t, e, one)
				if s == 0 {
					v0 = wide(e.Estimate())
				}
			}
			return v0, wide(e.Estimate())
		}, d, rounds(12000))
		want := d * (2/float64(b) - 1.0/m)
		for step, got := range map[int]moments{0: first, 3: last} {
			if math.Abs(got.square-want) > 5*got.seSq {
				t.Errorf("batch %d, step %d: E|v|^2 is %.4f, want %.4f +- %.4f", b, step, got.square, want, 5*got.seSq)
			}
			if got.square > 9*d {
				t.Errorf("batch %d, step %d: E|v|^2 is %.4f, above 9 Q^2 = %d", b, step, got.square, 9*d)
			}
		}
	}
}
