package audit

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

var neverUsed = certificate.Declaration{NeverUsed: true}

const ledgerTime = "2025-01-02T03:04:05Z"

func headOf(id string, seq int, hash string) certificate.Head {
	return certificate.Head{ID: strings.Repeat(id, 32), Seq: seq, Hash: strings.Repeat(hash, 64)}
}

// certificateOf returns a certificate that states the given number of releases in a ledger with the given declaration.
func certificateOf(t *testing.T, head certificate.Head, declared certificate.Declaration) *certificate.Certificate {
	t.Helper()
	c, err := certificate.NewComposition("d", ledgerTime, dpmech.Record, nil, declared)
	if err != nil {
		t.Fatal(err)
	}
	g, id := dpmech.Gaussian{Clip: 1, Sigma: 20, Unit: dpmech.Record}, certificate.RunID{Run: "run", Fleet: strings.Repeat("ab", 32), Member: "a"}
	for round := 1; round <= head.Seq; round++ {
		if err := c.Add(id, round, g); err != nil {
			t.Fatal(err)
		}
	}
	var releases dpmech.Spends
	if head.Seq > 0 {
		releases = dpmech.Spends{{First: 1, Rounds: head.Seq, Gaussian: g}}
	}
	cert, err := certificate.New(certificate.About{RunID: id}, 1e-5, releases, nil, c.Lifetime(head, 1e-5))
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
	a3, a5 := certificateOf(t, headOf("a", 3, "1"), neverUsed), certificateOf(t, headOf("a", 5, "2"), neverUsed)
	first, err := DeclareSpent([]*certificate.Certificate{a3}, estimate)
	if err != nil {
		t.Fatal(err)
	}
	b4 := certificateOf(t, headOf("b", 4, "3"), first)
	for name, c := range map[string]struct {
		certificates []*certificate.Certificate
		estimate     *dpmech.Limit
		want         float64
		ledgers      int
	}{
		"one":                       {[]*certificate.Certificate{a3}, nil, 3 * rho, 1},
		"twice":                     {[]*certificate.Certificate{a3, a3}, nil, 3 * rho, 1},
		"most lines, first":         {[]*certificate.Certificate{a5, a3}, nil, 5 * rho, 1},
		"most lines, last":          {[]*certificate.Certificate{a3, a5}, nil, 5 * rho, 1},
		"estimate":                  {nil, estimate, most, 0},
		"with a declared ledger":    {[]*certificate.Certificate{b4}, nil, 7*rho + most, 2},
		"the declared ledger again": {[]*certificate.Certificate{b4, a3}, nil, 7*rho + most, 2},
		"and with more lines":       {[]*certificate.Certificate{a5, b4}, estimate, 9*rho + 2*most, 2},
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
	good := certificateOf(t, headOf("a", 3, "1"), neverUsed)
	bare, simulated := *good, *good
	bare.Lifetime, simulated.Simulated = nil, true
	other := certificateOf(t, headOf("a", 3, "2"), neverUsed)
	var many []*certificate.Certificate
	for _, id := range "123456789" {
		many = append(many, certificateOf(t, headOf(string(id), 1, "1"), neverUsed))
	}
	for want, certificates := range map[string][]*certificate.Certificate{
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
}
