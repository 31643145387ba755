package certificate

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Cost states the privacy cost of releases against one adversary in zCDP, in GDP, and as the epsilon of each
// [dpmech.Accounting]; see [dpmech.Total.Figures].
type Cost struct {
	Adversary string `json:"adversary"`

	Rho          float64 `json:"rho"`   // zCDP
	Mu           float64 `json:"mu"`    // GDP, sqrt(2 rho)
	Delta        float64 `json:"delta"` // the delta at which the epsilons hold
	EpsilonPaper float64 `json:"epsilon_paper"`
	EpsilonZCDP  float64 `json:"epsilon_zcdp"`
	EpsilonGDP   float64 `json:"epsilon_gdp"`
	// EpsilonZeroOut is EpsilonGDP under zero-out adjacency, which replaces a client's updates with zero vectors. The
	// distance between two clipped updates is then at most R instead of 2R, which halves mu.
	EpsilonZeroOut float64 `json:"epsilon_zero_out"`
	// AgainstAll is the cost against [dpmech.AllOthers], who know all pairwise noise. It is nil if this cost equals the cost
	// against Adversary.
	AgainstAll *Cost `json:"against_all,omitempty"`
}

// CostOf returns all forms of the total t. Its epsilons are for delta, see [dpmech.Accounting.Epsilon].
func CostOf(t dpmech.Total, delta float64) Cost {
	list := t.Figures()
	c := costOf(list[0], delta)
	if len(list) > 1 {
		all := costOf(list[1], delta)
		c.AgainstAll = &all
	}
	return c
}

func costOf(f dpmech.Figure, delta float64) Cost {
	rho := f.Rho
	return Cost{
		Adversary: f.Adversary, Rho: rho, Mu: math.Sqrt(2 * rho), Delta: delta,
		EpsilonPaper: dpmech.Paper.Epsilon(rho, delta), EpsilonZCDP: dpmech.ZCDP.Epsilon(rho, delta), EpsilonGDP: dpmech.GDP.Epsilon(rho, delta),
		EpsilonZeroOut: dpmech.GDP.Epsilon(rho/4, delta), // half of mu is a quarter of rho
	}
}

// verify returns an error unless the cost matches the total t.
func (c Cost) verify(t dpmech.Total) error {
	list := t.Figures()
	wrong := faults.List{c.verifyFigure(list[0])}
	switch {
	case c.AgainstAll == nil:
		wrong.Want(len(list) == 1, "field against_all is missing: with pairwise noise, rho against all other members is %v", t.All)
	case len(list) == 1:
		wrong.Want(false, "unknown field against_all: the releases have no pairwise noise")
	default:
		wrong.Want(c.AgainstAll.Delta == c.Delta, "against_all: delta is %v, want %v", c.AgainstAll.Delta, c.Delta)
		wrong.Want(c.AgainstAll.AgainstAll == nil, "against_all: unknown field against_all")
		wrong.At("against_all", c.AgainstAll.verifyFigure(list[1]))
	}
	return errors.Join(wrong...)
}

// verifyFigure is like verify, but for the cost against one adversary; it ignores AgainstAll.
func (c Cost) verifyFigure(figure dpmech.Figure) error {
	want := costOf(figure, c.Delta)
	var wrong faults.List
	wrong.Want(c.Adversary == want.Adversary, "adversary is %q, want %q", c.Adversary, want.Adversary)
	for i, f := range []struct {
		name       string
		have, want float64
	}{
		{"rho", c.Rho, want.Rho}, {"mu", c.Mu, want.Mu},
		{"epsilon_paper", c.EpsilonPaper, want.EpsilonPaper}, {"epsilon_zcdp", c.EpsilonZCDP, want.EpsilonZCDP},
		{"epsilon_gdp", c.EpsilonGDP, want.EpsilonGDP}, {"epsilon_zero_out", c.EpsilonZeroOut, want.EpsilonZeroOut},
	} {
		least := f.want
		if i > 1 { // an epsilon near 0 has a larger relative error
			least -= float64(1e-11*f.want) + 1e-12
		}
		wrong.Want(f.have >= least, "%s is stated as %v, want %v", f.name, f.have, f.want)
		wrong.Want(!(f.have >= least) || f.have <= f.want+float64(1e-6*f.want)+1e-12,
			"%s is stated as %v, want only %v", f.name, f.have, f.want)
	}
	return errors.Join(wrong...)
}

func (c Cost) withinLimit(l *dpmech.Limit) error {
	if l == nil {
		return nil
	}
	if err := l.Validate(); err != nil {
		return faults.Within("limit", err)
	}
	if eps := l.Accounting.Epsilon(c.Rho, l.Delta); eps > l.Epsilon*(1+1e-11) {
		return fmt.Errorf("dpmech: limit: epsilon with %v accounting is %v at delta %v, want at most %v",
			l.Accounting, eps, l.Delta, l.Epsilon)
	}
	if c.AgainstAll != nil && l.EpsilonAll > 0 {
		return faults.Within("against_all", c.AgainstAll.withinLimit(&dpmech.Limit{Epsilon: l.EpsilonAll, Delta: l.Delta, Accounting: l.Accounting}))
	}
	return nil
}
