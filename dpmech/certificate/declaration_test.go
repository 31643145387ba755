package certificate

import (
	"errors"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

var neverUsed = Declaration{NeverUsed: true}

const ledgerTime = "2025-01-02T03:04:05Z"

func ledgerHead(id string, seq int, hash string) Head {
	return Head{strings.Repeat(id, 32), seq, strings.Repeat(hash, 64)}
}

// TestDeclarationRefuses checks declarations that contradict themselves.
func TestDeclarationRefuses(t *testing.T) {
	both := Declaration{NeverUsed: true, Estimate: &dpmech.Limit{Epsilon: 1, Delta: 1e-5}}
	if err := both.Validate(); err == nil {
		t.Error("never used and an estimate")
	}
	twice := Declaration{Ledgers: []EarlierLedger{{Ledger: ledgerHead("a", 1, "1")}, {Ledger: ledgerHead("a", 2, "2")}}}
	if err := twice.Validate(); err == nil {
		t.Error("a ledger that counts twice")
	}
}

// TestDeclaredCountsInTheLimit checks that the declared cost uses up the limit, and that a ledger whose limit does not cover
// it cannot be made.
func TestDeclaredCountsInTheLimit(t *testing.T) {
	limit := &dpmech.Limit{Epsilon: 8, Delta: 1e-5, Accounting: dpmech.GDP}
	g := dpmech.Gaussian{Clip: 1, Sigma: 40}
	room := func(d Declaration) int {
		c, err := NewComposition("d", ledgerTime, dpmech.Client, limit, d)
		if err != nil {
			t.Fatal(err)
		}
		return mostRounds(c, g)
	}
	half := Declaration{Estimate: &dpmech.Limit{Epsilon: 5, Delta: 1e-5, Accounting: dpmech.GDP}}
	spent := int(math.Ceil(half.Total().All / g.Rho()))
	if with, without := room(half), room(neverUsed); without-with < spent-1 || without-with > spent+1 {
		t.Errorf("%d releases fit, %d without the declared cost of %d", with, without, spent)
	}
	much := Declaration{Estimate: &dpmech.Limit{Epsilon: 8.01, Delta: 1e-5, Accounting: dpmech.GDP}}
	if _, err := NewComposition("d", ledgerTime, dpmech.Client, limit, much); !errors.Is(err, dpmech.ErrBudget) {
		t.Errorf("too much: %v", err)
	}
}

func mostRounds(c *Composition, g dpmech.Gaussian) int {
	id := RunID{Run: "next", Fleet: strings.Repeat("ab", 32), Member: "a"}
	return sort.Search(1<<20, func(n int) bool { return c.CheckRun(id, n+1, g) != nil })
}
