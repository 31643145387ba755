package monitor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
)

// TestPrivacyAgainstAll checks that the cost of a fleet with pairwise noise is reported against two adversaries;
// without pairwise noise it is reported against one.
func TestPrivacyAgainstAll(t *testing.T) {
	f := &sdk.Fleet{
		Method: sdk.Method{Rounds: 10, Mixing: 3, Cooldown: 5},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 8, PairSigma: 16, EffectiveSigma: 12, Colluders: 1, Delta: 1e-5, EpsilonLimit: 6,
			LimitAll: 9},
	}
	const outsiders = "whoever sees all releases and is no member" // adversary of another run in the ledger
	st := NewStatus(f, "a", new(sdk.Status))
	st.Privacy = NewPrivacy(f, f.Total(4), &certificate.Lifetime{
		Limit: &dpmech.Limit{Epsilon: 12, Delta: 1e-5, EpsilonAll: 14},
		Runs: []certificate.RunSpend{
			{Spends: []dpmech.Spend{{First: 1, Rounds: 7, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: f.Privacy.Gaussian().Shared}}}},
			{Spends: []dpmech.Spend{{First: 1, Rounds: 2, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 16, Effective: 16}}}}},
		},
	})
	if len(st.Privacy.Against) != 2 || len(st.Privacy.Lifetime.Against) != 2 {
		t.Fatalf("%+v", st.Privacy)
	}
	p, a, life, lifeAll := st.Privacy.Against[0], st.Privacy.Against[1], st.Privacy.Lifetime.Against[0], st.Privacy.Lifetime.Against[1]
	if !(a.Epsilon > p.Epsilon) || !(a.Planned > p.Planned) || a.Rho != 4*2/64.0 || a.Limit != 9 ||
		!(float64(life.Epsilon) > p.Epsilon) || !(float64(lifeAll.Epsilon) > a.Epsilon) || life.Limit != 12 || lifeAll.Limit != 14 ||
		life.Adversary != outsiders || p.Adversary != f.Privacy.Gaussian().Shared.Adversary().String() {
		t.Fatalf("%+v, %+v", p, a)
	}
	text := string(Metrics(st))
	const one = "whoever sees all releases, together with any one member"
	for _, want := range []string{
		`epsilon{run="",node="a",adversary="` + one, `epsilon{run="",node="a",adversary="` + dpmech.AllOthers,
		`epsilon_limit{run="",node="a",adversary="` + one, `epsilon_limit{run="",node="a",adversary="` + dpmech.AllOthers + `"} 9`,
		`epsilon_planned{run="",node="a",adversary="` + one, `epsilon_planned{run="",node="a",adversary="` + dpmech.AllOthers,
		`zcdp_rho{run="",node="a",adversary="` + one, `zcdp_rho{run="",node="a",adversary="` + dpmech.AllOthers,
		`lifetime_epsilon{run="",node="a",adversary="` + outsiders, `lifetime_epsilon{run="",node="a",adversary="` + dpmech.AllOthers,
		"mixing{",
	} {
		if strings.Count(text, "\nspade_edge_"+want) != 1 {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var back Status
	object, err := json.Marshal(st)
	if err == nil {
		err = json.Unmarshal(object, &back)
	}
	if err != nil || back.Mixing != 3 || back.Privacy.Against[1].Planned != a.Planned {
		t.Errorf("%s: %v", object, err)
	}
	f.Privacy = sdk.Privacy{Clip: 1, Sigma: 8, Delta: 1e-5}
	f.Method.Mixing = 0
	st = NewStatus(f, "a", new(sdk.Status))
	st.Privacy = NewPrivacy(f, f.Total(4), nil)
	object, err = json.Marshal(st)
	if text := string(Metrics(st)) + string(object); err != nil || len(st.Privacy.Against) != 1 ||
		strings.Contains(text, "mixing") || st.Privacy.Against[0].Adversary != "everybody else together" {
		t.Errorf("without pairwise noise: %s", text)
	}
}

// TestProgress checks that in a run with mixing rounds, Progress states the number of releases and the number of
// learning rounds.
func TestProgress(t *testing.T) {
	mixed := Status{Rounds: 200, Mixing: 3, Cooldown: 30}
	for round, want := range map[int]string{
		0: "release 0 of 230", 1: "release 1 of 230, learning round 1 of 50",
		2: "release 2 of 230, learning round 1 of 50 (mixing 1 of 3)", 4: "release 4 of 230, learning round 1 of 50 (mixing 3 of 3)",
		5: "release 5 of 230, learning round 2 of 50", 200: "release 200 of 230, learning round 50 of 50 (mixing 3 of 3)",
		201: "release 201 of 230, cooling down", 230: "release 230 of 230, cooling down",
	} {
		if mixed.Round = round; mixed.Progress() != want {
			t.Errorf("%q, want %q", mixed.Progress(), want)
		}
	}
	if plain := (&Status{Round: 3, Rounds: 50, Cooldown: 30}); plain.Progress() != "round 3 of 80" {
		t.Errorf("%q", plain.Progress())
	}
}
