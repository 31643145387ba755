package dpmech

import "math"

// The Gaussian mechanism with mu = sqrt(2 rho) is (epsilon, delta)-private exactly if
//
//	delta >= Q(t) - e^epsilon Q(t+mu),  t = epsilon/mu - mu/2,
//
// with Q the standard normal upper tail (Balle and Wang, "Improving the Gaussian mechanism for differential privacy",
// ICML 2018, Theorem 8; Dong, Roth and Su, Corollary 2.13). Since e^epsilon phi(t+mu) = phi(t), the right side is
// phi(t)(M(t) - M(t+mu)) with Mills' ratio M. That has no exponential of epsilon, and t, unlike epsilon, is well
// conditioned at every mu.

// logDelta returns the logarithm of that right side over delta, for -37 < t <= 40 and t >= -mu/2, and minus its
// derivative with respect to t, mu*M(t+mu)/(M(t) - M(t+mu)). The logarithm is concave in t (delta is a convolution of
// the log-concave tail of the privacy loss with an exponential density). Its error is below (1 + t*t)*2^-46: 2^-47 from
// the drop, the roundings of t*t and of the sum, and the logarithm's. A relative error of 2^-53 in delta or, unless mu
// > 100, in rho is within that too.
func logDelta(t, mu, delta float64) (log, fall float64) {
	drop := millsDrop(t, mu)
	far, _ := mills(t + mu)
	log = math.Log(drop/delta) - float64(t*t/2) - logSqrt2Pi
	return log, mu * far / drop
}

const logSqrt2Pi = 0.918938533204672741780329736405618

// logMargin bounds the error of logDelta.
func logMargin(t float64) float64 { return (1 + float64(t*t)) * 0x1p-46 }

// epsilonGDP inverts logDelta in t and returns epsilon = rho + mu*t.
func epsilonGDP(rho, delta float64) float64 {
	mu := math.Sqrt2 * math.Sqrt(rho)
	if mu < 20 { // delta may cover epsilon = 0; with a larger mu it cannot, as a float64 below 1
		if log, _ := logDelta(-mu/2, mu, delta); log <= -logMargin(mu/2) {
			return 0
		}
	}
	// Newton's method on a concave, falling function, from a point where it is negative (Q(t) <= exp(-t*t/2)): every
	// step ends on the far, safe side of the root. It converges quadratically, so after a step of 2^-30 rounding is all
	// that is left, and the margin pays for that. The slope is t at least, and between 0.6 and 1.3 or so where t is
	// small and delta at most 1/2, so the margin is worth some (1 + |t|)*2^-46 in t.
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
