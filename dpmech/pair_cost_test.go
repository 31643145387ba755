package dpmech

import (
	"errors"
	"strings"
	"testing"
)

// shared holds the parameters of a release whose cost against the named adversary is a quarter of its cost against all
// other members.
var shared = Gaussian{Clip: 1, Sigma: 8, Shared: Shared{Sigma: 32, Effective: 16, Colluders: 1}}

// TestFilterHasTwoLimits checks that Epsilon limits the cost against the named adversary, and EpsilonAll the cost
// against all other members together.
func TestFilterHasTwoLimits(t *testing.T) {
	total := shared.Total(10)
	both := Limit{
		Epsilon: GDP.Epsilon(total.Rho, 1e-5), Delta: 1e-5, Accounting: GDP, EpsilonAll: GDP.Epsilon(total.All, 1e-5),
	}
	first, second := both, both
	first.EpsilonAll, second.Epsilon = 0, both.EpsilonAll/2
	for name, l := range map[string]Limit{"both": both, "the first": first, "the second": second} {
		f := &filter{limit: &l}
		for round := 1; round <= 10; round++ {
			if err := f.Reserve(round, shared); err != nil {
				t.Fatalf("%s: round %d: %v", name, round, err)
			}
		}
		err := f.Reserve(11, shared)
		if all := strings.Contains(err.Error(), "all other members together"); !errors.Is(err, ErrBudget) ||
			all != (name == "the second") {
			t.Errorf("%s: %v", name, err)
		}
		if f.Total() != total {
			t.Errorf("%s: spent %v, want %v", name, f.Total(), total)
		}
	}
}

// TestUnknownAdversary checks that Figures returns the name WeakestNamed if it is unknown which adversary a total names.
func TestUnknownAdversary(t *testing.T) {
	if got := (Total{Rho: 1, All: 2}).Figures(); got[0].Adversary != WeakestNamed || got[1] != (Figure{AllOthers, 2}) {
		t.Errorf("%+v", got)
	}
}
