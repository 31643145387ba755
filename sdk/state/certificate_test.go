package state

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// certify returns the certificate of a run that made the given number of releases, and the ledger of the data set. The
// ledger has three reservations of another run, followed by the given number of reservations of this run.
func certify(t testing.TB, made, reserved int) (*certificate.Certificate, *Ledger) {
	t.Helper()
	l, _ := newLedger(t, limitOf(40, 1e-6, dpmech.ZCDP))
	reserve(t, l, "tuning", 1, 3)
	reserve(t, l, "final", 1, reserved)
	var releases dpmech.Spends
	if made > 0 {
		releases = dpmech.Spends{{First: 1, Rounds: made, Gaussian: noisy}}
	}
	about := certificate.About{
		RunID: certificate.RunID{Run: "final", Fleet: hex.EncodeToString(fleetA[:]), Member: "a"},
	}
	c, err := certificate.New(about, 1e-5, releases, limitOf(12, 1e-5, dpmech.GDP), l.Lifetime(1e-5))
	must(t, err)
	return c, l
}

func cloneCertificate(t testing.TB, c *certificate.Certificate) *certificate.Certificate {
	t.Helper()
	text, err := c.JSON()
	must(t, err)
	if c, err = certificate.Parse(text); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestVerifyCertificate checks that a certificate agrees with its ledger, and remains valid while the ledger continues
// with other runs. The error states how many later releases of the certificate's own run the ledger has.
func TestVerifyCertificate(t *testing.T) {
	for _, x := range []struct{ made, reserved int }{{10, 11}, {0, 4}, {0, 0}} {
		c, l := certify(t, x.made, x.reserved)
		if c.Lifetime.Ledger != l.Head() || c.ReservedUnmade != x.reserved-x.made {
			t.Errorf("%d made, %d reserved: %+v", x.made, x.reserved, c)
		}
		back := cloneCertificate(t, c)
		if err := l.Verify(back); err != nil {
			t.Error(err)
		}
		reserve(t, l, "later", 1, 2)
		reserve(t, l, "tuning", 4, 5)
		if err := l.Verify(back); err != nil {
			t.Error(err)
		}
		reserve(t, l, "final", x.reserved+1, x.reserved+5)
		if err := l.Verify(back); err == nil || !strings.Contains(err.Error(), "has 5 further releases of this run") {
			t.Errorf("%v, want 5 further releases", err)
		}
	}
}

// TestCertificateAgainstLedger checks that Verify detects a self-consistent certificate that contradicts the ledger, such
// as one that understates the cost, and whose lifetime was rewritten to agree with that cost.
func TestCertificateAgainstLedger(t *testing.T) {
	c, l := certify(t, 10, 10)
	for name, x := range map[string]struct {
		change func(c *certificate.Certificate)
		want   string
	}{
		"run renamed":  {func(c *certificate.Certificate) { c.Lifetime.Runs[0].Run = "other" }, "differs from the state of ledger"},
		"another data": {func(c *certificate.Certificate) { c.Lifetime.Dataset = "other" }, "differs from the state of ledger"},
		"hash":         {func(c *certificate.Certificate) { c.Lifetime.Ledger.Hash = strings.Repeat("0", 64) }, "changed"},
		"id":           {func(c *certificate.Certificate) { c.Lifetime.Ledger.ID = strings.Repeat("0", 32) }, "this is a different ledger"},
		"no lifetime":  {func(c *certificate.Certificate) { c.Lifetime = nil }, "lifetime is missing"},
		"less cost": {func(c *certificate.Certificate) {
			few := []dpmech.Spend{{First: 1, Rounds: 1, Gaussian: gauss(1, 800)}}
			own := gauss(1, 800).Total(1)
			c.Spends, c.Rounds, c.Cost = few, 1, certificate.CostOf(own, c.Delta)
			c.Lifetime.Runs[1].Spends, c.Lifetime.Runs[1].Rho, c.Lifetime.Ledger.Seq = few, own.Rho, 4
			total := (c.Lifetime.Runs[0].Rho + own.Rho) * (1 + 1e-15)
			c.Lifetime.Cost = certificate.CostOf(dpmech.Total{Rho: total, All: total}, c.Delta)
		}, "changed"},
	} {
		changed := cloneCertificate(t, c)
		x.change(changed)
		if err := changed.Verify(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := l.Verify(changed); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// TestKeepCertificate checks that a new certificate replaces a stored certificate with the same last release only if it
// has at least as many countersignatures.
func TestKeepCertificate(t *testing.T) {
	full, _ := certify(t, 4, 4)
	full.Countersigned = []certificate.Countersignature{{Member: "b", Signature: strings.Repeat("ab", 64)}}
	full.Head, full.Key, full.Signature = "01", strings.Repeat("12345 ", 6)[:35], strings.Repeat("cd", 64)
	path := filepath.Join(t.TempDir(), "certificate.json")
	bare, other := *full, *full
	bare.Countersigned = nil
	other.Countersigned, other.Head = nil, "02"
	for i, step := range []struct{ write, want *certificate.Certificate }{
		{&bare, &bare}, {full, full}, {&bare, full}, {&other, &other}, {full, full},
	} {
		must(t, WriteCertificate(path, step.write))
		got, err := os.ReadFile(path)
		want, _ := step.want.JSON()
		if err != nil || string(got) != string(want) {
			t.Errorf("step %d: the file has %s, %v; want %s", i, got, err, want)
		}
	}
}
