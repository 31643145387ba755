package dpmech

import (
	"fmt"
	"slices"
)

// Filter counts the releases of one run. It refuses a release that would exceed the run's limit. The clip and noise of
// a round may depend on all earlier releases (Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive composition in
// differential privacy", ICML 2023; Smith and Thakurta, arXiv 2210.17520). It is not safe for concurrent use.
type Filter struct {
	limit  *Limit
	spends Spends
}

// NewFilter returns an empty filter, which keeps the limit. With a nil limit, it counts releases but never refuses one.
func NewFilter(limit *Limit) (*Filter, error) {
	if limit != nil { // the limit must allow at least one release
		if _, err := limit.Accounting.MaxRho(limit.Epsilon, limit.Delta); err != nil {
			return nil, err
		}
	}
	return &Filter{limit: limit}, nil
}

// Resume returns a filter that has counted the given releases, which must be valid. It copies them, and keeps the limit.
func Resume(limit *Limit, spends Spends) *Filter {
	return &Filter{limit: limit, spends: slices.Clone(spends)}
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
		i, _ := slices.BinarySearchFunc(f.spends, round, func(s Spend, round int) int { return s.Last() - round })
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
	return false, f.limit.Allows(f.Total(), f.totalWith(round, g), fmt.Sprintf("round %d", round))
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
		if last := &f.spends[n-1]; round == last.Last()+1 && g == last.Gaussian {
			last.Rounds++
			return
		}
	}
	f.spends = append(f.spends, Spend{round, 1, g})
}

// Total returns the cost of all counted releases, in zCDP, rounded up.
func (f *Filter) Total() Total { return f.spends.Total() }

// Last returns the highest counted round, or 0 if no round is counted.
func (f *Filter) Last() int { return f.spends.Last() }

// Spends returns a copy of the counted releases, in order of rounds.
func (f *Filter) Spends() Spends { return slices.Clone(f.spends) }

// Limit returns the limit, which must not be changed, or nil without a limit.
func (f *Filter) Limit() *Limit { return f.limit }
