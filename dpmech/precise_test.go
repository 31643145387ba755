package dpmech

import (
	"math"
	"math/big"
	"testing"
)

// digits returns the number of binary digits that the reference needs for a cost of rho. A small rho needs more digits,
// because the reference then subtracts two tails of nearly the same size.
func digits(rho float64) uint { return 320 + uint(max(0, -math.Log2(rho))) }

// checkEpsilon compares an epsilon with the reference. It computes the exact delta at this epsilon and at
// epsilon - slack. Because delta decreases with epsilon, the given delta must lie between the two.
func checkEpsilon(t *testing.T, r *reference, a Accounting, rho, delta, slack float64) {
	t.Helper()
	eps := a.Epsilon(rho, delta)
	if want := r.num(delta); r.delta(a, rho, eps).Cmp(want) > 0 {
		t.Errorf("%v: epsilon %v of rho %v, delta %v is below the truth", a, eps, rho, delta)
	} else if less := eps - slack; less > 0 && r.delta(a, rho, less).Cmp(want) < 0 {
		t.Errorf("%v: epsilon %v of rho %v, delta %v is above the truth by more than %v", a, eps, rho, delta, slack)
	}
}

// TestAccountingAgainstReference checks that Epsilon is never below the true value and exceeds it by a relative error
// of at most 1e-9. It tests a thousand random points (40 without SPADE_LONG) over the whole relevant range and, for
// delta, far beyond it.
func TestAccountingAgainstReference(t *testing.T) {
	t.Parallel()
	n := 40
	if long {
		n = 1000
	}
	s := stream(31)
	between := func(lo, hi float64) float64 { return lo * math.Exp(s.Float64()*math.Log(hi/lo)) }
	r := newReference(digits(1e-8))
	for i := range n {
		rho, delta := between(1e-8, 1e5), between(1e-15, 0.5)
		if i%4 == 0 {
			delta = between(1e-300, 1e-15)
		}
		for _, a := range []Accounting{GDP, ZCDP, Paper} {
			checkEpsilon(t, r, a, rho, delta, 1e-9*a.Epsilon(rho, delta))
		}
	}
}

// TestAccountingAgainstReferenceAtCorners compares Epsilon with the reference where formulas tend to fail: at and
// beyond the ends of the ranges, and near the delta at which epsilon becomes 0.
func TestAccountingAgainstReferenceAtCorners(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{
		1e-300, 1e-30, 1e-8, 1e-3, 0.1, 0.4999, 0.5, 0.5001, 1.125, 1.126, 8, 199, 201, 1e5, 1e6,
	} {
		r := newReference(digits(rho))
		for _, a := range []Accounting{GDP, ZCDP, Paper} {
			deltas := []float64{leastDelta, 1e-150, 1e-5, 0.01, 0.5}
			zero, _ := r.delta(a, rho, 0).Float64() // the least delta with epsilon 0; just below it epsilon is tiny
			for _, share := range []float64{1e-16, 1e-8, 0.01, -1e-16, -1e-8} {
				deltas = append(deltas, min(zero*(1-share), 0.5))
			}
			for _, delta := range deltas {
				if delta < leastDelta {
					continue
				}
				checkEpsilon(t, r, a, rho, delta, max(1e-9*a.Epsilon(rho, delta), 1e-13*math.Sqrt(rho)))
			}
		}
	}
}

// TestEpsilonAtLargeDelta checks that Epsilon also returns an upper bound for a delta above one half, although such a
// delta is useless in practice.
func TestEpsilonAtLargeDelta(t *testing.T) {
	for _, rho := range []float64{1e-3, 0.5, 8, 50, 100, 1e3, 1e5} {
		r := newReference(digits(rho))
		for _, delta := range []float64{0.6, 0.9, 0.999, 1 - 1e-9, 1 - 0x1p-52, 1 - 0x1p-53} {
			for _, a := range []Accounting{GDP, ZCDP, Paper} {
				checkEpsilon(t, r, a, rho, delta, math.Inf(1))
			}
		}
	}
}

// TestMillsAgainstReference checks that the errors of mills and millsDrop stay below the bounds in the comments of
// these functions.
func TestMillsAgainstReference(t *testing.T) {
	t.Parallel()
	r := newReference(384)
	off := func(got float64, want *big.Float) float64 {
		diff, _ := r.zero().Quo(r.zero().Sub(r.num(got), want), want).Float64()
		return math.Abs(diff)
	}
	ratio := func(x *big.Float) *big.Float { return r.zero().Quo(r.tail(x), r.density(x)) }
	s := stream(32)
	points := []float64{0, 0.5, 1, 1.4999999999999998, 1.5, 2, 5.999, 6, 10, 40, 1e3}
	for range 20 {
		points = append(points, 8*s.Float64(), math.Exp(6*s.Float64()))
	}
	var worst [3]float64
	for _, x := range points {
		m, n := mills(x)
		want := ratio(r.num(x))
		worst[0] = max(worst[0], off(m, want))
		worst[1] = max(worst[1], off(n, r.zero().Sub(r.num(1), r.zero().Mul(r.num(x), want))))
		for _, mu := range []float64{1e-9, 0.01, 1, 1.001, x, 3 * x} {
			if mu > 0 {
				far := ratio(r.zero().Add(r.num(x), r.num(mu)))
				worst[2] = max(worst[2], off(millsDrop(x, mu), far.Sub(want, far)))
			}
		}
	}
	t.Logf("relative errors: M %.2g, N %.2g, drop %.2g", worst[0], worst[1], worst[2])
	if worst[0] > 0x1p-48 || worst[1] > 0x1p-48 || worst[2] > 0x1p-47 {
		t.Errorf("relative errors %v, want less than 2^-48, 2^-48, 2^-47", worst)
	}
}

// TestLogDeltaFall checks an assumption of epsilonGDP: if delta is at most one half, logDelta decreases in t at a rate
// of at least max(t, 0.6), and this rate increases with t.
func TestLogDeltaFall(t *testing.T) {
	for mu := 1e-6; mu < 1e4; mu *= 2 {
		before := 0.0
		for x := -min(mu/2, 8); x < 40; x += 0.05 {
			log, fall := logDelta(x, mu, 0.5)
			if log <= 0 && !(fall >= 0.6 && fall > x) || !(fall > before*(1-1e-12)) {
				t.Errorf("mu %v, t %v: slope %v after %v", mu, x, fall, before)
			}
			before = fall
		}
	}
}
