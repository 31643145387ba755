package dpmech

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// ErrBudget is wrapped by the error for a release that the budget does not cover.
var ErrBudget = errors.New("refused, because the privacy budget would be exceeded")

// Limit is a privacy budget: epsilon at delta, computed with Accounting. Epsilon bounds the cost against the adversary
// that the fleet names, see [Total]; in a limit for a lifetime (of all runs on a data set), the weakest adversary that any run
// names.
type Limit struct {
	Epsilon    float64    `json:"epsilon"` // more than 0, at most 1e6
	Delta      float64    `json:"delta"`   // between 0 and 1
	Accounting Accounting `json:"accounting"`
	// EpsilonAll bounds the cost against all other members together. For a run, 0 means that there is no such bound;
	// for a lifetime, 0 means the value of Epsilon.
	EpsilonAll float64 `json:"epsilon_all,omitempty"`
}

// String describes the limit in words, with its adversary if the limit names one.
func (l Limit) String() string {
	text := fmt.Sprintf("epsilon %v at delta %v (%v)", l.Epsilon, l.Delta, l.Accounting)
	switch l.EpsilonAll {
	case 0:
		return text
	case l.Epsilon:
		return text + " against " + AllOthers
	}
	return fmt.Sprintf("%s against %s, and %v against %s", text, WeakestNamed, l.EpsilonAll, AllOthers)
}

// Validate returns an error that names each field whose value is out of range, or an error if the limit is too small for
// any release. A nil limit is valid.
func (l *Limit) Validate() error {
	if l == nil {
		return nil
	}
	f := faults.List{l.Accounting.allows(l.Epsilon, l.Delta)}
	f.Want(l.EpsilonAll == 0 || l.EpsilonAll >= l.Epsilon && l.EpsilonAll <= mostEpsilon,
		"epsilon against all is %v, want 0 (no limit) or epsilon (%v) to 1e6", l.EpsilonAll, l.Epsilon)
	return errors.Join(f...)
}

const mostEpsilon = 1e6 // largest epsilon of a limit

// CheckDelta returns an error if delta is not in range.
func CheckDelta(delta float64) error {
	if !(delta >= leastDelta && delta < 1) {
		return fmt.Errorf("dpmech: delta is %v, want 2^-1022 or more and less than 1", delta)
	}
	return nil
}

// Lifelong returns the limit for a lifetime: l, or a copy whose EpsilonAll is Epsilon if l has none.
func (l *Limit) Lifelong() *Limit {
	if l == nil || l.EpsilonAll != 0 {
		return l
	}
	whole := *l
	whole.EpsilonAll = l.Epsilon
	return &whole
}

// ErrUnit is wrapped by the error for a cost that cannot be added to others, because it is for another unit.
var ErrUnit = errors.New("costs for different units do not add up")

// Allows returns an error that wraps [ErrBudget] if a release would exceed the limit, and an error if it would exceed
// [MaxTotal]. The parameters before and after are the totals without and with this release, and what names it; the error
// states all three. A nil limit is no limit.
func (l *Limit) Allows(before, after Total, what string) error {
	if err := bounded(after.All); err != nil {
		return faults.Within(what, err)
	}
	if l == nil {
		return nil
	}
	figures := after.Figures()
	if len(figures) == 1 {
		return l.covers(l.Epsilon, before.Rho, after.Rho, what)
	}
	err := l.covers(l.Epsilon, before.Rho, after.Rho, what+", against "+figures[0].Adversary)
	if err == nil && l.EpsilonAll > 0 {
		err = l.covers(l.EpsilonAll, before.All, after.All, what+", against "+figures[1].Adversary)
	}
	return err
}

// covers performs the check of Allows for a single cost in zCDP. limit is the maximum epsilon.
func (l *Limit) covers(limit, before, after float64, what string) error {
	if l.Accounting.Epsilon(after, l.Delta) <= limit {
		return nil
	}
	most, _ := l.Accounting.MaxRho(limit, l.Delta)
	epsilon := func(rho float64) string { return FormatEpsilon(l.Accounting.Epsilon(rho, l.Delta), 4) }
	return fmt.Errorf("dpmech: %s: %w: the total cost would rise from rho %.6g (epsilon %s) to rho %.6g (epsilon "+
		"%s); the limit is rho %.6g (epsilon %v with %v accounting at delta %v)",
		what, ErrBudget, before, epsilon(before), after, epsilon(after), most, limit, l.Accounting, l.Delta)
}
