package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// resistance returns the resistance from node i to ground without some nodes, by a dense elimination of everything but i
// in which nothing is subtracted: a node that goes leaves a mesh between its neighbors and ground, as a star of resistors
// does. So all digits but a few are right.
func resistance(g *Graph, w float64, i int, gone []bool) float64 {
	n := g.N()
	c := make([][]float64, n+1) // node n is ground
	for u := range c {
		c[u] = make([]float64, n+1)
	}
	for u := range n {
		c[u][n], c[n][u] = 1, 1
	}
	for _, e := range g.Edges() {
		if !gone[e[0]] && !gone[e[1]] {
			c[e[0]][e[1]], c[e[1]][e[0]] = w, w
		}
	}
	for k := range n {
		if k == i || gone[k] {
			continue
		}
		var sum float64
		for u := range c {
			sum += c[k][u]
		}
		for u := range c {
			for v := range c {
				if u != v && u != k && v != k {
					c[u][v] += c[u][k] * c[k][v] / sum
				}
			}
		}
		for u := range c {
			c[u][k], c[k][u] = 0, 0
		}
	}
	return 1 / c[i][n]
}

// reference tries everything.
func reference(g *Graph, ratio float64, colluders int) float64 {
	gone, worst := make([]bool, g.N()), 0.0
	var try func(from, left int)
	try = func(from, left int) {
		for i := range g.N() {
			if !gone[i] {
				worst = max(worst, resistance(g, ratio*ratio, i, gone))
			}
		}
		for v := from; v < g.N() && left > 0; v++ {
			gone[v] = true
			try(v+1, left-1)
			gone[v] = false
		}
	}
	try(0, min(colluders, g.N()-1))
	return 1 / worst
}

func conductance(t testing.TB, g *Graph, ratio float64, colluders int) Conductance {
	t.Helper()
	c, err := g.Conductance(ratio, colluders)
	if err != nil {
		t.Fatal(err)
	}
	if c.Exact {
		gone := make([]bool, g.N())
		for _, v := range c.Without {
			gone[v] = true
		}
		if k := 1 / resistance(g, ratio*ratio, c.Node, gone); gone[c.Node] || c.Least > k || c.Least < k*(1-2e-9) {
			t.Errorf("%d nodes, %d edges, ratio %v: %+v, and that node has %v then", g.N(), len(g.Edges()), ratio, c, k)
		}
	}
	if len(c.Without) > colluders {
		t.Errorf("%d colluders: %+v", colluders, c)
	}
	return c
}

// random returns a connected graph: a random tree and some edges.
func random(t testing.TB, r *rand.Rand, n int, p float64) *Graph {
	t.Helper()
	var edges [][2]int
	for j := 1; j < n; j++ {
		parent := r.IntN(j)
		for i := range j {
			if i == parent || r.Float64() < p {
				edges = append(edges, [2]int{i, j})
			}
		}
	}
	g, err := New(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestConductanceOfAllChoices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	exact, all, loose := 0, 0, 1.0
	for range 400 {
		g := random(t, r, 1+r.IntN(9), r.Float64())
		for colluders := range 4 {
			ratio := math.Ldexp(1, r.IntN(15)-4)
			want, got := reference(g, ratio, colluders), conductance(t, g, ratio, colluders)
			if got.Least > want {
				t.Errorf("%v, ratio %v, %d colluders: %+v, want at most %v", g.Edges(), ratio, colluders, got, want)
			}
			if got.Exact && got.Least < want*(1-1e-9) {
				t.Errorf("%v, ratio %v, %d colluders: %+v, want %v", g.Edges(), ratio, colluders, got, want)
			}
			if all++; got.Exact {
				exact++
			} else if colluders <= maxExactGone {
				t.Errorf("%v, ratio %v, %d colluders: %+v is not exact", g.Edges(), ratio, colluders, got)
			}
			loose = min(loose, got.Least/want)
		}
	}
	t.Logf("%d of %d are exact, the loosest bound is %.3f of the truth", exact, all, loose)
}

func BenchmarkConductance(b *testing.B) {
	for _, c := range []struct {
		spec  string
		nodes int
	}{{"er:0.3", 100}, {"er:0.3", 1000}, {"ring", 1000}, {"grid:25x40", 1000}, {"regular:4", 1000}, {"er:0.01", 1000}} {
		g := described(b, c.spec, c.nodes)
		for colluders := range 3 {
			for _, ratio := range []float64{1, 4, 16, 64, 1024} {
				b.Run(fmt.Sprintf("%s/n=%d/c=%d/r=%v", c.spec, c.nodes, colluders, ratio), func(b *testing.B) {
					for range b.N {
						clear(kept.results)
						k, err := g.Conductance(ratio, colluders)
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(k.Least, "least")
						b.ReportMetric(map[bool]float64{true: 1}[k.Exact], "exact")
					}
				})
			}
		}
	}
}

// described is mustParse, and knows random regular graphs.
func described(t testing.TB, spec string, n int) *Graph {
	t.Helper()
	degree := 0
	if _, err := fmt.Sscanf(spec, "regular:%d", &degree); err != nil {
		return mustParse(t, spec, n, 1)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for {
		var edges [][2]int
		have := map[[2]int]bool{}
		for range degree / 2 { // the sum of rings in random order
			p := r.Perm(n)
			for x, u := range p {
				v := p[(x+1)%n]
				if e := [2]int{min(u, v), max(u, v)}; !have[e] {
					have[e] = true
					edges = append(edges, e)
				}
			}
		}
		if len(edges) == n*degree/2 || n < 100 {
			g, err := New(n, edges)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
	}
}
