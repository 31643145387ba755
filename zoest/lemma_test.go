package zoest

import (
	"fmt"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
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

func (p problem) planted(f fault, dist Distribution, b int, mu float64) run {
	r := reference{cfg: p.config(dist, b), fault: f}
	ask := func(x []float64, h int) float64 { return at(p, x, h) }
	return func(round int) (first, last []float64) {
		r.fill(round, wide(p.x), mu, ask)
		for s, phi := range p.phi {
			last = r.step(wide(phi), ask)
			if s == 0 {
				first = last
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
// large radius. With 30000 rounds, the standard error is about 0.002, while mu times the gradient is about 0.1.
//
// The test must detect all mutations that change the mean. Dividing by mu, or using the wrong sign, changes the mean
// from the first step on. Summing over the batch, or not recomputing the table's mean, changes it only after rows have
// been replaced at points with a different gradient. If the table is never refreshed, the mean is still correct,
// because the rows cancel against their own mean; only TestReferenceFaultsAreSeen detects that mutation.
func TestConditionalMeanIsExact(t *testing.T) {
	p, mu := logistic, 0.5
	n := 30000
	if brief() {
		n = 5000
	}
	want0, want3 := p.smoothed(p.phi[0], mu), p.smoothed(p.phi[3], mu)
	for _, b := range []int{1, 3, 4} {
		first, last := measure(p.estimator(t, Rademacher, b, mu), len(p.x), n)
		if err := meanFault(first, want0); err != nil {
			t.Errorf("batch %d, first step: %v", b, err)
		}
		if err := meanFault(last, want3); err != nil {
			t.Errorf("batch %d, fourth step: %v", b, err)
		}
	}
	for _, c := range []struct {
		fault       fault
		name        string
		first, last bool // whether the mean of the first and of the last estimate shows the mutation
	}{
		{sound, "the reference", false, false},
		{dividesByMu, "division by mu", true, true},
		{wrongSign, "wrong sign", true, true},
		{sumsBatch, "sum over the batch", false, true},
		{keepsMean, "table mean not recomputed", false, true},
		{keepsRows, "table never refreshed", false, false},
	} {
		first, last := measure(p.planted(c.fault, Rademacher, 2, mu), len(p.x), n/3)
		if err := meanFault(first, want0); (err != nil) != c.first {
			t.Errorf("%s, first step: %v, want an error: %v", c.name, err, c.first)
		}
		if err := meanFault(last, want3); (err != nil) != c.last {
			t.Errorf("%s, fourth step: %v, want an error: %v", c.name, err, c.last)
		}
	}
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
// from the difference between the sampled rows and the mean of the table. The test must detect the use of the sum over
// the batch instead of its mean: with b = m = 8, the sum has E|v|^2 = (8 + 8*(1-1/8)^2) Q^2 = 14.1 Q^2.
func TestSecondMoment(t *testing.T) {
	n := 10000
	if brief() {
		n = 3000
	}
	const d, m, mu = 3, 8, 0.5
	constant := func([]float64, int) float64 { return 1 }
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
		}, d, n)
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
	wrong := reference{cfg: Config{Dim: d, Samples: m, Batch: m, Seed: 7}, fault: sumsBatch}
	got, _ := measure(func(round int) (v0, v3 []float64) {
		wrong.fill(round, wide(x), mu, constant)
		v := wrong.step(wide(x), constant)
		return v, v
	}, d, n/10)
	if got.square <= 9*d {
		t.Errorf("a sum over the batch has E|v|^2 = %.4f and keeps the bound: the test has no power", got.square)
	}

	// If the loss varies, M_2 is at most the largest mean square of a component's loss near the points, a tighter bound
	// than 1.
	p := logistic
	first, last := measure(p.estimator(t, Rademacher, 2, mu), 3, n)
	var m2 float64
	for _, phi := range p.phi {
		for h := range p.a {
			var sum float64
			y := make([]float64, d)
			for signs := range 1 << d {
				for j := range y {
					y[j] = float64(phi[j]) + mu*(1-2*float64(signs>>j&1))
				}
				sum += math.Pow(at(p, y, h), 2) / (1 << d)
			}
			m2 = max(m2, sum)
		}
	}
	for step, got := range map[int]moments{0: first, 3: last} {
		if got.square > 9*d*m2 {
			t.Errorf("step %d: E|v|^2 is %.4f, above 9 Q^2 = %.4f", step, got.square, 9*d*m2)
		}
	}
}

// TestNoisyQueries checks that Lemma 1 holds if the oracle adds measurement noise with mean 0 and variance 1/4, drawn
// independently for each query. The conditional mean must be that of the noiseless loss, the rows of the table must
// satisfy (1/m) sum E|a_h|^2 <= Q^2, and the estimate must satisfy E|v|^2 <= 9 Q^2, with M_2 increased by the variance
// of the noise. Noise with mean 4 also leaves the conditional mean of v unchanged (because E u = 0), but increases the
// second moments, which the test must detect.
func TestNoisyQueries(t *testing.T) {
	const mu, b, variance = 0.5, 2, 0.25
	n := 40000
	if brief() {
		n = 8000
	}
	p := logistic
	d, q2 := len(p.x), float64(len(p.x))*(1+variance)
	for _, mean := range []float64{0, 4} {
		e := newTest(t, p.config(Rademacher, b))
		noise := rng.New(9, rng.Address{Purpose: rng.Noise})
		ask := func(q Query) float64 { return at(p, q.Point, q.Sample) + mean + math.Sqrt(variance)*noise.Normal() }
		var rows float64
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
			for h := range p.a {
				for _, x := range tableOf(e).row(h) {
					rows += float64(x) * float64(x) / float64(n*len(p.a))
				}
			}
			return v0, wide(e.Estimate())
		}, d, n)
		for step, got := range map[int]moments{0: first, 3: last} {
			if err := meanFault(got, p.smoothed(p.phi[step], mu)); err != nil {
				t.Errorf("noise of mean %v, step %d: %v", mean, step, err)
			}
			if over := got.square > 9*q2; over != (mean > 0) {
				t.Errorf("noise of mean %v, step %d: E|v|^2 is %.3f, 9 Q^2 is %.3f", mean, step, got.square, 9*q2)
			}
		}
		if over := rows > q2; over != (mean > 0) {
			t.Errorf("noise of mean %v: the rows of the table have a mean square of %.3f, Q^2 is %.3f", mean, rows, q2)
		}
	}
}
