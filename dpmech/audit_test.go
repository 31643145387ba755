package dpmech

import (
	"fmt"
	"math"
	"testing"
)

// audit tests a mechanism as a black box. plus and minus are its outputs on two adjacent data sets D and D', projected
// on the direction in which the data sets differ, in units of sigma, with 0 in the middle. If the claim is true, they
// are normally distributed with variance 1 and mean mu/2 and -mu/2. The claim is an inequality for every event S and
// every epsilon, where delta(epsilon) is the delta of mu-GDP:
//
//	P[S | D] <= e^epsilon P[S | D'] + delta(epsilon)
//
// For each epsilon, the event with the tightest bound is a likelihood ratio above e^epsilon, which is a threshold on
// the output. audit returns a line for each epsilon and each order of D and D' for which it refutes the inequality. It
// refutes the inequality if the lower confidence limit of the left side exceeds the upper confidence limit of the right
// side (Clopper and Pearson, 1934). The probability of any false refutation is at most alpha.
func audit(plus, minus []float64, mu, alpha float64) (faults []string) {
	epsilons := []float64{0, 0.5, 1, 1.5, 2, 3, 4}
	each := alpha / float64(len(epsilons)*2*2) // two orders, two limits: Bonferroni
	for _, eps := range epsilons {
		for _, order := range []struct {
			name    string
			d, adj  []float64
			outward float64
		}{{"D", plus, minus, 1}, {"D'", minus, plus, -1}} {
			count := func(ys []float64) (k int) {
				for _, y := range ys {
					if y*order.outward > eps/mu {
						k++
					}
				}
				return k
			}
			low := binomialLower(count(order.d), len(order.d), each)
			high := 1 - binomialLower(len(order.adj)-count(order.adj), len(order.adj), each)
			if excess := low - math.Exp(eps)*high - claimedDelta(eps, mu); excess > 0 {
				faults = append(faults, fmt.Sprintf("epsilon %v, %s first: above delta by %.2g", eps, order.name, excess))
			}
		}
	}
	return faults
}

// claimedDelta returns delta(eps) for mu-GDP, computed with the textbook formula.
func claimedDelta(eps, mu float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(mu/2-eps/mu) - math.Exp(eps)*phi(-mu/2-eps/mu)
}

// binomialLower returns the lower Clopper-Pearson limit: the success probability p for which the probability of k or
// more successes in n trials is alpha. The latter probability is the incomplete beta function I_p(k, n-k+1).
func binomialLower(k, n int, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	lo, hi := 0.0, float64(k)/float64(n)
	for range 60 {
		mid := (lo + hi) / 2
		if betaLower(mid, float64(k), float64(n-k+1)) < alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// betaLower returns the regularized incomplete beta function I_x(a, b) for x below the mean of the beta distribution,
// a/(a+b), where the continued fraction converges quickly (Lentz's method; Press et al., "Numerical recipes", section
// 6.4).
func betaLower(x, a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	c, d := 1.0, 1/(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 10_000; m++ {
		step := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/(1+step*d), 1+step/c
		f *= d * c
		step = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/(1+step*d), 1+step/c
		f *= d * c
		if math.Abs(d*c-1) < 1e-12 {
			break
		}
	}
	return front * f
}

// TestBinomialLower compares binomialLower with the definition of the limit, computed as a sum over the binomial tail.
func TestBinomialLower(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		alpha float64
	}{{1, 1, 0.05}, {1, 20, 0.01}, {7, 20, 1e-4}, {20, 20, 1e-3}, {300, 500, 1e-5}, {3, 1000, 0.1}} {
		p := binomialLower(c.k, c.n, c.alpha)
		var tail float64
		for i := c.k; i <= c.n; i++ {
			li, _ := math.Lgamma(float64(i + 1))
			lr, _ := math.Lgamma(float64(c.n - i + 1))
			ln, _ := math.Lgamma(float64(c.n + 1))
			tail += math.Exp(ln - li - lr + float64(i)*math.Log(p) + float64(c.n-i)*math.Log1p(-p))
		}
		if math.Abs(tail/c.alpha-1) > 1e-6 {
			t.Errorf("%d of %d: at the limit %v the tail is %v, want %v", c.k, c.n, p, tail, c.alpha)
		}
	}
	if p := binomialLower(0, 10, 0.01); p != 0 {
		t.Errorf("none of ten: the limit is %v", p)
	}
}

// auditedRelease makes the given number of releases of the same update and returns their projections on the all-ones
// direction, in units of the claimed sigma. The true noise is fault times the claimed noise. The update is far outside
// the ball.
func auditedRelease(t *testing.T, dim, count int, claim Gaussian, sign, fault float64, onGrid bool,
	seed uint64) []float64 {
	t.Helper()
	m := newMechanism(t, dim, seed)
	g := Gaussian{Clip: claim.Clip, Sigma: claim.Sigma * fault}
	s, dst := make([]float32, dim), make([]int32, dim)
	unit := 1 / (math.Sqrt(float64(dim)) * claim.Sigma)
	ys := make([]float64, count)
	for n := range ys {
		for i := range s {
			s[i] = float32(sign * 1000 * claim.Clip)
		}
		var err error
		var sum float64
		if onGrid {
			step := g.Sigma / 64
			err = m.ReleaseOnGrid(dst, Whole(s), g, step)
			for _, q := range dst {
				sum += float64(q) * step
			}
		} else {
			err = m.Release(s, Whole(s), g)
			for _, x := range s {
				sum += float64(x)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		ys[n] = sum * unit
	}
	return ys
}

// TestAudit audits the mechanism as a black box, in the worst case: for two data sets whose updates are clipped to
// opposite ends of the ball. It makes a million releases in total, from fixed seeds; the probability of a false alarm
// is 1 %. On the wire grid, a threshold on the sum is a valid event, but not always the tightest one.
//
// Power of the test: at mu = 2.5, noise that is 2 % too small results in mu = 2.551. At epsilon 0, the left side
// increases by the density 0.183 * 0.051 / 2, and the right side decreases by the same amount. With 175,000 releases
// each, both sides have a standard error of 0.00074. Each confidence limit is 3.75 standard errors away (alpha/28), so
// the margin is 0.0055. The violation of 0.0093 exceeds the margin by 3.6 standard deviations of the difference, so the
// audit detects it with probability 0.9998. In eight dimensions and at mu = 1 (epsilon 4.4 at delta 1e-5), the noise is
// 10 % too small, with 75,000 releases each: the violation is 0.039 and the margin 0.0127, a difference of 11 standard
// deviations.
func TestAudit(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		dim, count int
		mu, fault  float64
		onGrid     bool
	}{
		{1, 175_000, 2.5, 0.98, false},
		{1, 175_000, 2.5, 0.98, true},
		{8, 75_000, 1, 0.9, false},
		{8, 75_000, 1, 0.9, true},
	} {
		t.Run(fmt.Sprintf("dim%d,grid=%v", c.dim, c.onGrid), func(t *testing.T) {
			switch {
			case testing.Short() || raceDetector:
				c.count /= 10
			case !long:
				c.count, c.fault = c.count/4, 1-2*(1-c.fault)
			}
			const alpha = 0.01 / 4
			claim := Gaussian{Clip: 0.7, Sigma: 2 * 0.7 / c.mu}
			seed := uint64(100 + 10*i)
			run := func(fault float64, seed uint64) []string {
				plus := auditedRelease(t, c.dim, c.count, claim, 1, fault, c.onGrid, seed)
				minus := auditedRelease(t, c.dim, c.count, claim, -1, fault, c.onGrid, seed+1)
				return audit(plus, minus, c.mu, alpha)
			}
			for _, fault := range run(1, seed) {
				t.Error(fault)
			}
			if testing.Short() || raceDetector {
				return // too few releases to detect a small flaw
			}
			faults := run(c.fault, seed+2)
			if len(faults) == 0 {
				t.Fatalf("noise of %v sigma passes: the test has no power", c.fault)
			}
			t.Logf("noise of %v sigma is refuted at %d points, first at %v", c.fault, len(faults), faults[0])
		})
	}
}
