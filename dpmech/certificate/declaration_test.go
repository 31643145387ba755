package certificate

import (
	"errors"
	"math"
	"reflect"
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

// certificateOf returns a certificate that states the given number of releases in a ledger with the given declaration.
func certificateOf(t *testing.T, head Head, declared Declaration) *Certificate {
	t.Helper()
	c, err := NewComposition("d", ledgerTime, dpmech.Record, nil, declared)
	if err != nil {
		t.Fatal(err)
	}
	f, g, id := dpmech.Filter{}, dpmech.Gaussian{Clip: 1, Sigma: 20, Unit: dpmech.Record}, RunID{Run: "run", Fleet: strings.Repeat("ab", 32), Member: "a"}
	for round := 1; round <= head.Seq; round++ {
		if err := errors.Join(c.Add(id, round, g), f.Reserve(round, g)); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := New(About{RunID: id}, 1e-5, &f, c.Lifetime(head, 1e-5))
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestDeclareSpent checks that of several certificates of one ledger the one with most lines counts, that ledgers and an
// estimate add up, and that a ledger that a later one has declared is counted once.
func TestDeclareSpent(t *testing.T) {
	rho := dpmech.Gaussian{Clip: 1, Sigma: 20, Unit: dpmech.Record}.Rho()
	estimate := &dpmech.Limit{Epsilon: 2, Delta: 1e-6, Accounting: dpmech.GDP}
	most, err := dpmech.GDP.MaxRho(2, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	a3, a5 := certificateOf(t, ledgerHead("a", 3, "1"), neverUsed), certificateOf(t, ledgerHead("a", 5, "2"), neverUsed)
	first, err := DeclareSpent([]*Certificate{a3}, estimate)
	if err != nil {
		t.Fatal(err)
	}
	b4 := certificateOf(t, ledgerHead("b", 4, "3"), first)
	for name, c := range map[string]struct {
		certificates []*Certificate
		estimate     *dpmech.Limit
		want         float64
		ledgers      int
	}{
		"one":                       {[]*Certificate{a3}, nil, 3 * rho, 1},
		"twice":                     {[]*Certificate{a3, a3}, nil, 3 * rho, 1},
		"most lines, first":         {[]*Certificate{a5, a3}, nil, 5 * rho, 1},
		"most lines, last":          {[]*Certificate{a3, a5}, nil, 5 * rho, 1},
		"estimate":                  {nil, estimate, most, 0},
		"with a declared ledger":    {[]*Certificate{b4}, nil, 7*rho + most, 2},
		"the declared ledger again": {[]*Certificate{b4, a3}, nil, 7*rho + most, 2},
		"and with more lines":       {[]*Certificate{a5, b4}, estimate, 9*rho + 2*most, 2},
	} {
		d, err := DeclareSpent(c.certificates, c.estimate)
		if got := d.Total(); err != nil || got.All < c.want*(1-1e-12) || got.All > c.want*(1+1e-12) || got.Rho != got.All || len(d.Ledgers) != c.ledgers {
			t.Errorf("%s: %+v, %v, want rho %v in %d ledgers", name, d, err, c.want, c.ledgers)
		}
		if said := d.Conditions(dpmech.Record); len(said) != len(d.Ledgers)+btoi(d.Estimate != nil) || !strings.HasSuffix(said[0], " for each record") {
			t.Errorf("%s: conditions %q", name, said)
		}
	}
	for _, s := range first.Conditions(dpmech.Record) {
		if !strings.Contains(strings.Join(b4.ConditionalOn, "\n"), s) {
			t.Errorf("the certificate does not rest on %q: %q", s, b4.ConditionalOn)
		}
	}
	b4.ConditionalOn = nil
	if err := b4.Verify(); err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("without its conditions: %v", err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestDeclareSpentRefuses(t *testing.T) {
	good := certificateOf(t, ledgerHead("a", 3, "1"), neverUsed)
	bare, simulated := *good, *good
	bare.Lifetime, simulated.Simulated = nil, true
	other := certificateOf(t, ledgerHead("a", 3, "2"), neverUsed)
	var many []*Certificate
	for _, id := range "123456789" {
		many = append(many, certificateOf(t, ledgerHead(string(id), 1, "1"), neverUsed))
	}
	for want, certificates := range map[string][]*Certificate{
		"had no ledger": {&bare}, "was simulated": {&simulated}, "set back": {good, other}, "found 9 ledgers": many, "want either": nil,
	} {
		if d, err := DeclareSpent(certificates, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v, want %q", d, err, want)
		}
	}
	for want, l := range map[string]*dpmech.Limit{"epsilon is -1": {Epsilon: -1, Delta: 1e-5}, "delta is 2": {Epsilon: 1, Delta: 2},
		"epsilon_all is 3": {Epsilon: 1, EpsilonAll: 3, Delta: 1e-5}} {
		if d, err := DeclareSpent(nil, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v, want %q", d, err, want)
		}
	}
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

// TestDeclarationIsCopied checks that a composition and its lifetimes do not share memory with the caller's declaration.
func TestDeclarationIsCopied(t *testing.T) {
	d := Declaration{Ledgers: []EarlierLedger{{ledgerHead("a", 1, "1"), Amount{Rho: 1, All: 1}}}, Estimate: &dpmech.Limit{Epsilon: 1, Delta: 1e-5}}
	want := d.clone()
	c, err := NewComposition("d", ledgerTime, dpmech.Client, nil, d)
	if err != nil {
		t.Fatal(err)
	}
	d.Ledgers[0].Rho, d.Estimate.Epsilon = 0, 9
	life := c.Lifetime(ledgerHead("b", 0, "0"), 1e-5)
	life.Declared.Ledgers[0].Rho, life.Declared.Estimate.Epsilon = 0, 9
	if got := c.Lifetime(ledgerHead("b", 0, "0"), 1e-5).Declared; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func mostRounds(c *Composition, g dpmech.Gaussian) int {
	id := RunID{Run: "next", Fleet: strings.Repeat("ab", 32), Member: "a"}
	return sort.Search(1<<20, func(n int) bool { return c.CheckRun(id, n+1, g) != nil })
}
