package certificate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// recost recomputes the costs in a certificate after a change to its releases, as a forger would.
func recost(t testing.TB, c *Certificate) {
	t.Helper()
	c.Rounds = c.Spends.Rounds()
	c.Cost = CostOf(c.charged(), c.Delta)
	if c.Lifetime == nil {
		return
	}
	var total dpmech.Total
	for i := range c.Lifetime.Runs {
		r := &c.Lifetime.Runs[i]
		sum := r.Spends.Total()
		r.Rho, total = sum.Rho, total.Plus(sum)
	}
	c.Lifetime.Cost = CostOf(total, c.Delta)
}

// whole returns the certificate of a run and the member's ledger. The parameter made is the number of releases in the
// certificate, all with equal parameters; the parameter reserved is the number of the run's reservations in the ledger.
func whole(t testing.TB, made, reserved int) (*Certificate, *testLedger) {
	t.Helper()
	l := newLedger(t, nil)
	reserve(t, l, "before", 1, 3)
	reserve(t, l, "final", 1, reserved)
	c, err := New(aboutRun("final"), 1e-5, times(made, noisy), nil, l.lifetime(1e-5))
	if err != nil {
		t.Fatal(err)
	}
	return c, l
}

// TestCertificateReleasesEqualLedger checks that the releases of a certificate must equal those of its ledger, so that
// Verify detects a certificate with fewer releases or more noise even if all its numbers are consistent.
func TestCertificateReleasesEqualLedger(t *testing.T) {
	good, _ := whole(t, 10, 10)
	for name, x := range map[string]struct {
		change func(c *Certificate)
		want   string
	}{
		"one release": {func(c *Certificate) { c.Spends[0].Rounds = 1 },
			"the ledger has 10 releases of this run, want 1 (the releases in the certificate) plus 0 (reserved_unmade)"},
		"one, of more noise": {func(c *Certificate) { c.Spends[0].Rounds, c.Spends[0].Sigma = 1, 800 },
			"releases[0]: found 1 rounds from round 1 on with clip 1 and sigma 800, want 10 rounds from round 1 on " +
				"with clip 1 and sigma 8 as in the ledger"},
		"more noise":         {func(c *Certificate) { c.Spends[0].Sigma = 800 }, "sigma 800, want"},
		"less noise":         {func(c *Certificate) { c.Spends[0].Sigma = 4 }, "sigma 4, want"},
		"another clip":       {func(c *Certificate) { c.Spends[0].Clip = 0.5 }, "clip 0.5"},
		"no release":         {func(c *Certificate) { c.Spends = dpmech.Spends{} }, "want 0 (the releases in the certificate) plus 0 (reserved_unmade)"},
		"more than reserved": {func(c *Certificate) { c.Spends[0].Rounds = 11 }, "found 11 rounds from round 1 on"},
		"the first left out": {func(c *Certificate) {
			c.Spends[0] = dpmech.Spend{First: 2, Rounds: 9, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}
		},
			"found 9 rounds from round 2 on"},
		"a gap": {func(c *Certificate) {
			c.Spends = dpmech.Spends{{First: 1, Rounds: 4, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}, {First: 6, Rounds: 5, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}}
		},
			"found 4 rounds from round 1 on"},
		"one more, elsewhere": {func(c *Certificate) {
			c.Spends = append(c.Spends, dpmech.Spend{First: 12, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}})
		},
			"the ledger has no release from round 12 on"},
		"a gap in the ledger": {func(c *Certificate) {
			c.Lifetime.Runs[1].Spends = dpmech.Spends{{First: 1, Rounds: 10, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}, {First: 12, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}}
		},
			"after a gap"},
		"other noise behind": {func(c *Certificate) {
			c.Lifetime.Runs[1].Spends = dpmech.Spends{{First: 1, Rounds: 10, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}, {First: 11, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 80}}}
		},
			"or have other parameters"},
	} {
		c := clone(t, good)
		x.change(c)
		recost(t, c)
		if err := c.Verify(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// TestCertificateReservedUnmade checks that the cost of a run includes reservations beyond its releases.
func TestCertificateReservedUnmade(t *testing.T) {
	for _, x := range []struct{ made, reserved int }{{10, 10}, {10, 11}, {7, 10}, {0, 4}, {0, 0}} {
		c, _ := whole(t, x.made, x.reserved)
		if want := float64(x.reserved) * noisy.Rho(); c.Rho != want || c.Rounds != x.made ||
			c.ReservedUnmade != x.reserved-x.made {
			t.Errorf("%d made, %d reserved: rho %v of %d releases and %d more, want %v", x.made, x.reserved, c.Rho, c.Rounds,
				c.ReservedUnmade, want)
		}
		if err := clone(t, c).Verify(); err != nil {
			t.Error(err)
		}
		if more := strings.Contains(Text(c), "more in the ledger"); more != (x.reserved > x.made) {
			t.Errorf("%d made, %d reserved:\n%s", x.made, x.reserved, Text(c))
		}
		if x.reserved == x.made {
			continue
		}
		// Verify detects a cost that does not include the reservations without a release.
		bad := clone(t, c)
		bad.Cost = CostOf(bad.Spends.Total(), bad.Delta)
		if err := bad.Verify(); err == nil || !strings.Contains(err.Error(), "this run: rho is stated as") {
			t.Errorf("%v, want a larger rho", err)
		}
	}
	// New fails if the ledger has fewer releases than the run.
	l := newLedger(t, nil)
	reserve(t, l, "final", 1, 3)
	if _, err := New(aboutRun("final"), 1e-5, times(4, noisy), nil, l.lifetime(1e-5)); err == nil ||
		!strings.Contains(err.Error(), "found 4 rounds from round 1 on with clip 1 and sigma 8, want 3 rounds") {
		t.Errorf("%v, want a release that the ledger does not have", err)
	}
}

// TestSignedBytes checks that SignedBytes returns a line with the kind and version of the certificate, then the
// certificate without its signature.
func TestSignedBytes(t *testing.T) {
	c, _ := whole(t, 10, 11)
	before, err := c.SignedBytes()
	if err != nil {
		t.Fatal(err)
	}
	c.Signature = strings.Repeat("00", 64)
	after, err := c.SignedBytes()
	if err != nil || !bytes.Equal(before, after) || c.Signature == "" {
		t.Errorf("%s became %s (%v)", before, after, err)
	}
	tag, text, _ := bytes.Cut(after, []byte("\n"))
	if string(tag) != "spade-edge certificate 2" || bytes.ContainsAny(text, "\n\t") ||
		bytes.Contains(text, []byte(`"signature"`)) {
		t.Errorf("%s", after)
	}
	back, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := back.SignedBytes(); err != nil || !bytes.Equal(again, before) {
		t.Errorf("%s became %s (%v)", before, again, err)
	}
	for name, change := range map[string]func(c *Certificate){
		"member": func(c *Certificate) { c.Member = "b" }, "unmade": func(c *Certificate) { c.ReservedUnmade++ },
		"head":          func(c *Certificate) { c.Head = "00" },
		"ledger":        func(c *Certificate) { c.Lifetime.Ledger.Seq++ },
		"conditions":    func(c *Certificate) { c.ConditionalOn = c.ConditionalOn[1:] },
		"countersigned": func(c *Certificate) { c.Countersigned = []Countersignature{{"b", ""}} },
	} {
		other := clone(t, c)
		change(other)
		if got, err := other.SignedBytes(); err != nil || bytes.Equal(got, before) {
			t.Errorf("%s is not under the signature (%v)", name, err)
		}
	}
}
