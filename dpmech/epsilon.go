package dpmech

import (
	"math"
	"strconv"
)

// The Gaussian mechanism with mu = sqrt(2 rho) is (epsilon, delta)-private if and only if
//
//	delta >= Q(t) - e^epsilon Q(t+mu),  t = epsilon/mu - mu/2,
//
// where Q is the standard normal upper tail (Balle and Wang, "Improving the Gaussian mechanism for differential
// privacy", ICML 2018, Theorem 8; Dong, Roth and Su, Corollary 2.13). Since e^epsilon phi(t+mu) = phi(t), the right
// side is phi(t)(M(t) - M(t+mu)), where M is Mills' ratio. This form does not need e^epsilon, and t is well conditioned
// for every mu.

// logDelta evaluates the inequality above at t. The first result, log, is the logarithm of the right side divided by
// delta. The second result, fall, is the negative of its derivative with respect to t: mu*M(t+mu)/(M(t) - M(t+mu)). t
// must be in (-37, 40] and at least -mu/2. The logarithm is concave in t, because delta is a convolution of the
// log-concave tail of the privacy loss with an exponential density. The error of the logarithm is at most [logMargin],
// including the effect of a relative error of 2^-53 in delta and, for mu <= 100, in rho.
func logDelta(t, mu, delta float64) (log, fall float64) {
	drop := millsDrop(t, mu)
	far, _ := mills(t + mu)
	log = math.Log(drop/delta) - float64(t*t/2) - logSqrt2Pi
	return log, mu * far / drop
}

const logSqrt2Pi = 0.918938533204672741780329736405618

// logMargin returns an upper bound on the absolute error of logDelta's first result at t.
func logMargin(t float64) float64 { return (1 + float64(t*t)) * 0x1p-46 }

// epsilonGDP solves logDelta = 0 for t and returns epsilon = rho + mu*t.
func epsilonGDP(rho, delta float64) float64 {
	mu := math.Sqrt2 * math.Sqrt(rho)
	if mu < 20 { // epsilon may be 0; for a larger mu it is positive at every float64 delta < 1
		if log, _ := logDelta(-mu/2, mu, delta); log <= -logMargin(mu/2) {
			return 0
		}
	}
	// Newton's method finds the root of a concave, decreasing function. It starts where the function is negative (Q(t)
	// <= exp(-t*t/2)), so every iterate is to the right of the root, where epsilon is too large and thus a valid bound.
	// Convergence is quadratic: after a step below 2^-30, only the rounding error remains, which logMargin covers.
	t := math.Sqrt(-2 * math.Log(delta))
	for range 100 {
		log, fall := logDelta(t, mu, delta)
		step := log / fall
		t = max(t+step, -mu/2)
		if math.Abs(step) < 0x1p-30*(1+math.Abs(t)) {
			break
		}
	}
	_, fall := logDelta(t, mu, delta)
	t += logMargin(t) / fall
	return rho + float64(mu*t)
}

// mills returns Mills' ratio M(x) = Q(x)/phi(x) for the standard normal upper tail Q and density phi, and N(x) = 1 -
// x*M(x) = -M'(x), for x > -37. Both are positive, decrease in x and do not underflow.
//
// For x >= 0, the relative error is below 2^-48 for M and below 2^-47 for N if Exp and Erfc are accurate to 2 units in
// the last place. For negative x, the error of M grows like (1 + x*x)*2^-50, because of the error of x*x/2.
func mills(x float64) (m, n float64) {
	if x < 1.5 {
		// The rounding error of Erfc's argument is amplified by x/M(x) <= 2.9, so the relative error is below 10*2^-53
		// for M, and below 40*2^-53 for N, which is at least 0.22.
		m = math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
		return m, 1 - float64(x*m)
	}
	// Laplace's continued fraction is M = 1/(x + c), c = 1/(x + 2/(x + 3/(x + ...))), computed from the innermost term.
	// All terms are positive, so each step reduces the error. The remainder is below 2^-56.
	f := x
	for k := math.Floor(12 + 520/(x*x)); k >= 2; k-- {
		f = x + k/f
	}
	c := 1 / f
	return 1 / (x + c), c / (x + c)
}

// gauss has the positive nodes and the weights of 12-point Gauss-Legendre quadrature on [-1, 1].
var gauss = [6][2]float64{
	{0.12523340851146891547, 0.249147045813402785},
	{0.36783149899818019375, 0.23349253653835480876},
	{0.5873179542866174473, 0.20316742672306592175},
	{0.76990267419430468704, 0.16007832854334622633},
	{0.90411725637047485668, 0.10693932599531843096},
	{0.98156063424671925069, 0.047175336386511827195},
}

// millsDrop returns M(t) - M(t+mu) for mu > 0 and t >= -mu/2, with a relative error below 2^-47 for t >= 0.
func millsDrop(t, mu float64) float64 {
	if mu > 1 && mu > t {
		// The difference is at least 0.35*M(t), so it can be computed directly.
		m, _ := mills(t)
		far, _ := mills(t + mu)
		return m - far
	}
	// M(t) and M(t+mu) are nearly equal, so their difference is computed as the integral of N, an entire function. The
	// quadrature error is below 2^-55.
	half := mu / 2
	mid := t + half
	var sum float64
	for _, node := range gauss {
		_, left := mills(mid - float64(half*node[0]))
		_, right := mills(mid + float64(half*node[0]))
		sum += float64(node[1] * (left + right))
	}
	return half * sum
}

// leastOrder and mostOrder bound x in Proposition 12 of Canonne, Kamath and Steinke: for every order alpha = 1 + x > 1,
// rho-zCDP implies (epsilon, delta)-privacy with
//
//	ln delta = x((1+x)rho - epsilon) - ln x + (1+x) ln(x/(1+x)).
//
// The bound is valid for every x. epsilonZCDP returns the bound at a nearly optimal x in this range, plus an upper
// bound on its rounding errors (2^-48 of each term).
const leastOrder, mostOrder = 0x1p-600, 0x1p600

// epsilonZCDP evaluates the bound in the comment on leastOrder at the solution x of rho*x*x + ln(1+x) = -ln delta,
// which is the optimal order minus 1.
func epsilonZCDP(rho, delta float64) float64 {
	want := -math.Log(delta)
	x := bisect(leastOrder, mostOrder, func(x float64) bool {
		return float64(rho*x*x)+math.Log1p(x) <= want
	})
	first := float64(x * rho)
	second := math.Log(delta*(1+x)) / x // one logarithm, because ln(delta) and ln(1+x) may nearly cancel
	third := math.Log1p(1 / x)
	margin := 0x1p-48 * (rho + first + math.Abs(second) + 1/x + third)
	return rho + first - second - third + margin
}

// epsilonPaper returns the epsilon of Proposition 1.3 of Bun and Steinke, "Concentrated differential privacy:
// simplifications, extensions, and lower bounds" (TCC 2016).
func epsilonPaper(rho, delta float64) float64 {
	return rho + 2*math.Sqrt(rho*-math.Log(delta))
}

// FormatEpsilon formats an epsilon with the given number of decimals (0 if negative). It rounds up, except that it
// hides rounding errors: the formatted value may be too low by a relative error of up to 1e-9, so that a budget of 8 is
// formatted as 8, not 8.0001. Infinity is formatted as "+Inf".
func FormatEpsilon(epsilon float64, decimals int) string {
	decimals = max(decimals, 0)
	s := strconv.FormatFloat(epsilon, 'f', decimals, 64)
	back, err := strconv.ParseFloat(s, 64)
	if err != nil || !(epsilon > 0) || !(back < epsilon*(1-1e-9)) {
		return s
	}
	return strconv.FormatFloat(back+math.Pow10(-decimals), 'f', decimals, 64)
}
