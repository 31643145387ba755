package dpmech

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrBudget is wrapped by the error for a release that the budget does not cover.
var ErrBudget = errors.New("refused, because the privacy budget would be exceeded")

// Limit is a privacy budget: epsilon at delta, computed with Accounting. Epsilon bounds the cost against the adversary
// that the fleet names, see [Total]; in a limit for a lifetime (see [Composition]), the weakest adversary that any run
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

// Validate returns an error that names each field whose value is out of range. A nil limit is valid.
func (l *Limit) Validate() error {
	if l == nil {
		return nil
	}
	var f faults
	f.want(l.Epsilon > 0 && l.Epsilon <= 1e6, "epsilon is %v, want more than 0 and at most 1e6", l.Epsilon)
	f.want(l.EpsilonAll == 0 || l.EpsilonAll >= l.Epsilon && l.EpsilonAll <= 1e6,
		"epsilon against all is %v, want 0 (no limit) or epsilon (%v) to 1e6", l.EpsilonAll, l.Epsilon)
	_, err := l.Accounting.MarshalText()
	return errors.Join(append(f, validateDelta(l.Delta), err)...)
}

func validateDelta(delta float64) error {
	if !(delta >= leastDelta && delta < 1) {
		return fmt.Errorf("dpmech: delta is %v, want 2^-1022 or more and less than 1", delta)
	}
	return nil
}

// clone returns a copy of l, or nil if l is nil.
func (l *Limit) clone() *Limit {
	if l == nil {
		return nil
	}
	own := *l
	return &own
}

// lifelong returns a copy of l for a lifetime. If EpsilonAll is 0, the copy has the value of Epsilon instead.
func (l *Limit) lifelong() *Limit {
	l = l.clone()
	if l != nil && l.EpsilonAll == 0 {
		l.EpsilonAll = l.Epsilon
	}
	return l
}

// Left returns the budget that remains. The parameter spent is the total cost of the releases so far. The result has
// two numbers in zCDP, one for each of the two adversaries of a [Total]; both are infinite if l is nil.
func (l *Limit) Left(spent Total) Total {
	left := Total{Rho: math.Inf(1), All: math.Inf(1), weakest: spent.weakest}
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

// ErrUnit is wrapped by the error for a cost that cannot be added to others, because it is for another unit.
var ErrUnit = errors.New("costs for different units do not add up")

// allows returns an error that wraps ErrBudget if the requested release would exceed the limit or maxSpend. The
// parameters before and after are the totals without and with this release; the error states both.
func (l *Limit) allows(before, after Total, what string) error {
	if err := bounded(after.All); err != nil {
		return within(what, err)
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

// covers performs the check of allows for a single cost in zCDP. limit is the maximum epsilon.
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

// Filter counts the releases of one run. It refuses a release that would exceed the run's limit. The clip and noise of
// a round may depend on all earlier releases (Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive composition in
// differential privacy", ICML 2023; Smith and Thakurta, arXiv 2210.17520). It is not safe for concurrent use.
type Filter struct {
	limit  *Limit
	spends []Spend
}

// NewFilter returns an empty filter. With a nil limit, the filter counts releases but never refuses one.
func NewFilter(limit *Limit) (*Filter, error) {
	if limit != nil { // the limit must allow at least one release
		if _, err := limit.Accounting.MaxRho(limit.Epsilon, limit.Delta); err != nil {
			return nil, err
		}
	}
	return &Filter{limit: limit.clone()}, nil
}

// Reserve counts the release of a round, numbered from 1, before its noise is drawn. Reserving a counted round again
// costs nothing, but its parameters must be the same. Skipped rounds cannot be reserved later. If the release would
// exceed the limit, the error wraps [ErrBudget]. After any error, nothing is counted, and nothing may be released.
func (f *Filter) Reserve(round int, g Gaussian) error {
	known, err := f.check(round, g)
	if err == nil && !known {
		f.add(round, g)
	}
	return err
}

// Check returns the error that Reserve would return, without counting the release.
func (f *Filter) Check(round int, g Gaussian) error {
	_, err := f.check(round, g)
	return err
}

// check reports whether the release is already counted. It returns an error if the release cannot be counted.
func (f *Filter) check(round int, g Gaussian) (known bool, err error) {
	if round < 1 || round > maxRound {
		return false, fmt.Errorf("dpmech: round is %d, want 1..%d", round, maxRound)
	}
	if err := g.Validate(); err != nil {
		return false, err
	}
	if round <= f.Last() {
		i, _ := slices.BinarySearchFunc(f.spends, round, func(s Spend, round int) int { return s.last() - round })
		switch s := f.spends[i]; {
		case round < s.First:
			return false, fmt.Errorf("dpmech: round %d was skipped and cannot be reserved after round %d", round, f.Last())
		case s.Gaussian != g:
			return false, fmt.Errorf("dpmech: round %d is reserved with %v and cannot be reserved again with %v",
				round, s.Gaussian, g)
		}
		return true, nil
	}
	if len(f.spends) > 0 && g.Unit != f.spends[0].Unit {
		return false, fmt.Errorf("dpmech: round %d: %w: the run protects each %v, and this release each %v", round, ErrUnit,
			f.spends[0].Unit, g.Unit)
	}
	return false, f.limit.allows(f.Total(), f.totalWith(round, g), fmt.Sprintf("round %d", round))
}

// totalWith returns the total including one more release.
func (f *Filter) totalWith(round int, g Gaussian) Total {
	with := Filter{spends: slices.Clone(f.spends)}
	with.add(round, g)
	return with.Total()
}

// add counts a release. It extends the last element of f.spends if the release continues this element; otherwise it
// appends a new element.
func (f *Filter) add(round int, g Gaussian) {
	if n := len(f.spends); n > 0 {
		if last := &f.spends[n-1]; round == last.last()+1 && g == last.Gaussian {
			last.Rounds++
			return
		}
	}
	f.spends = append(f.spends, Spend{round, 1, g})
}

// Total returns the cost of all counted releases, in zCDP, rounded up.
func (f *Filter) Total() Total { return sumSpends(f.spends) }

// Last returns the highest counted round, or 0 if no round is counted.
func (f *Filter) Last() int {
	if len(f.spends) == 0 {
		return 0
	}
	return f.spends[len(f.spends)-1].last()
}

// Spends returns a copy of the counted releases, in order of rounds.
func (f *Filter) Spends() []Spend { return slices.Clone(f.spends) }

// Limit returns a copy of the limit, or nil without a limit.
func (f *Filter) Limit() *Limit { return f.limit.clone() }

type filterState struct {
	Version int     `json:"version"`
	Limit   *Limit  `json:"limit"`
	Spends  []Spend `json:"releases"`
}

// State returns the filter as compact JSON for [LoadFilter]: about 100 bytes, plus at most 90 bytes for each change in
// parameters. Equal filters have equal states.
func (f *Filter) State() []byte {
	state, err := json.Marshal(filterState{Version: 1, Limit: f.limit, Spends: append([]Spend{}, f.spends...)})
	if err != nil {
		panic(err) // cannot fail: the numbers in a filter are finite
	}
	return state
}

// LoadFilter returns the filter with the given state, which must be exactly as returned by State, byte for byte.
func LoadFilter(state []byte) (*Filter, error) {
	var s filterState
	if err := ReadJSON(state, &s); err != nil {
		return nil, within("filter state", err)
	}
	wrong := faults{validateSpends(s.Spends), s.Limit.Validate()}
	wrong.want(s.Version == 1, "version is %d, want 1", s.Version)
	if err := errors.Join(wrong...); err != nil {
		return nil, within("filter state", err)
	}
	f := &Filter{limit: s.Limit, spends: s.Spends}
	if !bytes.Equal(f.State(), state) {
		return nil, fmt.Errorf("dpmech: filter state: the %d bytes are damaged, or were not written by State", len(state))
	}
	return f, nil
}
