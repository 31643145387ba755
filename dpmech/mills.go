package dpmech

import "math"

// mills returns Mills' ratio M(x) = Q(x)/phi(x), where Q is the standard normal upper tail and phi its density, and
// N(x) = 1 - x*M(x) = -M'(x), for -37 < x. Both are positive and fall with x, and neither underflows.
//
// For x >= 0 their relative error is below 2^-48, with functions Exp and Erfc good to 2 units of the last place: see
// the comments at each step. Below zero M's grows like (1 + x*x)*2^-50, by the error of x*x/2.
func mills(x float64) (m, n float64) {
	if x < 1.5 {
		// Erfc answers the rounding of its argument with x/M(x) <= 2.9 times the relative error, so M is good to some
		// 10 units of 2^-53, and N, which is at least 0.22, to 40.
		m = math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
		return m, 1 - float64(x*m)
	}
	// Laplace's continued fraction M = 1/(x + c), c = 1/(x + 2/(x + 3/(x + ...))), from the far end: every term is
	// positive, so each step shrinks the error of the one before. The number of terms leaves a remainder below 2^-56.
	f := x
	for k := math.Floor(12 + 520/(x*x)); k >= 2; k-- {
		f = x + k/f
	}
	c := 1 / f
	return 1 / (x + c), c / (x + c)
}

// gauss holds the positive nodes and the weights of Gauss and Legendre's quadrature with 12 nodes on [-1, 1].
var gauss = [6][2]float64{
	{0.12523340851146891547, 0.249147045813402785},
	{0.36783149899818019375, 0.23349253653835480876},
	{0.5873179542866174473, 0.20316742672306592175},
	{0.76990267419430468704, 0.16007832854334622633},
	{0.90411725637047485668, 0.10693932599531843096},
	{0.98156063424671925069, 0.047175336386511827195},
}

// millsDrop returns M(t) - M(t+mu) for mu > 0 and t >= -mu/2, to a relative error below 2^-47 where t >= 0.
func millsDrop(t, mu float64) float64 {
	if mu > 1 && mu > t {
		// The difference is at least 0.35 of M(t): little is lost.
		m, _ := mills(t)
		far, _ := mills(t + mu)
		return m - far
	}
	// The two are close: their difference is the integral of N. The rule's own error is below 2^-55: N is an entire
	// function, and where t > 1 the interval is no longer than its distance from zero, beyond which N grows.
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
