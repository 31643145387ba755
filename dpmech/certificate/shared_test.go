package certificate

import (
	"errors"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

var shared = dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 32, Effective: 16, Colluders: 1}}

// TestCertificateOfSharedNoise checks that a certificate for releases with pairwise noise names its adversary and
// states both costs, and that Verify detects any change to these fields.
func TestCertificateOfSharedNoise(t *testing.T) {
	about := About{RunID: RunID{Run: "r", Fleet: strings.Repeat("01", 32), Member: "a"}}
	good, err := New(about, 1e-5, times(5, shared), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if good.AgainstAll == nil || good.AgainstAll.Rho != 4*good.Rho || !strings.Contains(good.Adversary, "any one member") {
		t.Errorf("certificate %+v", good)
	}
	text, err := good.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"any one member":         "any 2 members",
		`"effective_sigma": 16`:  `"effective_sigma": 17`,
		`"colluders": 1`:         `"colluders": 2`,
		`"against_all"`:          `"against_each"`,
		`"rho": 0.15625`:         `"rho": 0.1`,
		`"sigma": 32`:            `"sigma": 33`,
		`"effective_sigma": 16,`: ``,
		`X25519`:                 `X448`,
	} {
		if strings.Count(string(text), from) == 0 {
			t.Fatalf("%q is not in %s", from, text)
		}
		bad := strings.Replace(string(text), from, to, 1)
		c, err := Parse([]byte(bad))
		if err == nil {
			err = c.Verify()
		}
		if err == nil {
			t.Errorf("%q for %q was accepted", to, from)
		}
	}
	page := strings.Join(strings.Fields(Text(good)), " ")
	for _, want := range []string{
		"epsilon 1.05 with any 1 other member, 2.26 with all, at delta 1e-05: they can raise the odds", "also know the noise that they share",
		"equivalent to 16 against whoever", "HMAC-SHA-256 and ChaCha8",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, Text(good))
		}
	}
	c, err := Parse(text)
	if err := errors.Join(err, c.Verify()); err != nil {
		t.Error(err)
	}
}

// TestLifetimeOfTwoAdversaries checks that a lifetime has two costs: one against the weakest adversary of all its runs,
// in whatever order the runs come, and one against all other members together. The lifetime limit must bound the cost
// against all other members, and a certificate must state both costs with their adversaries.
func TestLifetimeOfTwoAdversaries(t *testing.T) {
	outsiders, more, own := shared, shared, dpmech.Gaussian{Clip: 1, Sigma: 32}
	outsiders.Shared.Colluders, outsiders.Shared.Absent, more.Shared.Absent = 0, 2, 3
	named, all := 10*(2*shared.Rho()+own.Rho()), 10*(2*shared.RhoAll()+own.RhoAll())
	for _, order := range [][]dpmech.Gaussian{{outsiders, more, own}, {own, outsiders, more}, {more, own, outsiders}} {
		l := newLedger(t, nil)
		for i, g := range order {
			for round := 1; round <= 10; round++ {
				if err := l.Reserve([]string{"first", "second", "third"}[i], fleetA, "a", round, g); err != nil {
					t.Fatal(err)
				}
			}
		}
		life := l.lifetime(1e-5)
		want := []dpmech.Figure{{Adversary: "whoever sees all releases and is no member, if at most 2 members vanish", Rho: named}, {Adversary: dpmech.AllOthers, Rho: all}}
		if got := life.Total().Figures(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] ||
			life.Adversary != want[0].Adversary || life.Rho != named || life.AgainstAll.Rho != all || life.AgainstAll.Adversary != dpmech.AllOthers {
			t.Fatalf("%+v, %+v", life.Cost, got)
		}
		c, err := New(aboutRun("third"), 1e-5, times(10, order[2]), nil, life)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(Text(c)), " "); c.Adversary != order[2].Shared.Adversary().String() ||
			!strings.Contains(text, "together (3): epsilon 2.42 against outsiders, 5.08 with all others, if at most 2 members vanish, at delta 1e-05") ||
			!strings.Contains(text, "X25519") {
			t.Errorf("%s", text)
		}
		// Verify detects a forged certificate that names a stronger adversary, or a limit below the cost against all
		// other members.
		c.Lifetime.Adversary = shared.Shared.Adversary().String()
		if err := c.Verify(); err == nil || !strings.Contains(err.Error(), "adversary is") {
			t.Errorf("another adversary: %v", err)
		}
		c.Lifetime.Adversary = want[0].Adversary
		c.Lifetime.Limit = &dpmech.Limit{Epsilon: dpmech.GDP.Epsilon(all, 1e-5) * 0.99, Delta: 1e-5}
		if err := c.Verify(); err == nil || !strings.Contains(err.Error(), "against_all: limit") {
			t.Errorf("a limit below the cost against all: %v", err)
		}
		c.Lifetime.Limit = &dpmech.Limit{Epsilon: dpmech.GDP.Epsilon(all, 1e-5), Delta: 1e-5}
		if err := c.Verify(); err != nil {
			t.Error(err)
		}
	}
}
