package state

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

var spentBefore = certificate.Declaration{
	Ledgers:  []certificate.EarlierLedger{{Ledger: certificate.Head{ID: strings.Repeat("a", 32), Seq: 9, Hash: strings.Repeat("1", 64)}, Amount: certificate.Amount{Rho: 0.5, All: 0.5}}},
	Estimate: &dpmech.Limit{Epsilon: 1, Delta: 1e-5},
}

// TestDeclaredIsKept checks that a ledger keeps its declaration, counts it in its lifetime, and that a certificate that
// understates it contradicts the ledger.
func TestDeclaredIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	l, err := CreateLedger(path, "x", dpmech.Client, nil, spentBefore)
	if err != nil {
		t.Fatal(err)
	}
	reserve(t, l, "run", 1, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = OpenLedger(path); err != nil || !reflect.DeepEqual(l.Declared(), spentBefore) {
		t.Fatalf("%+v, %v", l.Declared(), err)
	}
	defer l.Close()
	declared, f := l.Declared(), dpmech.Filter{}
	for round := 1; round <= 3; round++ {
		if err := f.Reserve(round, noisy); err != nil {
			t.Fatal(err)
		}
	}
	own := noisy.Total(3).All
	for _, understated := range []bool{false, true} {
		life := l.Lifetime(1e-5)
		if want := own + declared.Total().All; life.Rho < want || life.Rho > want*(1+1e-12) {
			t.Errorf("rho is %v, want %v", life.Rho, want)
		}
		if understated {
			life.Declared.Ledgers[0].Rho, life.Declared.Ledgers[0].All = 0, 0
			life.Cost = certificate.CostOf(life.Total(), 1e-5)
		}
		c, err := certificate.New(certificate.About{RunID: life.Runs[0].RunID}, 1e-5, &f, life)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Verify(c); (err == nil) != !understated {
			t.Errorf("understated %v: %v", understated, err)
		}
	}
}

// TestNewLedgerNeedsDeclaration checks that no ledger begins without a declaration, or with more than its limit covers, and
// that nothing is left of an attempt.
func TestNewLedgerNeedsDeclaration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if _, err := CreateLedger(path, "x", dpmech.Client, nil, certificate.Declaration{}); err == nil || !strings.Contains(err.Error(), "want either never_used") {
		t.Errorf("without a declaration: %v", err)
	}
	if _, err := CreateLedger(path, "x", dpmech.Client, limitOf(0.9, 1e-5, dpmech.GDP), spentBefore); !errors.Is(err, dpmech.ErrBudget) {
		t.Errorf("above the limit: %v", err)
	}
	for _, name := range []string{"", "a\x00b"} {
		if _, err := CreateLedger(path, name, dpmech.Client, nil, NeverUsed); err == nil {
			t.Errorf("data set %q was accepted", name)
		}
	}
	if _, err := CreateLedger(path, "y", dpmech.Client, limitOf(8, 2, dpmech.GDP), NeverUsed); err == nil {
		t.Error("a limit without meaning was accepted")
	}
	l, err := CreateLedger(path, "x", dpmech.Client, nil, NeverUsed)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
