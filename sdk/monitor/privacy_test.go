package monitor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
)

// TestBarsOfStatus checks that the cost of a fleet with pairwise noise is stated against two adversaries, for the run from
// the first release to the last and for the ledger, and without pairwise noise against one.
func TestBarsOfStatus(t *testing.T) {
	f := &sdk.Fleet{
		Method: sdk.Method{Rounds: 10, Mixing: 3, Cooldown: 5},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 8, PairSigma: 16, EffectiveSigma: 12, Colluders: 1, Delta: 1e-5, EpsilonLimit: 6,
			LimitAll: 9},
	}
	shared := f.Privacy.Gaussian().Shared
	life := &certificate.Lifetime{
		Limit: &dpmech.Limit{Epsilon: 12, Delta: 1e-5, EpsilonAll: 14},
		Runs: []certificate.RunSpend{
			{Spends: []dpmech.Spend{{First: 1, Rounds: 7, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: shared}}}},
			{Spends: []dpmech.Spend{{First: 1, Rounds: 2, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 16, Effective: 16}}}}},
		},
	}
	adversaries := []string{shared.Adversary().String(), dpmech.AllOthers}
	ofLedger := []string{"whoever sees all releases and is no member", dpmech.AllOthers} // the first is of another run
	for _, rounds := range []int{0, 4, 10} {
		p := NewPrivacy(f, f.Total(rounds), life)
		if len(p.Against) != 2 || len(p.Lifetime.Against) != 2 {
			t.Fatalf("%+v", p)
		}
		for i, b := range p.Against {
			l := p.Lifetime.Against[i]
			if float64(b.Planned) < b.Epsilon || (b.Epsilon == 0) != (rounds == 0) || rounds == 10 && float64(b.Planned) != b.Epsilon ||
				b.Guess < 0.5 || b.Guess > 1 || b.Limit != []Value{6, 9}[i] || b.Adversary != adversaries[i] {
				t.Errorf("after %d rounds: %+v", rounds, b)
			}
			if rounds == 4 && !(float64(l.Epsilon) > b.Epsilon) || l.Limit != []Value{12, 14}[i] || l.Adversary != ofLedger[i] {
				t.Errorf("in the ledger, after %d rounds: %+v", rounds, l)
			}
		}
		if a := p.Against[1]; rounds > 0 && !(a.Epsilon > p.Against[0].Epsilon) || a.Rho != float64(rounds)*2/64 {
			t.Errorf("%+v is no stronger than %+v", a, p.Against[0])
		}
	}
	f.Privacy = sdk.Privacy{Clip: 1, Sigma: 8, Delta: 1e-5}
	if p := NewPrivacy(f, f.Total(4), nil); len(p.Against) != 1 || p.Against[0].Adversary != "everybody else together" {
		t.Errorf("without pairwise noise: %+v", p)
	}
}

// TestPrivacyNamesItsUnit checks that the status names what the run and its ledger protect, unless they protect each
// client, and that a program can read it. TestMetricsGolden has the metrics.
func TestPrivacyNamesItsUnit(t *testing.T) {
	f := &sdk.Fleet{Method: sdk.Method{Rounds: 10}, Privacy: sdk.Privacy{Person: "pid", Clip: 1, Sigma: 80, Delta: 1e-5}}
	for _, c := range []struct {
		places       int
		unit, ledger dpmech.Unit
		want         []string
	}{
		{0, dpmech.Record, dpmech.Record, []string{"record", "record"}},
		{4, dpmech.Record, dpmech.Person(4, "pid"), []string{"person (up to 4 rows of column pid)", "person (up to 4 rows of column pid)"}},
		{0, dpmech.Client, dpmech.Record, []string{"record"}},
		{0, dpmech.Client, dpmech.Client, nil},
	} {
		f.Privacy.Unit, f.Privacy.Places = c.unit, c.places
		st := NewStatus(f, "a", new(sdk.Status))
		st.Privacy = NewPrivacy(f, f.Total(4), &certificate.Lifetime{Unit: c.ledger})
		object, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		text := string(object)
		for _, unit := range c.want {
			text = strings.Replace(text, `"unit":"`+unit+`"`, "", 1)
		}
		if strings.Contains(text, "unit") {
			t.Errorf("%s, want the units %q", object, c.want)
		}
		var back Status
		if err := json.Unmarshal(object, &back); err != nil || back.Privacy.Against[0].Planned != st.Privacy.Against[0].Planned {
			t.Errorf("%s becomes %+v, %v", object, back.Privacy, err)
		}
	}
}
