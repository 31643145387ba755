package sdk_test

import (
	"math"
	"strings"
	"testing"

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
		Fixed: []string{"privacy.partners", "privacy.absent"}}
	if partners {
		k.Privacy.Partners = 6
	}
	_, p, err := plan.Suggest(k)
	if err != nil {
		t.Fatal(err)
	}
	if g, err = g.Partners(p.Partners, 0); err != nil {
		t.Fatal(err)
	}
	return p, g
}

// TestEffectiveIsExact checks that the effective sigma never exceeds the exact remaining noise, and is close to it, for
// several numbers of colluders. In small graphs, the test computes the exact noise by inverting a matrix for every set
// of colluders.
func TestEffectiveIsExact(t *testing.T) {
	for _, c := range []struct {
		graph        string
		n, colluders int // as suggested for
		absent       int
		others       []int // further numbers of colluders
	}{
		{"ring", 9, 1, 0, []int{0, 2, 8}},
		{"ring with partners", 9, 3, 0, []int{1, 5}},
		{"ring with partners", 9, 2, 1, []int{0, 4}},
		{"complete", 8, 1, 0, []int{0, 3, 7}},
		{"complete", 31, 10, 0, []int{15, 30}},
		{"complete", 8, 2, 2, []int{5}},
		{"er:0.6", 12, 2, 0, []int{1}},
		{"complete", 2, 0, 0, []int{1}},
	} {
		p, g := sharedNoise(t, c.graph, c.n, c.colluders, c.absent)
		stated := p.EffectiveSigma
		for _, p.Colluders = range append(c.others, c.colluders) {
			found, err := plan.Effective(p, g)
			if err != nil || p.Colluders == c.colluders && stated > found {
				t.Fatalf("%+v: %v, stated as %v, and %v", c, found, stated, err)
			}
			if exact := left(g, p, p.Colluders+c.absent); found > exact*(1+1e-9) {
				t.Errorf("%+v: %d colluders leave %v, stated as %v", c, p.Colluders, exact, found)
			} else if c.absent == 0 && exact > found*(1+1e-3) {
				t.Errorf("%+v: %d colluders leave %v, stated as only %v", c, p.Colluders, exact, found)
			}
		}
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
