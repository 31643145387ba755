package dpmech

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Accounting is a method to convert a total privacy loss rho (zCDP, a sum of [Gaussian.Rho]) to an upper bound on
// epsilon. Of the three methods, GDP returns the smallest bound and Paper the largest.
type Accounting int

const (
	// GDP uses the exact trade-off function of the composed Gaussian mechanism, with mu = sqrt(2 rho): Dong, Roth and
	// Su, "Gaussian differential privacy" (JRSS-B 2022), Corollary 2.13.
	GDP Accounting = iota
	// ZCDP uses the optimized conversion of Canonne, Kamath and Steinke, "The discrete Gaussian for differential
	// privacy" (NeurIPS 2020), Proposition 12.
	ZCDP
	// Paper uses the conversion in the SPADE-DFL paper, rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016).
	Paper
)

var accountings = []string{"gdp", "zcdp", "paper"}

// String returns the name used in files.
func (a Accounting) String() string {
	if a < GDP || a > Paper {
		return fmt.Sprintf("Accounting(%d)", int(a))
	}
	return accountings[a]
}

// MarshalText returns the same name as String. It fails if a is none of GDP, ZCDP and Paper.
func (a Accounting) MarshalText() ([]byte, error) {
	name := []byte(a.String())
	return name, a.UnmarshalText(name)
}

// UnmarshalText sets a to the accounting method with the given name. An empty name means GDP.
func (a *Accounting) UnmarshalText(name []byte) error {
	i := slices.Index(accountings, cmp.Or(string(name), GDP.String()))
	if i < 0 {
		return fmt.Errorf("dpmech: accounting is %q, want gdp, zcdp or paper", name)
	}
	*a = Accounting(i)
	return nil
}

const (
	// leastDelta is the smallest normal float64. Smaller float64 values are subnormal and lose precision.
	leastDelta = 0x1p-1022
	// leastRho is the smallest positive total that Epsilon uses. It replaces smaller totals, which is safe because it
	// only overestimates the privacy loss.
	leastRho = 0x1p-1000
	// widening is a factor by which every epsilon is multiplied. It exceeds the rounding error a hundredfold, so that
	// all processors agree on comparisons.
	widening = 1 + 0x1p-36
)

// Epsilon returns an upper bound on the epsilon of a total privacy loss rho >= 0 (zCDP, see [Gaussian.Rho]) at 2^-1022
// <= delta < 1, or +Inf if an argument is out of range. For delta <= 1/2 and rho >= 1e-300, the bound exceeds the exact
// value by less than max(1e-9*epsilon, 1e-13*sqrt(rho)). The last digits depend on the processor.
func (a Accounting) Epsilon(rho, delta float64) float64 {
	if a < GDP || a > Paper || !(rho >= 0 && rho <= math.MaxFloat64) || !(delta >= leastDelta && delta < 1) {
		return math.Inf(1)
	}
	if rho == 0 {
		return 0
	}
	epsilon := []func(rho, delta float64) float64{epsilonGDP, epsilonZCDP, epsilonPaper}[a]
	return max(0, epsilon(max(rho, leastRho), delta)) * widening
}

// MaxRho returns the largest rho (zCDP) whose Epsilon at delta is at most epsilon, rounded down, for 0 < epsilon <= 1e6
// and 2^-1022 <= delta < 1. It fails if an argument is out of range, or if even rho = 2^-1000 costs more than epsilon.
func (a Accounting) MaxRho(epsilon, delta float64) (float64, error) {
	if err := a.allows(epsilon, delta); err != nil {
		return 0, err
	}
	// Epsilon grows with rho, except in its last digits. The upper end of the search always exceeds the budget, because
	// Epsilon is at least rho - 8.3*sqrt(2 rho).
	return bisect(leastRho, 2e6, func(rho float64) bool { return a.Epsilon(rho, delta) <= epsilon }), nil
}

// allows returns an error if an argument is out of range, or if the budget is too small for any release.
func (a Accounting) allows(epsilon, delta float64) error {
	if err := a.inRange(epsilon, delta); err != nil {
		return err
	}
	if a.Epsilon(leastRho, delta) > epsilon {
		return fmt.Errorf("dpmech: epsilon %v at delta %v is too small for any release with %v accounting", epsilon, delta, a)
	}
	return nil
}

// inRange returns an error that names each of the receiver and the arguments that is out of range.
func (a Accounting) inRange(epsilon, delta float64) error {
	var f faults.List
	f.Want(epsilon > 0 && epsilon <= mostEpsilon, "epsilon is %v, want more than 0 and at most 1e6", epsilon)
	_, err := a.MarshalText()
	return errors.Join(append(f, CheckDelta(delta), err)...)
}

// bisect returns approximately the largest x in lo..hi for which below(x) is true. below(lo) must be true and below(hi)
// must be false.
func bisect(lo, hi float64, below func(float64) bool) float64 {
	for range 200 {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
