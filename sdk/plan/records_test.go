package plan

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

func TestChoicesForRecords(t *testing.T) {
	for dim, want := range map[int]int{1: 16, 8: 16, 9: 32, 11: 32, 16: 32, 17: 64, 39: 64, 1 << 20: 64} {
		if got := RecordTau(dim); got != want {
			t.Errorf("%d queries for %d parameters, want %d", got, dim, want)
		}
	}
	for signal, want := range map[float64]float64{0: 2, 8: 2, 20: 10, 100: 50} {
		if got := recordFar(signal); got != want {
			t.Errorf("far is %v for signal %v, want %v", got, signal, want)
		}
	}
	if r := recordRadius(recordMu(33, false), 33); math.Abs(r-1.0/15) > 1e-12 || recordMu(33, true) != 2*recordMu(33, false) {
		t.Errorf("radius %v, want a fifteenth of what a query moves a score", r)
	}
	// At equal privacy cost the last argument is proportional to 1/sqrt(rounds), so the signal does not depend on the
	// number of rounds.
	if a, b := recordSignal(170, 4, 33, 10, 0.042), recordSignal(170, 4, 33, 40, 0.021); math.Abs(a-b) > 1e-9*a || a < 7 || a > 9 {
		t.Errorf("signals %v and %v, want the same", a, b)
	}
}

// TestRoundsOfRareEvents checks that with rare events a weak signal, and no other, leads to fewer rounds, unless they are
// given, and that the rounds spend the budget.
func TestRoundsOfRareEvents(t *testing.T) {
	for _, c := range []struct {
		epsilon     float64
		given, want int
		rare        bool
	}{{1, 0, 10, false}, {1, 0, 6, true}, {1, 12, 12, true}, {2.5, 0, 10, true}, {8, 0, 20, true}} {
		k := Known{Dim: 44, Samples: []int{248, 156, 164, 129, 129, 40}, Open: true, Columns: true, Rare: c.rare,
			Method: sdk.Method{Rounds: c.given}, Privacy: sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: c.epsilon, Delta: 1e-4}}
		m, p, err := Suggest(k)
		if err != nil || m.Rounds != c.want {
			t.Errorf("%+v: found %d rounds, %v", c, m.Rounds, err)
		}
		if spent := p.Accounting.Epsilon(p.Gaussian().Total(m.Rounds).Rho, p.Delta); spent > c.epsilon || spent < 0.999*c.epsilon {
			t.Errorf("%+v: the rounds spend %v", c, spent)
		}
	}
}
