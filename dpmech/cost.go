package dpmech

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Cost states a spend in every currency, against the adversary that the run names: see [Total].
type Cost struct {
	Rho          float64 `json:"rho"`   // zCDP
	Mu           float64 `json:"mu"`    // GDP, sqrt(2 rho)
	Delta        float64 `json:"delta"` // at which the epsilons hold
	EpsilonPaper float64 `json:"epsilon_paper"`
	EpsilonZCDP  float64 `json:"epsilon_zcdp"`
	EpsilonGDP   float64 `json:"epsilon_gdp"`
	// EpsilonZeroOut is EpsilonGDP under the weaker zero-out adjacency: the data set is replaced by none, its updates
	// by zero vectors. Two centres are then at most R apart, and not 2R, so mu is half as large.
	EpsilonZeroOut float64 `json:"epsilon_zero_out"`
	// AgainstAll is the spend against all other members together, who know all the noise that is shared; nil where none
	// is, and the two are the same.
	AgainstAll *Cost `json:"against_all,omitempty"`
}

// CostOf states a spend, with epsilons at delta as [Accounting.Epsilon] returns them.
func CostOf(t Total, delta float64) Cost {
	c := costOf(t.Rho, delta)
	if t.All != t.Rho {
		all := costOf(t.All, delta)
		c.AgainstAll = &all
	}
	return c
}

// Total returns the spend that c states.
func (c Cost) Total() Total {
	if c.AgainstAll == nil {
		return Total{c.Rho, c.Rho}
	}
	return Total{c.Rho, c.AgainstAll.Rho}
}

func costOf(rho, delta float64) Cost {
	return Cost{
		Rho: rho, Mu: math.Sqrt(2 * rho), Delta: delta,
		EpsilonPaper: Paper.Epsilon(rho, delta), EpsilonZCDP: ZCDP.Epsilon(rho, delta), EpsilonGDP: GDP.Epsilon(rho, delta),
		EpsilonZeroOut: GDP.Epsilon(rho/4, delta), // half the mu is a quarter of the rho
	}
}

// verify compares a cost with what follows from a spend.
func (c Cost) verify(t Total) error {
	want := costOf(t.Rho, c.Delta)
	var wrong faults
	switch shared := t.All != t.Rho; {
	case shared && c.AgainstAll == nil:
		wrong.want(false, "field against_all is missing: noise is shared, and against all others rho is %v", t.All)
	case c.AgainstAll != nil:
		wrong.want(shared, "unknown field against_all: no noise is shared")
		wrong.want(c.AgainstAll.Delta == c.Delta, "against_all: delta is %v, and %v before", c.AgainstAll.Delta, c.Delta)
		wrong.at("against_all", c.AgainstAll.verify(Total{t.All, t.All}))
	}
	for i, f := range []struct {
		name       string
		have, want float64
	}{
		{"rho", c.Rho, want.Rho}, {"mu", c.Mu, want.Mu},
		{"epsilon_paper", c.EpsilonPaper, want.EpsilonPaper}, {"epsilon_zcdp", c.EpsilonZCDP, want.EpsilonZCDP},
		{"epsilon_gdp", c.EpsilonGDP, want.EpsilonGDP}, {"epsilon_zero_out", c.EpsilonZeroOut, want.EpsilonZeroOut},
	} {
		least := f.want
		if i > 1 { // an epsilon near 0 has fewer digits
			least -= float64(1e-11*f.want) + 1e-12
		}
		wrong.want(f.have >= least, "%s is stated as %v, and is %v", f.name, f.have, f.want)
		wrong.want(!(f.have >= least) || f.have <= f.want+float64(1e-6*f.want)+1e-12,
			"%s is stated as %v, and is only %v", f.name, f.have, f.want)
	}
	return errors.Join(wrong...)
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
	if c.AgainstAll != nil && l.EpsilonAll > 0 {
		all := Limit{Epsilon: l.EpsilonAll, Delta: l.Delta, Accounting: l.Accounting}
		return within("against_all", c.AgainstAll.withinLimit(&all))
	}
	return nil
}

// FormatEpsilon writes an epsilon with some number of decimals (at least 0), rounded up: the text is below epsilon by
// at most 1e-9 of it, which keeps a budget of 8 from being written as 8.0001. Infinity is "+Inf".
func FormatEpsilon(epsilon float64, decimals int) string {
	decimals = max(decimals, 0)
	s := strconv.FormatFloat(epsilon, 'f', decimals, 64)
	back, err := strconv.ParseFloat(s, 64)
	if err != nil || !(epsilon > 0) || !(back < epsilon*(1-1e-9)) {
		return s
	}
	return strconv.FormatFloat(back+math.Pow10(-decimals), 'f', decimals, 64)
}
