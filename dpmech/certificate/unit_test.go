package certificate

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
)

const unitTime = "2026-01-02T03:04:05Z"

var (
	unitRun = RunID{Run: "r", Fleet: strings.Repeat("ab", 32), Member: "m"}
	visits  = dpmech.Person(5, "pid")
	every   = []dpmech.Unit{dpmech.Client, dpmech.Record, visits, dpmech.Person(4, "pid"), dpmech.Person(5, "mother")}
)

// TestLedgerCountsItsUnit checks that a ledger counts releases that protect its unit or each client, and that it refuses
// all others with both names and one remedy: before its first release another one than later.
func TestLedgerCountsItsUnit(t *testing.T) {
	other := unitRun
	other.Run = "other"
	for _, unit := range every {
		for _, spent := range every {
			g := dpmech.Gaussian{Clip: 1, Sigma: 30, Unit: spent}
			c, err := NewComposition("data", unitTime, unit, nil, neverUsed)
			if err != nil {
				t.Fatal(err)
			}
			for _, cure := range []string{"delete it and create it again with the unit", "create another ledger with the unit"} {
				_, err := c.Check(unitRun, 1, g)
				for _, err := range []error{err, c.CheckRun(unitRun, 3, g), c.Add(unitRun, 1, g)} {
					if spent == unit || spent == dpmech.Client {
						if err != nil {
							t.Errorf("a ledger %v and a release %v: %v", unit.Each(), spent.Each(), err)
						}
					} else if !errors.Is(err, dpmech.ErrUnit) || errors.Is(err, dpmech.ErrBudget) || !strings.Contains(err.Error(), cure) ||
						strings.Count(err.Error(), spent.String()) < 2 || !strings.Contains(err.Error(), unit.String()) {
						t.Errorf("a ledger %v and a release %v: %v, want %q", unit.Each(), spent.Each(), err, cure)
					}
				}
				if err := c.Add(other, 1, dpmech.Gaussian{Clip: 1, Sigma: 30, Unit: unit}); cure[0] == 'd' && err != nil {
					t.Fatal(err)
				}
				if spent == unit || spent == dpmech.Client {
					g.Unit = visits // the release is counted, and its run has one unit
					if err := c.Add(unitRun, 2, g); spent != visits && !errors.Is(err, dpmech.ErrUnit) {
						t.Errorf("a run with a release %v and one %v: %v", spent.Each(), visits.Each(), err)
					}
					break
				}
			}
		}
	}
}

// TestRecordsAndPersonsDoNotAddUp has two runs on one data set: one protects records with epsilon 4, the other persons of
// up to five rows with epsilon 1. A person with five rows loses about epsilon 30 by the first alone, so no ledger may
// state epsilon 4.2 for both.
func TestRecordsAndPersonsDoNotAddUp(t *testing.T) {
	releases := func(unit dpmech.Unit, epsilon float64) dpmech.Gaussian {
		sigma, err := budget.SigmaFor(1, 10, epsilon, 1e-5, dpmech.GDP)
		if err != nil {
			t.Fatal(err)
		}
		return dpmech.Gaussian{Clip: 1, Sigma: sigma, Unit: unit}
	}
	records, persons := releases(dpmech.Record, 4), releases(visits, 1)
	if loses := dpmech.GDP.Epsilon(25*records.Total(10).All, 1e-5); loses < 29 || loses > 33 {
		t.Errorf("a person with five rows loses epsilon %v", loses)
	}
	id := unitRun
	id.Run = "second"
	for _, two := range [][2]dpmech.Gaussian{{records, persons}, {persons, records}} {
		c, err := NewComposition("visits", unitTime, two[0].Unit, nil, neverUsed)
		for round := 1; err == nil && round <= 10; round++ {
			err = c.Add(unitRun, round, two[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckRun(id, 10, two[1]); !errors.Is(err, dpmech.ErrUnit) {
			t.Errorf("%v after %v: %v", two[1].Unit, two[0].Unit, err)
		}
		// The certificate of the first run does not count in a ledger of the second one's unit; an estimate does.
		rho := two[0].Total(10).Rho
		d := Declaration{Ledgers: []EarlierLedger{{ledgerHead("a", 10, "1"), Amount{Rho: rho, All: rho, Unit: two[0].Unit}}}}
		_, err = NewComposition("visits", unitTime, two[1].Unit, nil, d)
		if !errors.Is(err, dpmech.ErrUnit) || !strings.Contains(err.Error(), "declare an estimate of what the runs in it have cost "+two[1].Unit.Each()) {
			t.Errorf("a ledger %v declares one %v: %v", two[1].Unit.Each(), two[0].Unit.Each(), err)
		}
		d = Declaration{Estimate: &dpmech.Limit{Epsilon: 31, Delta: 1e-5}}
		if c, err = NewComposition("visits", unitTime, two[1].Unit, nil, d); err != nil || c.CheckRun(id, 10, two[1]) != nil {
			t.Errorf("with an estimate: %v", err)
		}
		if said := d.Conditions(two[1].Unit)[0]; !strings.HasSuffix(said, "cost at most epsilon 31 at delta 1e-05 (gdp) "+two[1].Unit.Each()) {
			t.Error(said)
		}
	}
}

// TestCompositionsAgainstReference makes 40 random ledgers, with runs of their unit and of client level, pairwise noise and
// declared costs, and compares the totals with sums of 2R^2/sigma^2 in 60 digits.
func TestCompositionsAgainstReference(t *testing.T) {
	random := rand.New(rand.NewPCG(50, 2))
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	for n := range 40 {
		unit := every[n%len(every)]
		before := Amount{Rho: random.Float64(), Unit: []dpmech.Unit{unit, dpmech.Client}[random.IntN(2)]}
		before.All = before.Rho + random.Float64()
		c, err := NewComposition("d", unitTime, unit, nil, Declaration{Ledgers: []EarlierLedger{{ledgerHead("a", 1, "1"), before}}})
		if err != nil {
			t.Fatal(err)
		}
		rho, all := exact(before.Rho), exact(before.All)
		for run := range 1 + random.IntN(6) {
			g := dpmech.Gaussian{Clip: math.Exp(9 * random.NormFloat64()), Unit: []dpmech.Unit{unit, dpmech.Client}[random.IntN(2)]}
			g.Sigma = g.Clip * math.Exp(2+2*random.NormFloat64())
			if random.IntN(2) == 0 {
				g.Shared = dpmech.Shared{Sigma: 4 * g.Sigma, Effective: g.Sigma * (1 + random.Float64()), Colluders: 1}
			}
			cost := func(sigma float64) *big.Float {
				clip, noise := exact(g.Clip), exact(sigma)
				return clip.Mul(clip, clip).Mul(clip, exact(2)).Quo(clip, noise.Mul(noise, noise))
			}
			id := unitRun
			id.Run = strconv.Itoa(run)
			for round := range 1 + random.IntN(30) {
				if err := c.Add(id, round+1, g); err != nil {
					t.Fatal(err)
				}
				rho.Add(rho, cost(cmp.Or(g.Shared.Effective, g.Sigma)))
				all.Add(all, cost(g.Sigma))
			}
		}
		got := c.Lifetime(ledgerHead("b", 1, "1"), 1e-5).Total()
		for what, pair := range map[string][2]*big.Float{"rho": {exact(got.Rho), rho}, "all": {exact(got.All), all}} {
			over, _ := new(big.Float).Quo(new(big.Float).Sub(pair[0], pair[1]), pair[1]).Float64()
			if !(over >= 0 && over < 1e-14) {
				t.Errorf("ledger %d: %s is %v, over the exact sum by a share of %v", n, what, pair[0], over)
			}
		}
	}
}

// TestCertificateNamesItsUnit checks that a certificate names the unit that its releases protect wherever it says what
// is protected, that only one for records has a table of persons with several records, and that Verify detects a change
// to another unit.
func TestCertificateNamesItsUnit(t *testing.T) {
	for _, unit := range every {
		g := dpmech.Gaussian{Clip: 1, Sigma: 30, Unit: unit}
		c, err := NewComposition("d", unitTime, unit, &dpmech.Limit{Epsilon: 3, Delta: 1e-5}, neverUsed)
		for round := 1; err == nil && round <= 5; round++ {
			err = c.Add(unitRun, round, g)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, life := range []*Lifetime{nil, c.Lifetime(ledgerHead("a", 5, "1"), 1e-5)} {
			cert, err := New(About{RunID: unitRun}, 1e-5, times(5, g), nil, life)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(Text(cert)), " ")
			want := []string{unit.Each() + ": they can raise", protected(unit), "any one " + unit.Kind() + " of this member",
				"the number of " + unit.Kind() + "s stays the same", "share of each " + unit.Kind() + " clipped",
				"a client's whole data set: the guarantee holds for one " + unit.Kind(), "whether a given " + unit.String()}
			if unit == dpmech.Client {
				want = []string{"one client's whole data set: the guarantee", "any guess about the data of this member", "an update clipped"}
			}
			if unit == dpmech.Record {
				want = append(want, "several records", "10: ")
			} else if strings.Contains(text, "record") {
				t.Errorf("the certificate %v names records:\n%s", unit.Each(), text)
			}
			if life != nil && unit != dpmech.Client {
				want = append(want, "(1): epsilon 0.527 against everybody else together, at delta 1e-05 "+unit.Each())
			}
			for _, want := range want {
				if !strings.Contains(text, want) {
					t.Errorf("%v: the text lacks %q:\n%s", unit, want, text)
				}
			}
			for _, other := range every {
				forged := *cert
				forged.Unit, forged.Adjacency = protected(other), adjacency(other)
				if err := forged.Verify(); (err == nil) != (other == unit) || err != nil && !strings.Contains(err.Error(), "unit: is") {
					t.Errorf("a certificate %v of releases %v: %v", other.Each(), unit.Each(), err)
				}
				if life == nil || other == unit {
					continue
				}
				of := *life
				of.Unit, forged.Lifetime = other, &of
				if err := forged.Verify(); err == nil {
					t.Errorf("a ledger %v of releases %v is valid", other.Each(), unit.Each())
				}
			}
		}
	}
}
