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
		if k := 1 / resistance(g, ratio*ratio, c.Node, gone); gone[c.Node] || math.Abs(k/c.Least-1) > 1e-9 {
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

func TestTmp(t *testing.T) {
	for _, spec := range []string{"ring", "er:0.3", "grid:5x6"} {
		for c := range 5 {
			for _, ratio := range []float64{1, 4, 32, 1024} {
				g := mustParse(t, spec, 30, 1)
				fmt.Println(spec, c, ratio, conductance(t, g, ratio, c))
			}
		}
	}
}
