package plan_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestSuggest pins the settings that Suggest returns.
func TestSuggest(t *testing.T) {
	equal := func(members, samples int) []int { return slices.Repeat([]int{samples}, members) }
	for name, c := range map[string]struct {
		known                                plan.Known
		rounds, cooldown, tau                int
		eta, mu, clip, sigma, delta, epsilon float64
	}{
		"private": {plan.Known{Dim: 6, Samples: equal(50, 64)}, 50, 30, 2, 1.38, 0.612, 0.045, 0.381984, 1e-5, 8},
		"not private": {plan.Known{Dim: 6, Samples: equal(50, 64), Privacy: sdk.Privacy{NonPrivate: true}},
			50, 0, 2, 1.38, 0.612, 0, 0, 0, 0},
		"tracking": {plan.Known{Dim: 6, Samples: equal(50, 64), Open: true, Privacy: sdk.Privacy{NonPrivate: true}},
			50, 30, 3, 8.48, 0.612, 0, 0, 0, 0},
		"tracking, uneven": {plan.Known{Dim: 6, Samples: equal(50, 64), Open: true, Uneven: true, Privacy: sdk.Privacy{NonPrivate: true}},
			50, 30, 3, 25.4, 0.612, 0, 0, 0, 0},
		"tracking, rare": {plan.Known{Dim: 6, Samples: equal(50, 64), Open: true, Rare: true, Privacy: sdk.Privacy{NonPrivate: true}},
			50, 30, 3, 28.2, 0.184, 0, 0, 0, 0},
		"tracking, rare, a given radius": {plan.Known{Dim: 6, Samples: equal(50, 64), Open: true, Rare: true, Method: sdk.Method{Mu: []float64{0.612}},
			Privacy: sdk.Privacy{NonPrivate: true}}, 50, 30, 3, 8.49, 0.612, 0, 0, 0, 0},
		"tracking, alone": {plan.Known{Dim: 6, Samples: equal(1, 3200), Open: true, Privacy: sdk.Privacy{NonPrivate: true}},
			50, 0, 3, 8.48, 0.612, 0, 0, 0, 0},
		"tracking, private": {plan.Known{Dim: 6, Samples: equal(50, 64), Open: true, Uneven: true},
			50, 30, 3, 1.13, 0.612, 0.045, 0.381984, 1e-5, 8},
		"a smaller radius": {plan.Known{Dim: 6, Samples: equal(50, 64), Open: true, Method: sdk.Method{Mu: []float64{0.0612}},
			Privacy: sdk.Privacy{NonPrivate: true}}, 50, 30, 3, 0.848, 0.0612, 0, 0, 0, 0},
		"a smaller radius, private": {plan.Known{Dim: 6, Samples: equal(50, 64), Method: sdk.Method{Mu: []float64{0.0612}}},
			50, 30, 2, 0.138, 0.0612, 0.0045, 0.0381984, 1e-5, 8},
		"budget in zcdp": {plan.Known{Dim: 785, Samples: equal(20, 300), Method: sdk.Method{Batch: 32},
			Privacy: sdk.Privacy{EpsilonLimit: 2, Delta: 1e-6, Accounting: dpmech.ZCDP}},
			50, 30, 2, 0.0541, 0.0535, 0.045, 1.51564, 1e-6, 2},
		"hidden layer": {plan.Known{Dim: 57, Samples: equal(8, 200), Hidden: true},
			50, 30, 2, 2.38, 0.397, 0.045, 0.381984, 1e-5, 8},
		"noise and budget": {plan.Known{Dim: 100, Samples: equal(50, 100),
			Privacy: sdk.Privacy{Clip: 0.2, Sigma: 3, EpsilonLimit: 8}},
			156, 30, 2, 0.24, 0.15, 0.2, 3, 1e-5, 8},
		"fixed": {plan.Known{Dim: 100, Samples: equal(50, 100), Privacy: sdk.Privacy{Clip: 0.4},
			Fixed: []string{"method.cooldown"}, Method: sdk.Method{Rounds: 20, Tau: 5, Mu: []float64{0.3}, Eta: []float64{0.1}}},
			20, 0, 5, 0.1, 0.3, 0.4, 2.14745, 1e-5, 8},
	} {
		m, p, err := plan.Suggest(c.known)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []float64{m.Eta[0], m.Mu[0], p.Clip, p.Sigma, p.Delta, p.EpsilonLimit, m.Rho, m.Gain}
		want := []float64{c.eta, c.mu, c.clip, c.sigma, c.delta, c.epsilon, 1, 0.75}
		if m.Rounds != c.rounds || m.Cooldown != c.cooldown || m.Tau != c.tau || !slices.Equal(got, want) {
			t.Errorf("%s: rounds %d, cooldown %d, tau %d, and %v; want %d, %d, %d, and %v",
				name, m.Rounds, m.Cooldown, m.Tau, got, c.rounds, c.cooldown, c.tau, want)
		}
		f := sdk.Fleet{Run: "suggested", Dim: c.known.Dim, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
			Method: m, Privacy: p}
		if _, err := f.Plan(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMostColluders checks that with the number of colluders that MostColluders returns, the mean has at most a tenth
// more noise than with one colluder, and that one more colluder exceeds this limit. With partners, the graph of messages
// plays no part.
func TestMostColluders(t *testing.T) {
	const n = 31
	for _, kind := range []string{"complete", "ring"} {
		g, err := topology.Parse(kind, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		sigma := func(c int) float64 {
			_, p, err := plan.Suggest(plan.Known{Dim: 40, Samples: slices.Repeat([]int{100}, n), Graph: g,
				Fixed: []string{"privacy.absent"}, Method: sdk.Method{Rounds: 50}, Privacy: sdk.Privacy{Clip: 1, EpsilonLimit: 8, Colluders: c}})
			if err != nil {
				t.Fatal(err)
			}
			return p.Sigma
		}
		most, err := plan.MostColluders(plan.Known{Graph: g})
		if one := sigma(1); err != nil || most != 6 || sigma(most) > 1.1*one*(1+1e-4) || sigma(most+1) <= 1.1*one {
			t.Errorf("%s: %d, %v, with noise %v, and %v with one more, where one colluder takes %v", kind, most, err, sigma(most), sigma(most+1), one)
		}
		if n, err := plan.MostColluders(plan.Known{Graph: g, Fixed: []string{"privacy.partners"}}); err != nil || kind == "ring" && n != 1 {
			t.Errorf("%s without partners: %d, %v", kind, n, err)
		}
		if g, err = topology.Parse(kind, 12, 1); err != nil {
			t.Fatal(err)
		}
		if n, err := plan.MostColluders(plan.Known{Graph: g, Privacy: sdk.Privacy{Partners: 8, Absent: 1}}); err != nil || n != 4 {
			t.Errorf("%s with 8 partners: %d, %v", kind, n, err)
		}
	}
}

// TestSuggestShared checks that if members share noise on a graph, all settings follow from public numbers alone, and
// that the ratio of signal to noise determines the clip.
func TestSuggestShared(t *testing.T) {
	for name, c := range map[string]struct {
		kind                  string
		nodes, dim, samples   int
		epsilon               float64
		hidden                bool
		method                sdk.Method
		fixed                 []string
		tau, mixing, cooldown int
		clip                  float64
	}{
		"many": {kind: "complete", nodes: 20, dim: 22, samples: 400,
			epsilon: 8, tau: 10, mixing: 1, cooldown: 30, clip: 0.0303},
		"few": {kind: "complete", nodes: 8, dim: 80, samples: 30,
			epsilon: 8, tau: 64, mixing: 1, cooldown: 30, clip: 0.00634},
		"little": {kind: "complete", nodes: 8, dim: 80, samples: 30,
			epsilon: 1, tau: 64, mixing: 1, cooldown: 30, clip: 0.00102},
		"ring": {kind: "ring", nodes: 16, dim: 22, samples: 5000,
			epsilon: 8, tau: 2, mixing: 4, cooldown: 30, clip: 0.0248},
		"hidden": {kind: "complete", nodes: 8, dim: 80, samples: 30,
			epsilon: 1, hidden: true, tau: 64, mixing: 1, cooldown: 30, clip: 0.0449},
		"fixed, none": {kind: "complete", nodes: 8, dim: 80, samples: 30,
			epsilon: 8, method: sdk.Method{Tau: 3}, fixed: []string{"method.mixing", "method.cooldown"}, tau: 3, clip: 0.00634},
	} {
		g, err := topology.Parse(c.kind, c.nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		m, p, err := plan.Suggest(plan.Known{Dim: c.dim, Samples: slices.Repeat([]int{c.samples}, c.nodes), Hidden: c.hidden,
			Method: c.method, Fixed: c.fixed, Privacy: sdk.Privacy{EpsilonLimit: c.epsilon, Colluders: 1}, Graph: g})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Tau != c.tau || m.Mixing != c.mixing || m.Cooldown != c.cooldown || p.Clip != c.clip {
			t.Errorf("%s: tau %d, mixing %d, cooldown %d, clip %v; want %d, %d, %d, %v", name, m.Tau, m.Mixing, m.Cooldown, p.Clip,
				c.tau, c.mixing, c.cooldown, c.clip)
		}
		need, err := budget.SigmaFor(p.Clip, m.Rounds, c.epsilon, p.Delta, p.Accounting)
		if err != nil || p.EffectiveSigma < need || p.EffectiveSigma > need*(1+2e-5) || p.Sigma > 0.7*need ||
			p.PairSigma > 2*need {
			t.Errorf("%s: noise %v, shared %v and effective %v where %v is needed, %v", name, p.Sigma, p.PairSigma,
				p.EffectiveSigma, need, err)
		}
		f := sdk.Fleet{Run: "suggested", Dim: c.dim, Method: m, Privacy: p}
		for i := range c.nodes {
			f.Members = append(f.Members, string(rune('a'+i)))
		}
		for _, e := range g.Edges() {
			f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
		}
		if _, err := f.Plan(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSuggestPartners checks that Suggest chooses partners if they save at least a tenth of the noise, or if no
// pairwise noise would remain without them, as on a ring, on a star, or with as many colluders as neighbors. On a dense
// random graph Suggest chooses no partners.
func TestSuggestPartners(t *testing.T) {
	for _, c := range []struct {
		kind                                string
		nodes, colluders, absent, ask, want int
	}{
		{"ring", 31, 1, 0, 0, 30}, {"ring", 31, 10, 0, 0, 30}, {"star", 8, 1, 0, 0, 7}, {"complete", 8, 2, 0, 0, 0}, {"er:0.3", 31, 1, 0, 0, 0},
		{"er:0.3", 31, 2, 3, 0, 30}, {"ring", 128, 5, 0, 0, 127}, {"ring", 129, 5, 1, 0, 24}, {"ring", 129, 66, 0, 0, 128}, {"ring", 31, 1, 0, -1, 0},
		{"ring", 31, 1, 0, 6, 6}, {"ring", 3, 1, 0, 0, 0}, {"ring", 2000, 1, 0, 0, 0},
	} {
		g, err := topology.Parse(c.kind, c.nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		known := plan.Known{Dim: 22, Samples: slices.Repeat([]int{100}, c.nodes), Graph: g, Privacy: sdk.Privacy{EpsilonLimit: 8,
			Colluders: c.colluders, Absent: c.absent, Partners: max(0, c.ask)}}
		if c.ask < 0 {
			known.Fixed = []string{"privacy.partners"}
		}
		_, p, err := plan.Suggest(known)
		if err != nil || p.Partners != c.want {
			t.Errorf("%+v: %d partners, %v", c, p.Partners, err)
			continue
		}
		noise, err := g.Partners(p.Partners, 0)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := plan.Effective(p, noise); err != nil || left != p.EffectiveSigma && p.EffectiveSigma > left*(1+1e-9) {
			t.Errorf("%+v: effective sigma %v, and %v is left, %v", c, p.EffectiveSigma, left, err)
		}
		if c.want > 0 && c.ask == 0 { // compare with the run without partners
			known.Fixed = []string{"privacy.partners"}
			if _, same, err := plan.Suggest(known); err != nil || p.Sigma/p.Clip > 0.9*same.Sigma/same.Clip {
				t.Errorf("%+v: noise %v of the clip, and %v without partners, %v", c, p.Sigma/p.Clip, same.Sigma/same.Clip, err)
			}
		}
	}
}

// TestSuggestAbsent checks that Suggest plans for one absent member where that raises the noise by less than 3 %: it is
// 2.9 % where 18 members of a complete graph remain without the colluders, and 3.0 % where 17 remain, 3.2 % where 16 do.
func TestSuggestAbsent(t *testing.T) {
	for _, c := range []struct {
		kind                           string
		nodes, colluders, absent, want int
		fixed                          []string
		manual                         float64
		cost                           float64 // of one absent member, if it is compared
	}{
		{kind: "complete", nodes: 19, colluders: 1, want: 1, cost: 0.0286},
		{kind: "complete", nodes: 18, colluders: 1, want: 0, cost: 0.0303},
		{kind: "complete", nodes: 18, want: 1, cost: 0.0286},
		{kind: "complete", nodes: 31, colluders: 15, want: 0, cost: 0.0323},
		{kind: "er:0.3", nodes: 50, colluders: 1, want: 1, cost: 0.0179},
		{kind: "complete", nodes: 19, colluders: 1, want: 0, fixed: []string{"privacy.absent"}},
		{kind: "complete", nodes: 19, colluders: 1, absent: 2, want: 2},
		{kind: "complete", nodes: 19, colluders: 1, want: 0, manual: 1},
		{kind: "complete", nodes: 19, colluders: 18, want: 0}, // no pairwise noise remains, with or without the member
		{kind: "ring", nodes: 31, colluders: 1, want: 0},      // partners
		{kind: "ring", nodes: 31, colluders: 2, want: 0, fixed: []string{"privacy.partners"}},
	} {
		g, err := topology.Parse(c.kind, c.nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		known := plan.Known{Dim: 22, Samples: slices.Repeat([]int{100}, c.nodes), Graph: g, Fixed: c.fixed, Method: sdk.Method{Rounds: 50},
			Privacy: sdk.Privacy{Clip: 1, EpsilonLimit: 8, Colluders: c.colluders, Absent: c.absent, Sigma: c.manual, PairSigma: c.manual,
				EffectiveSigma: c.manual}}
		_, p, err := plan.Suggest(known)
		if err != nil || p.Absent != c.want {
			t.Errorf("%+v: absent %d, %v", c, p.Absent, err)
		}
		if c.cost > 0 {
			known.Fixed = []string{"privacy.absent"}
			_, none, _ := plan.Suggest(known)
			known.Privacy.Absent = 1
			_, one, _ := plan.Suggest(known)
			if cost := one.Sigma/none.Sigma - 1; math.Abs(cost-c.cost) > 1e-4 {
				t.Errorf("%+v: one absent member raises the noise by %.4f", c, cost)
			}
		}
	}
}

func TestSuggestOpen(t *testing.T) {
	np := sdk.Privacy{NonPrivate: true}
	for name, c := range map[string]struct {
		known      plan.Known
		estimator  zoest.Kind
		directions zoest.Distribution
		tau        int
	}{
		"open":    {plan.Known{Dim: 6, Samples: []int{64, 3}, Open: true, Privacy: np}, zoest.Tracking, zoest.Walsh, 3},
		"private": {plan.Known{Dim: 6, Samples: []int{64}, Open: true}, zoest.Tracking, zoest.Walsh, 3},
		"tau":     {plan.Known{Dim: 6, Samples: []int{64}, Open: true, Method: sdk.Method{Tau: 7}}, zoest.Tracking, zoest.Walsh, 7},
		"largest": {plan.Known{Dim: 1<<14 - 3, Samples: []int{3, 1 << 10}, Open: true}, zoest.Tracking, zoest.Walsh, 3},
		"beyond":  {plan.Known{Dim: 1<<14 - 2, Samples: []int{3, 1 << 10}, Open: true}, zoest.Paper, zoest.Rademacher, 2},
		"closed": {plan.Known{Dim: 6, Samples: []int{64}, Method: sdk.Method{Directions: zoest.Walsh}}, zoest.Paper,
			zoest.Walsh, 2},
	} {
		m, _, err := plan.Suggest(c.known)
		if err != nil || m.Estimator != c.estimator || m.Directions != c.directions || m.Tau != c.tau {
			t.Errorf("%s: %v with %v directions and tau %d, %v; want %v, %v, %d", name, m.Estimator, m.Directions, m.Tau, err,
				c.estimator, c.directions, c.tau)
		}
	}
}

func TestSuggestRefuses(t *testing.T) {
	one := []int{10}
	for want, k := range map[string]plan.Known{
		"Dim is 0":         {Samples: one},
		"Samples is []":    {Dim: 1},
		"Samples is [3 0]": {Dim: 1, Samples: []int{3, 0}},
		"rounds is -1":     {Dim: 1, Samples: one, Method: sdk.Method{Rounds: -1}},
		"a single release": {Dim: 1, Samples: one,
			Privacy: sdk.Privacy{Clip: 1, Sigma: 0.1, EpsilonLimit: 1}},
		"epsilon": {Dim: 1, Samples: one, Privacy: sdk.Privacy{EpsilonLimit: -1}},
	} {
		_, _, err := plan.Suggest(k)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if refused := errors.Is(err, dpmech.ErrBudget); refused != strings.HasPrefix(want, "a single") {
			t.Errorf("%v: refused by the budget: %t", err, refused)
		}
	}
}
