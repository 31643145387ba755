package sdk_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// sharedNoise returns the suggested privacy settings of a fleet with pairwise noise, between neighbors or with six
// partners each, and the graph of pairwise noise.
func sharedNoise(t *testing.T, text string, n, colluders, absent int) (sdk.Privacy, *graph.Graph) {
	t.Helper()
	text, partners := strings.CutSuffix(text, " with partners")
	g, err := graph.Parse(text, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	k := plan.Known{Dim: 10, Samples: []int{100}, Graph: g, Privacy: sdk.Privacy{EpsilonLimit: 8, Delta: 1e-5, Colluders: colluders, Absent: absent},
		Fixed: []string{"privacy.partners"}}
	if partners {
		k.Privacy.Partners = 6
	}
	_, p, err := plan.Suggest(k)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = p.NoiseGraph(g, 0); err != nil {
		t.Fatal(err)
	}
	return p, g
}

// TestLevels checks that the levels decrease with the number of colluders, contain the level that the fleet states, and
// never exceed the exact remaining noise. In small graphs, the test computes the exact noise by inverting a matrix for
// every set of colluders.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		graph                string
		n, colluders, absent int
		want                 []int
	}{
		{"ring", 9, 1, 0, []int{0, 1, 2, 8}},
		{"ring with partners", 9, 3, 0, []int{0, 1, 3, 4, 6, 8}},
		{"ring with partners", 9, 2, 1, []int{0, 1, 2, 4, 5, 8}},
		{"complete", 8, 1, 0, []int{0, 1, 2, 3, 7}},
		{"complete", 31, 10, 0, []int{0, 1, 10, 15, 30}},
		{"complete", 8, 2, 2, []int{0, 1, 2, 3, 5, 7}},
		{"er:0.6", 12, 2, 0, nil},
		{"complete", 2, 0, 0, []int{0, 1}},
	} {
		p, g := sharedNoise(t, c.graph, c.n, c.colluders, c.absent)
		levels, err := sdk.LevelsOf(p, g)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int
		for i, l := range levels {
			numbers = append(numbers, l.Colluders)
			if i > 0 && l.Effective > levels[i-1].Effective {
				t.Errorf("%+v: levels rise: %v", c, levels)
			}
			if exact := left(g, p, l.Colluders+c.absent); l.Effective > exact*(1+1e-9) {
				t.Errorf("%+v: %d colluders leave %v, stated as %v", c, l.Colluders, exact, l.Effective)
			} else if c.absent == 0 && exact > l.Effective*(1+1e-3) {
				t.Errorf("%+v: %d colluders leave %v, stated as only %v", c, l.Colluders, exact, l.Effective)
			}
		}
		if c.want != nil && !slices.Equal(numbers, c.want) {
			t.Errorf("%+v: levels of %v", c, numbers)
		}
		if last := levels[len(levels)-1]; last.Effective != p.Sigma || last.Colluders != c.n-1 ||
			!slices.Contains(levels, dpmech.Level{Colluders: c.colluders, Effective: p.EffectiveSigma}) {
			t.Errorf("%+v: levels %v of %+v", c, levels, p)
		}
	}
	if levels, err := sdk.LevelsOf(sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5}, nil); levels != nil || err != nil {
		t.Error(levels, err)
	}
}

// left returns, for the worst set of colluders of size gone, the standard deviation of the noise that remains on a
// graph. This is the square root of the smallest 1/(Sigma^-1)_ii, computed by elimination.
func left(g *graph.Graph, p sdk.Privacy, gone int) float64 {
	n, least := g.N(), math.Inf(1)
	for set := range 1 << min(n, 12) {
		if n > 12 { // a complete graph: all sets of one size are equivalent
			set = 1<<gone - 1
		}
		if ones(set) != min(gone, n-1) {
			continue
		}
		for at := range n {
			if set>>at&1 == 0 {
				least = min(least, conductance(g, p, set, at))
			}
			if n > 12 && at >= gone {
				break
			}
		}
		if n > 12 {
			break
		}
	}
	return math.Sqrt(least)
}

func ones(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

// conductance returns 1/(Sigma^-1)_ii for i = at. Sigma is sigma^2 I + pair_sigma^2 L, where L is the Laplacian of the
// graph without the members in set. The result is the pivot of row i if this row is eliminated last.
func conductance(g *graph.Graph, p sdk.Privacy, set, at int) float64 {
	n := g.N()
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		a[i][i] = p.Sigma * p.Sigma
		for _, j := range g.Neighbors(i) {
			if set>>i&1 == 0 && set>>j&1 == 0 {
				a[i][i] += p.PairSigma * p.PairSigma
				a[i][j] -= p.PairSigma * p.PairSigma
			}
		}
	}
	var order []int
	for i := range n {
		if i != at {
			order = append(order, i)
		}
	}
	order = append(order, at)
	for k, r := range order {
		for _, i := range order[k+1:] {
			f := a[i][r] / a[r][r]
			for _, j := range order[k:] {
				a[i][j] -= f * a[r][j]
			}
		}
	}
	return a[at][at]
}

// TestLevelsOfThousand checks that computing the levels of a thousand members takes little time compared with the run.
// It logs the time.
func TestLevelsOfThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("a large graph")
	}
	for _, text := range []string{"ring", "complete", "er:0.05"} {
		g, err := graph.Parse(text, 1000, 1)
		if err != nil {
			t.Fatal(err)
		}
		p := sdk.Privacy{Clip: 1, Sigma: 8, PairSigma: 32, Colluders: 1, Delta: 1e-5}
		if p.EffectiveSigma, err = p.Effective(g); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		levels, err := sdk.LevelsOf(p, g)
		if err != nil || len(levels) < 3 {
			t.Fatal(levels, err)
		}
		t.Logf("%s: %v for %s", text, time.Since(began), p.Curve(dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma, Shared: p.Gaussian().Shared}.Total(50), levels).Text())
	}
}
