package dpmech

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Spends are the releases of a run, in order of rounds. A new element begins only where parameters change or rounds are
// skipped.
type Spends []Spend

// With returns the list with the release of a round, numbered from 1, added to it. Call it before the noise is drawn. If
// the list already has a release of that round, With returns the list unchanged, at no cost, but the parameters must be the
// same. Skipped rounds cannot be added later. If the release would exceed the limit, the error wraps [ErrBudget]. After any error, nothing may be released.
//
// The clip and noise of a round may depend on all earlier releases (Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive
// composition in differential privacy", ICML 2023; Smith and Thakurta, arXiv 2210.17520).
func (list Spends) With(round int, g Gaussian, limit *Limit) (Spends, error) {
	if round < 1 || round > maxRound {
		return nil, fmt.Errorf("dpmech: round is %d, want 1..%d", round, maxRound)
	}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if round <= list.Last() {
		i := sort.Search(len(list), func(i int) bool { return list[i].Last() >= round })
		switch s := list[i]; {
		case round < s.First:
			return nil, fmt.Errorf("dpmech: round %d was skipped and cannot be reserved after round %d", round, list.Last())
		case s.Gaussian != g:
			return nil, fmt.Errorf("dpmech: round %d is reserved with %v and cannot be reserved again with %v",
				round, s.Gaussian, g)
		}
		return list, nil
	}
	if len(list) > 0 && g.Unit != list.Unit() {
		return nil, fmt.Errorf("dpmech: round %d: %w: the run protects each %v, and this release each %v", round, ErrUnit,
			list.Unit(), g.Unit)
	}
	with := append(slices.Clone(list), Spend{round, 1, g})
	if n := len(list); n > 0 && round == list.Last()+1 && g == list[n-1].Gaussian {
		with = with[:n]
		with[n-1].Rounds++
	}
	if err := limit.Allows(list.Total(), with.Total(), fmt.Sprintf("round %d", round)); err != nil {
		return nil, err
	}
	return with, nil
}

// Validate returns an error unless the elements are in order of rounds, and a new element begins only where parameters
// change or rounds are skipped, as in a result of [Spends.With].
func (list Spends) Validate() error {
	var f faults.List
	for i, s := range list {
		err := s.Validate()
		if err == nil && i > 0 && len(f) == 0 {
			switch before := list[i-1]; {
			case s.First <= before.Last():
				err = fmt.Errorf("dpmech: first round is %d, want a round after %d", s.First, before.Last())
			case s.Unit != before.Unit:
				err = fmt.Errorf("dpmech: unit is %v, want %v: a run protects one unit", s.Unit, before.Unit)
			case s.First == before.Last()+1 && s.Gaussian == before.Gaussian:
				err = errors.New("dpmech: the entry has the same parameters as the entry just before it, want a " +
					"single entry for both")
			}
		}
		if err != nil {
			f.At(fmt.Sprintf("releases[%d]", i), err)
		}
	}
	if len(f) > 0 {
		return errors.Join(f...)
	}
	return bounded(list.Total().All)
}

// Total returns the cost of all releases, rounded up.
func (list Spends) Total() (sum Total) {
	for _, s := range list {
		sum = sum.Plus(s.Total())
	}
	return sum
}

// Rounds returns the number of releases.
func (list Spends) Rounds() (n int) {
	for _, s := range list {
		n += s.Rounds
	}
	return n
}

// Last returns the highest round, or 0 if there are no releases.
func (list Spends) Last() int {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].Last()
}

// Unit returns the unit that all releases protect: Client if there are none.
func (list Spends) Unit() Unit {
	if len(list) == 0 {
		return Client
	}
	return list[0].Unit
}
