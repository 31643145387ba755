package dpmech

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Cost states a spend in every currency.
type Cost struct {
	Rho          float64 `json:"rho"`   // zCDP
	Mu           float64 `json:"mu"`    // GDP, sqrt(2 rho)
	Delta        float64 `json:"delta"` // at which the epsilons hold
	EpsilonPaper float64 `json:"epsilon_paper"`
	EpsilonZCDP  float64 `json:"epsilon_zcdp"`
	EpsilonGDP   float64 `json:"epsilon_gdp"`
	// EpsilonZeroOut is EpsilonGDP under the weaker zero-out adjacency: the data set is replaced by none, its updates
	// by zero vectors. Two centres are then at most R apart, and not 2R, so mu is half as large. Some libraries report
	// this one. JSON leaves it out where it is 0, and in version 1 of a certificate.
	EpsilonZeroOut float64 `json:"epsilon_zero_out,omitempty"`
}

// CostOf states a spend rho in zCDP, with epsilons at delta as [Accounting.Epsilon] returns them.
func CostOf(rho, delta float64) Cost {
	return Cost{
		Rho: rho, Mu: math.Sqrt(2 * rho), Delta: delta,
		EpsilonPaper: Paper.Epsilon(rho, delta), EpsilonZCDP: ZCDP.Epsilon(rho, delta), EpsilonGDP: GDP.Epsilon(rho, delta),
		EpsilonZeroOut: zeroOut(rho, delta),
	}
}

// zeroOut returns the exact epsilon of half the mu, which is a quarter of the rho.
func zeroOut(rho, delta float64) float64 { return GDP.Epsilon(rho/4, delta) }

// verify compares a cost with what follows from a spend.
func (c Cost) verify(rho float64, version int) error {
	want := CostOf(rho, c.Delta)
	var errs []error
	check := func(name string, have, want, below float64) {
		switch {
		case have == 0 && name == "epsilon_zero_out" && want > below: // it is left out where it is 0
			errs = append(errs, fmt.Errorf("dpmech: field %s is missing: it is %v", name, want))
		case !(have >= want-below):
			errs = append(errs, fmt.Errorf("dpmech: %s is stated as %v, and is %v", name, have, want))
		case !(have <= want+float64(1e-6*want)+1e-12):
			errs = append(errs, fmt.Errorf("dpmech: %s is stated as %v, and is only %v", name, have, want))
		}
	}
	epsilon := func(name string, have, want float64) {
		check(name, have, want, float64(1e-11*want)+1e-12) // an epsilon near 0 has fewer digits
	}
	if version == 1 {
		want.EpsilonZeroOut = 0
	}
	check("rho", c.Rho, want.Rho, 0)
	check("mu", c.Mu, want.Mu, 0)
	epsilon("epsilon_paper", c.EpsilonPaper, want.EpsilonPaper)
	epsilon("epsilon_zcdp", c.EpsilonZCDP, want.EpsilonZCDP)
	epsilon("epsilon_gdp", c.EpsilonGDP, want.EpsilonGDP)
	epsilon("epsilon_zero_out", c.EpsilonZeroOut, want.EpsilonZeroOut)
	return errors.Join(errs...)
}

// withinLimit reports that a cost exceeds a limit.
func (c Cost) withinLimit(l *Limit) error {
	if l == nil {
		return nil
	}
	if err := l.Validate(); err != nil {
		return within("limit", err)
	}
	if eps := l.Accounting.Epsilon(c.Rho, l.Delta); eps > l.Epsilon*(1+1e-11) {
		return fmt.Errorf("dpmech: limit: %v epsilon is %v at delta %v, and the limit %v",
			l.Accounting, eps, l.Delta, l.Epsilon)
	}
	return nil
}

// FormatEpsilon writes an epsilon with a fixed number of decimals, rounded up: the text is never below epsilon, except
// by at most 1e-9 of it, which is within the error of [Accounting.Epsilon] and keeps a budget of 8 from being written
// as 8.0001. So a positive epsilon is never written as zero. A negative number of decimals counts as 0. Infinity is
// "+Inf".
func FormatEpsilon(epsilon float64, decimals int) string {
	s := strconv.FormatFloat(epsilon, 'f', max(decimals, 0), 64)
	if back, err := strconv.ParseFloat(s, 64); err != nil || !(epsilon > 0) || !(back < epsilon*(1-1e-9)) {
		return s
	}
	digits := []byte(s)
	for i := len(digits) - 1; i >= 0; i-- {
		switch digits[i] {
		case '.':
		case '9':
			digits[i] = '0'
		default:
			digits[i]++
			return string(digits)
		}
	}
	return "1" + string(digits)
}
