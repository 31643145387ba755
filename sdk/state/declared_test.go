package state

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

var spentBefore = certificate.Declaration{
	Ledgers:  []certificate.EarlierLedger{{Ledger: certificate.Head{ID: strings.Repeat("a", 32), Seq: 9, Hash: strings.Repeat("1", 64)}, Amount: certificate.Amount{Rho: 0.5, All: 0.5}}},
	Estimate: &dpmech.Limit{Epsilon: 1, Delta: 1e-5},
	Ends:     "2027-12-31", Note: "ethics board, 12 May: two years",
}

// TestLedgerEnds checks that a ledger refuses a start after its last day and before its own creation, and accepts all others.
func TestLedgerEnds(t *testing.T) {
	day := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		must(t, err)
		return at
	}
	for _, ends := range []string{"2999-12-31", ""} {
		l, err := CreateLedger(filepath.Join(t.TempDir(), "x"), "x", dpmech.Client, nil, certificate.Declaration{NeverUsed: true, Ends: ends, Note: "why"})
		must(t, err)
		defer l.Close()
		for at, want := range map[string]string{
			"2020-01-01T00:00:00Z": "and the clock of this device shows 2020-01-01T00:00:00Z: set the clock",
			"2999-12-31T23:59:59Z": "", "3000-01-01T01:00:00+02:00": "",
			"3000-01-01T00:00:00Z": "ended with 2999-12-31, as its owner declared (why): no run may use this data any more",
		} {
			if ends == "" && strings.HasPrefix(want, "ended") {
				want = ""
			}
			if err := l.CheckTime(day(at)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("end %q, at %s: %v, want %q", ends, at, err, want)
			}
		}
	}
	if _, err := CreateLedger(filepath.Join(t.TempDir(), "x"), "x", dpmech.Client, nil, certificate.Declaration{NeverUsed: true, Ends: "soon"}); err == nil {
		t.Error("a ledger that ends soon")
	}
}

// TestDeclaredIsKept checks that a ledger keeps its declaration, counts it in its lifetime, and that a certificate that
// understates it contradicts the ledger.
func TestDeclaredIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if _, err := CreateLedger(path, "x", dpmech.Client, limitOf(0.9, 1e-5, dpmech.GDP), spentBefore); !errors.Is(err, dpmech.ErrBudget) {
		t.Errorf("above the limit: %v", err)
	}
	l, err := CreateLedger(path, "x", dpmech.Client, nil, spentBefore) // nothing is left of the attempt
	must(t, err)
	reserve(t, l, "run", 1, 3)
	must(t, l.Close())
	if l, err = OpenLedger(path); err != nil || !reflect.DeepEqual(l.Declared(), spentBefore) {
		t.Fatalf("%+v, %v", l.Declared(), err)
	}
	defer l.Close()
	declared := l.Declared()
	own := noisy.Total(3).All
	for _, understated := range []bool{false, true} {
		life := l.Lifetime(1e-5)
		if want := own + declared.Total().All; life.Rho < want || life.Rho > want*(1+1e-12) {
			t.Errorf("rho is %v, want %v", life.Rho, want)
		}
		if understated {
			life.Declared.Ledgers = slices.Clone(life.Declared.Ledgers)
			life.Declared.Ledgers[0].Rho, life.Declared.Ledgers[0].All = 0, 0
			life.Cost = certificate.CostOf(life.Total(), 1e-5)
		}
		c, err := certificate.New(certificate.About{RunID: life.Runs[0].RunID}, 1e-5, dpmech.Spends{{First: 1, Rounds: 3, Gaussian: noisy}}, nil, life)
		must(t, err)
		if err := l.Verify(c); (err == nil) != !understated {
			t.Errorf("understated %v: %v", understated, err)
		}
	}
}
