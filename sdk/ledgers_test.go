package sdk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// replaceLedger puts a new ledger with the given declaration in place of member b's.
func replaceLedger(t *testing.T, dir string, declared certificate.Declaration) {
	t.Helper()
	path := filepath.Join(dir, "b.ledger")
	ok(t, os.Remove(path), os.Remove(path+".mark"))
	ok(t, must(state.CreateLedger(path, "samples of b", dpmech.Client, nil, declared))(t).Close())
}

func certify(t *testing.T, n *sdk.Node) *certificate.Certificate {
	t.Helper()
	c := must(n.Certificate())(t)
	ok(t, c.Verify())
	return c
}

func spentIn(t *testing.T, certificates ...*certificate.Certificate) certificate.Declaration {
	t.Helper()
	d := must(audit.DeclareSpent(certificates, nil))(t)
	return d
}

const another = "neighbors know of another ledger of this member: "

// TestDeclaredLedgerCounts checks that a new ledger that declares the newest certificate of the old one is accepted, counts
// both, and names no other ledger; that the chain of ledgers is not counted twice; and that a declaration of an older
// certificate is refused before any release.
func TestDeclaredLedgerCounts(t *testing.T) {
	t.Parallel()
	dir := newLedgers(t, privateRing())
	run := func(name string) (*sdk.Node, error) {
		t.Helper()
		nodes, errs := runOfTwo(t, dir, name)
		return nodes[1], errs[1]
	}
	var certs []*certificate.Certificate
	for _, name := range []string{"one", "two"} {
		n := must(run(name))(t)
		certs = append(certs, certify(t, n))
	}
	rho := certs[0].Lifetime.Rho
	replaceLedger(t, dir, spentIn(t, certs[0]))
	n, err := run("three")
	if !errors.Is(err, state.ErrRollback) || n.Status().Round != 0 || !strings.Contains(err.Error(), "counts only") ||
		!strings.Contains(err.Error(), certs[1].Lifetime.Ledger.ID) {
		t.Fatalf("%d releases after an old certificate: %v", n.Status().Round, err)
	}
	for i, name := range []string{"four", "five"} {
		replaceLedger(t, dir, spentIn(t, certs...))
		if n, err = run(name); err != nil {
			t.Fatal(err)
		}
		c := certify(t, n)
		if want := float64(3+i) * rho; c.Lifetime.Rho < want || c.Lifetime.Rho > want*(1+1e-12) ||
			strings.Contains(strings.Join(c.ConditionalOn, "; "), another) || len(n.Status().OtherLedgers) > 0 {
			t.Errorf("%s: rho is %v, want %v; %q", name, c.Lifetime.Rho, want, c.ConditionalOn)
		}
		certs = append(certs, c)
	}
}
