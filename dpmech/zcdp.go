package dpmech

import "math"

// Proposition 12 of Canonne, Kamath and Steinke: rho-zCDP implies (epsilon, delta) for every order alpha = 1 + x > 1
// with
//
//	ln delta = x((1+x)rho - epsilon) - ln x + (1+x) ln(x/(1+x)).
//
// Every x gives a valid bound, so an imperfect optimum errs on the safe side. epsilonZCDP returns the bound at a good
// x, plus what its roundings can be (2^-48 of each term). x is looked for in this range.
const leastOrder, mostOrder = 0x1p-600, 0x1p600

// epsilonZCDP's optimal order solves rho*x*x + ln(1+x) = -ln delta.
func epsilonZCDP(rho, delta float64) float64 {
	want := -math.Log(delta)
	x := bisect(leastOrder, mostOrder, func(x float64) bool {
		return float64(rho*x*x)+math.Log1p(x) <= want
	})
	first := float64(x * rho)
	second := math.Log(delta*(1+x)) / x // one logarithm: its two factors may all but cancel
	third := math.Log1p(1 / x)
	margin := 0x1p-48 * (rho + first + math.Abs(second) + 1/x + third)
	return rho + first - second - third + margin
}

// epsilonPaper is Proposition 1.3 of Bun and Steinke, "Concentrated differential privacy: simplifications, extensions,
// and lower bounds" (TCC 2016).
func epsilonPaper(rho, delta float64) float64 {
	return rho + 2*math.Sqrt(rho*-math.Log(delta))
}
