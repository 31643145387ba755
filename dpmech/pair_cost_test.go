package dpmech

import (
	"errors"
	"math"
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

// TestLeft checks that Left never returns a larger budget against the named adversary than against all other members.
// If it is unknown which adversary a total names, Figures must return the name WeakestNamed.
func TestLeft(t *testing.T) {
	l := &Limit{Epsilon: 8, Delta: 1e-5}
	spent := shared.Total(5)
	if left := l.Left(spent); !math.IsInf(left.All, 1) || GDP.Epsilon(left.Rho+spent.Rho, 1e-5) > 8 {
		t.Errorf("%+v", left)
	}
	if left := l.Lifelong().Left(spent); left.Rho != left.All || GDP.Epsilon(left.All+spent.All, 1e-5) > 8 ||
		left.Figures()[0].Adversary != Everybody {
		t.Errorf("%+v", left)
	}
	if left := (*Limit)(nil).Left(spent); !math.IsInf(left.Rho, 1) || !math.IsInf(left.All, 1) {
		t.Errorf("%+v", left)
	}
	if got := (Total{Rho: 1, All: 2}).Figures(); got[0].Adversary != WeakestNamed || got[1] != (Figure{AllOthers, 2}) {
		t.Errorf("%+v", got)
	}
}
