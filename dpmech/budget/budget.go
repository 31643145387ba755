package budget

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// SigmaFor returns the smallest Sigma (or, with pairwise noise, Shared.Effective) with which the given number of
// releases, clipped to radius clip, is (epsilon, delta)-private. The result is rounded up to six significant digits and
// is the same on every processor. SigmaFor fails if an argument is out of range (see [dpmech.Accounting.MaxRho] and
// [dpmech.Gaussian.Validate]).
func SigmaFor(clip float64, rounds int, epsilon, delta float64, acc dpmech.Accounting) (float64, error) {
	rho, err := acc.MaxRho(epsilon, delta)
	if rounds < 1 {
		err = errors.Join(err, fmt.Errorf("budget: rounds is %d, want at least 1", rounds))
	}
	if err != nil {
		return 0, err
	}
	g := dpmech.Gaussian{Clip: clip, Sigma: roundUp(clip * math.Sqrt(2*float64(rounds)/rho))}
	for g.Validate() == nil && acc.Epsilon(g.Total(rounds).Rho, delta) > epsilon {
		g.Sigma = roundUp(g.Sigma * (1 + 1e-6))
	}
	return g.Sigma, g.Validate()
}

// Left returns the budget that remains. The parameter spent is the total cost of the releases so far. The result has
// two numbers in zCDP, one for each of the two adversaries of a [dpmech.Total]; both are infinite if l is nil.
func Left(l *dpmech.Limit, spent dpmech.Total) dpmech.Total {
	left := dpmech.Total{Rho: math.Inf(1), All: math.Inf(1), Weakest: spent.Weakest}
	if l == nil {
		return left
	}
	remains := func(limit, spent float64) float64 {
		most, err := l.Accounting.MaxRho(limit, l.Delta)
		if err != nil {
			return 0
		}
		if spent > 0 {
			most -= float64(1e-12 * most) // spent is a sum that was rounded up
		}
		return max(0, most-spent)
	}
	left.Rho = remains(l.Epsilon, spent.Rho)
	if l.EpsilonAll > 0 {
		left.All = remains(l.EpsilonAll, spent.All)
		left.Rho = min(left.Rho, left.All) // a release costs at least as much against all other members
	}
	return left
}

// roundUp rounds x > 0 up to six significant decimal digits.
func roundUp(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return x
	}
	unit := 1.0
	for ; x/unit >= 1e6; unit *= 10 {
	}
	inverse := 1.0
	for ; x*inverse < 1e5; inverse *= 10 {
	}
	// If x has at most six digits, the quotient may exceed a whole number by a rounding error, which must not increase
	// the result.
	n := math.Ceil(x/unit*inverse - 1e-4)
	return n * unit / inverse
}
