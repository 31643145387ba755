package dpmech

import (
	"errors"
	"fmt"
	"math"
)

// Accounting is a way to read the spend of a sequence of releases, a sum of [Gaussian.Rho], as epsilon at a given delta.
// Every way gives an upper bound on the true epsilon.
type Accounting int

const (
	// GDP is the exact trade-off of the composed Gaussian mechanism with mu = sqrt(2 rho): Dong, Roth and Su, "Gaussian
	// differential privacy" (JRSS-B 2022), Corollary 2.13. It holds because each release is a mixture of Gaussians whose
	// centres lie in a ball.
	GDP Accounting = iota
	// ZCDP is the optimised conversion of zCDP: Canonne, Kamath and Steinke, "The discrete Gaussian for differential
	// privacy" (NeurIPS 2020), Proposition 12.
	ZCDP
	// Paper is the conversion of the SPADE-DFL paper, rho + 2 sqrt(rho ln(1/delta)), from Bun and Steinke 2016.
	Paper
)

// accountings lists the values in the order in which help texts name them.
var accountings = []struct {
	a    Accounting
	name string
}{{GDP, "gdp"}, {ZCDP, "zcdp"}, {Paper, "paper"}}

// ParseAccounting returns the accounting that String names.
func ParseAccounting(name string) (Accounting, error) {
	for _, known := range accountings {
		if known.name == name {
			return known.a, nil
		}
	}
	return 0, fmt.Errorf("dpmech: accounting %q, want gdp, zcdp or paper", name)
}

// String returns the name used in flags and files.
func (a Accounting) String() string {
	for _, known := range accountings {
		if known.a == a {
			return known.name
		}
	}
	return fmt.Sprintf("Accounting(%d)", int(a))
}

// Epsilon returns the epsilon of a total spend rho (in zCDP, at least 0) at 0 < delta < 1, rounded up. It is +Inf if an
// argument is out of range, so that a mistake never looks private.
func (a Accounting) Epsilon(rho, delta float64) float64 {
	if !(rho >= 0) || math.IsInf(rho, 0) || !(delta > 0 && delta < 1) {
		return math.Inf(1)
	}
	if rho == 0 {
		return 0
	}
	rho = max(rho, 1e-8) // below, differences of nearly equal numbers would decide; a larger spend is a safe answer
	var eps float64
	switch a {
	case GDP:
		eps = epsilonGDP(rho, delta)
	case ZCDP:
		eps = epsilonZCDP(rho, delta)
	case Paper:
		eps = rho + 2*math.Sqrt(-rho*math.Log(delta))
	default:
		return math.Inf(1)
	}
	return eps * (1 + 1e-11)
}

// MaxRho returns the largest spend, rounded down, whose Epsilon at delta is at most epsilon.
func (a Accounting) MaxRho(epsilon, delta float64) (float64, error) {
	var errs []error
	if !(epsilon > 0) || epsilon > 1e6 {
		errs = append(errs, fmt.Errorf("dpmech: epsilon is %v, want more than 0 and at most 1e6", epsilon))
	}
	if !(delta > 0 && delta < 1) {
		errs = append(errs, fmt.Errorf("dpmech: delta is %v, want more than 0 and less than 1", delta))
	}
	if len(errs) > 0 {
		return 0, errors.Join(errs...)
	}
	// Epsilon grows with rho. Bisection on a logarithmic scale; the lower end always satisfies the bound.
	lo, hi := 1e-12, 2e6
	if a.Epsilon(lo, delta) > epsilon {
		return 0, fmt.Errorf("dpmech: epsilon %v at delta %v is too small to be reached with %v accounting", epsilon, delta, a)
	}
	for range 200 {
		mid := math.Sqrt(lo * hi)
		if mid <= lo || mid >= hi {
			break
		}
		if a.Epsilon(mid, delta) <= epsilon {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// epsilonZCDP minimises, over the Renyi order alpha > 1,
// alpha*rho + (alpha*ln(1-1/alpha) - ln((alpha-1)*delta))/(alpha-1). Any alpha gives a valid bound, so an imperfect
// minimum errs on the safe side.
func epsilonZCDP(rho, delta float64) float64 {
	at := func(t float64) float64 { // t = ln(alpha-1)
		excess := math.Exp(t)
		alpha := 1 + excess
		return alpha*rho + (alpha*(t-math.Log(alpha))-t-math.Log(delta))/excess
	}
	// Golden-section search; the function has one minimum.
	lo, hi := -20.0, 40.0
	const golden = 0.6180339887498949
	for hi-lo > 1e-12 {
		a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
		if at(a) < at(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return max(0, at((lo+hi)/2))
}

// epsilonGDP inverts delta(epsilon) of mu-GDP, mu = sqrt(2 rho); the upper end of the bracket is returned.
func epsilonGDP(rho, delta float64) float64 {
	mu := math.Sqrt(2 * rho)
	within := func(eps float64) bool { return logDeltaGDP(eps, mu) <= math.Log(delta) }
	if within(0) {
		return 0
	}
	lo, hi := 0.0, 1.0
	for ; !within(hi); hi *= 2 {
		lo = hi
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if within(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// logDeltaGDP returns the logarithm of delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2).
func logDeltaGDP(eps, mu float64) float64 {
	a := logPhi(-eps/mu + mu/2)
	b := eps + logPhi(-eps/mu-mu/2)
	return a + math.Log(-math.Expm1(b-a))
}

// logPhi returns the logarithm of the standard normal distribution function, also far out in the lower tail.
func logPhi(x float64) float64 {
	if x > -5 {
		return math.Log(math.Erfc(-x/math.Sqrt2) / 2)
	}
	// Phi(x) = density(x) * Mills' ratio, as Laplace's continued fraction 1/(t + 1/(t + 2/(t + 3/(t + ...)))), t = -x.
	t := -x
	f := t
	for n := 200; n >= 1; n-- {
		f = t + float64(n)/f
	}
	return -x*x/2 - math.Log(2*math.Pi)/2 - math.Log(f)
}
