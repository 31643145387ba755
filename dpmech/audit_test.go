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
// side. The probability of any false refutation is at most alpha.
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

// binomialLower returns a lower confidence limit for the success probability, given k successes in n trials: the p at
// which Chernoff's bound on the probability of k or more successes, exp(-n*KL(k/n, p)), is alpha.
func binomialLower(k, n int, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	share := float64(k) / float64(n)
	lo, hi := 0.0, share
	for range 60 {
		p := (lo + hi) / 2
		kl := share * math.Log(share/p)
		if k < n {
			kl += (1 - share) * math.Log((1-share)/(1-p))
		}
		if float64(n)*kl > -math.Log(alpha) {
			lo = p
		} else {
			hi = p
		}
	}
	return lo
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
// opposite ends of the ball. With SPADE_LONG, it makes a million releases in total, from fixed seeds; the probability of a
// false alarm is 1 %. On the wire grid, a threshold on the sum is a valid event, but not always the tightest one.
//
// Power of the test: at mu = 2.5, noise that is 2 % too small results in mu = 2.551. At epsilon 0, the left side
// increases by the density 0.183 * 0.051 / 2, and the right side decreases by the same amount. With 175,000 releases
// each, both sides have a standard error of 0.00074. Each confidence limit is 4.3 standard errors away (alpha/28), so
// the margin is 0.0064. The violation of 0.0093 exceeds the margin by 2.8 standard deviations of the difference, so the
// audit detects it with probability 0.997. In eight dimensions and at mu = 1 (epsilon 4.4 at delta 1e-5), the noise is
// 10 % too small, with 75,000 releases each: the violation is 0.039 and the margin 0.0147, a difference of 10 standard
// deviations. Without SPADE_LONG, there are a ninth of the releases, and the test detects flaws three times as large: 6 %
// and 30 %.
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
			if !long {
				c.count, c.fault = c.count/9, 1-3*(1-c.fault)
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
			faults := run(c.fault, seed+2)
			if len(faults) == 0 {
				t.Fatalf("noise of %v sigma passes: the test has no power", c.fault)
			}
			t.Logf("noise of %v sigma is refuted at %d points, first at %v", c.fault, len(faults), faults[0])
		})
	}
}
