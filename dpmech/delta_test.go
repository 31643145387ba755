package dpmech

import "math"

// smallestDelta returns the smallest delta for which a total cost rho >= 0 (in zCDP) implies (epsilon, delta)-privacy,
// for epsilon >= 0. The result is rounded up: it is never less than the true value, and it exceeds the true value by a
// relative error of less than 1e-9 for rho in 1e-300..1e6. It is 1 (no guarantee) if an argument is out of range, and 0
// if rho is 0. Otherwise it is at least 2^-1022, and smaller true values are rounded up.
func (a Accounting) smallestDelta(rho, epsilon float64) float64 {
	if a < GDP || a > Paper || !(rho >= 0 && rho <= math.MaxFloat64) || !(epsilon >= 0 && epsilon <= math.MaxFloat64) {
		return 1
	}
	if rho == 0 {
		return 0
	}
	delta := []func(rho, epsilon float64) float64{deltaGDP, deltaZCDP, deltaPaper}[a](max(rho, leastRho), epsilon)
	return min(max(delta, leastDelta)*widening, 1)
}

// deltaGDP directly evaluates the right side of the inequality in epsilon.go.
func deltaGDP(rho, epsilon float64) float64 {
	mu := math.Sqrt2 * math.Sqrt(rho)
	t := (epsilon - rho) / mu
	switch {
	case t < -20:
		return 1
	case t > 40:
		return 0
	}
	log, _ := logDelta(t, mu, 1)
	return math.Exp(log + logMargin(t))
}

// deltaZCDP evaluates the bound in the comment on leastOrder at the solution x of rho*(1+2x) - ln(1+1/x) = epsilon,
// which is the optimal order minus 1.
func deltaZCDP(rho, epsilon float64) float64 {
	x := bisect(leastOrder, mostOrder, func(x float64) bool {
		return rho-epsilon+float64(2*rho*x)-math.Log1p(1/x) <= 0
	})
	first := float64(x * (rho - epsilon + float64(rho*x)))
	second := float64(x * math.Log1p(1/x))
	third := math.Log1p(x)
	log := first - second - third
	if !(log > leastLog) {
		return 0
	}
	margin := 0x1p-48 * (float64(x*math.Abs(rho-epsilon)) + float64(rho*x*x) + second + third)
	return math.Exp(log + margin)
}

// leastLog is slightly below the natural logarithm of the smallest normal float64.
const leastLog = -710.0

// deltaPaper is the inverse of epsilonPaper in delta: exp(-(epsilon-rho)^2/(4 rho)).
func deltaPaper(rho, epsilon float64) float64 {
	if epsilon <= rho {
		return 1
	}
	root := (epsilon - rho) / (2 * math.Sqrt(rho))
	if root > 30 {
		return 0
	}
	return math.Exp(-float64(root*root) * (1 - 0x1p-48))
}
