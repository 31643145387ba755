package graph

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// resistance returns the resistance from node i to ground after the nodes in gone are removed. It eliminates all nodes
// but i, without subtractions: an eliminated node leaves a mesh between its neighbors and ground, as in the star-mesh
// transform of resistors. Rounding in a step changes each conductance by at most a few units in the last place, and by
// Rayleigh's law the relative change of the result is no larger.
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

// rounding is an upper bound on the relative error of the function resistance for nine nodes.
const rounding = 1e-13

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
	if c.Exact && g.N() <= 200 {
		gone := make([]bool, g.N())
		for _, v := range c.Without {
			gone[v] = true
		}
		if k := 1 / resistance(g, ratio*ratio, c.Node, gone); gone[c.Node] || c.Least > k || c.Least < k*(1-2*negligible) {
			t.Errorf("%d nodes, %d edges, ratio %v: %+v, and that node has %v then", g.N(), len(g.Edges()), ratio, c, k)
		}
	}
	if len(c.Without) > colluders {
		t.Errorf("%d colluders: %+v", colluders, c)
	}
	return c
}

// random returns a connected graph: a random tree in which each other pair of nodes is also linked with probability p.
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
	for range graphs(400) {
		g := random(t, r, 1+r.IntN(9), r.Float64())
		for colluders := range 4 {
			ratio := math.Ldexp(1, r.IntN(15)-4)
			want, got := reference(g, ratio, colluders), conductance(t, g, ratio, colluders)
			if got.Least > want*(1+rounding) {
				t.Errorf("%v, ratio %v, %d colluders: %+v, want at most %v", g.Edges(), ratio, colluders, got, want)
			}
			if got.Least < want*(1-2*negligible) && (got.Exact || got.Least < want*(1-2e-3)) {
				t.Errorf("%v, ratio %v, %d colluders: %+v, want %v", g.Edges(), ratio, colluders, got, want)
			}
			if all++; got.Exact {
				exact++
			} else if ratio <= 64 {
				t.Errorf("%v, ratio %v, %d colluders: %+v is not exact", g.Edges(), ratio, colluders, got)
			}
			loose = min(loose, got.Least/want)
		}
	}
	t.Logf("%d of %d are exact, the loosest bound is %.3f of the truth", exact, all, loose)
}

// graphs returns the number of random graphs to test: the given number with SPADE_LONG, otherwise a quarter of it.
func graphs(many int) int {
	if os.Getenv("SPADE_LONG") == "" {
		many /= 4
	}
	return many
}

// TestConductanceBounds checks that the result of Conductance is a lower bound for every choice of colluders.
func TestConductanceBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range graphs(240) {
		n := 4 + r.IntN(7)
		g := random(t, r, n, r.Float64())
		ratio := math.Ldexp(1, r.IntN(15)-4)
		w := ratio * ratio
		lambda2 := g.surely(g.Lambda2() * (1 - below))
		if want := jacobi(g)[1]; lambda2 > want || lambda2 < want*(1-1e-5) {
			t.Errorf("%v: an eigenvalue of surely %v, want %v", g.Edges(), lambda2, want)
		}
		if above := g.surely(g.Lambda2() * (1 + 1e-6)); above > 0 {
			t.Errorf("%v: an eigenvalue of %v is taken for a larger one", g.Edges(), lambda2)
		}
		for gone := range 4 {
			least := n
			for i := range n {
				least = min(least, len(g.Neighbors(i)))
			}
			if gone >= least {
				break
			}
			want := reference(g, ratio, gone) * (1 + rounding)
			if got := spectral(n-gone, w, lambda2-float64(gone)); got > want {
				t.Errorf("%v, ratio %v, %d colluders: spectrum %v, want at most %v", g.Edges(), ratio, gone, got, want)
			}
			if got := g.treeBound(w, gone); got > want {
				t.Errorf("%v, ratio %v, %d colluders: tree %v, want at most %v", g.Edges(), ratio, gone, got, want)
			}
		}
	}
}

// TestConductanceRounding checks that the error bound that the method release returns is never below the actual error,
// even for the largest ratio.
func TestConductanceRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range graphs(200) {
		n := 2 + r.IntN(20)
		g := random(t, r, n, r.Float64()*r.Float64())
		ratio := math.Ldexp(1, r.IntN(17)-4)
		w, gone := ratio*ratio, make([]bool, n)
		a, share := g.inverse(w, gone)
		for i := range n {
			if want := resistance(g, w, i, gone); math.Abs(a[i][i]-want) > (share+rounding)*want {
				t.Errorf("%v, ratio %v, node %d: %v, want %v", g.Edges(), ratio, i, a[i][i], want)
			}
		}
		v := r.IntN(n)
		got, share := g.release(a, share, w, v, gone)
		gone[v] = true
		for i := range n {
			if want := resistance(g, w, i, gone); i != v && (got[i]*(1+share) < want*(1-rounding) ||
				share < 1 && math.Abs(got[i]-want) > (share+rounding)*want) {
				t.Errorf("%v, ratio %v, node %d without %d: %v, off by %v; want %v", g.Edges(), ratio, i, v, got[i], share, want)
			}
		}
	}
}

func TestConductanceOfRings(t *testing.T) {
	for _, n := range []int{3, 4, 10, 60, 300} {
		for _, ratio := range []float64{0.5, 1, 4, 32, 1024} {
			w := ratio * ratio
			end := make([]float64, n) // end[k] is the conductance at the end of a path of k+1 nodes
			end[0] = 1
			for k := 1; k < n; k++ {
				end[k] = 1 + w*end[k-1]/(w+end[k-1])
			}
			g := mustParse(t, "ring", n, 0)
			if got, want := conductance(t, g, ratio, 1), end[n-2]; !got.Exact && ratio <= 64 || got.Least > want ||
				got.Exact && got.Least < want*(1-2*negligible) {
				t.Errorf("ring of %d, ratio %v: %+v, want %v", n, ratio, got, want)
			}
			path := mustParse(t, "path", n, 0)
			if got, want := conductance(t, path, ratio, 0), end[n-1]; !got.Exact || math.Abs(got.Least/want-1) > 2*negligible {
				t.Errorf("path of %d, ratio %v: %+v, want %v", n, ratio, got, want)
			}
			if got := conductance(t, path, ratio, 1); got.Least != 1 || !got.Exact || got.Node != 0 || got.Without[0] != 1 {
				t.Errorf("path of %d, ratio %v: %+v, want 1", n, ratio, got)
			}
		}
	}
}

func TestConductanceRefuses(t *testing.T) {
	g := mustParse(t, "ring", 5, 0)
	for _, ratio := range []float64{0, -1, 4097, math.Inf(1), math.NaN()} {
		if c, err := g.Conductance(ratio, 1); err == nil {
			t.Errorf("ratio %v: %+v, want an error", ratio, c)
		}
	}
	if c, err := g.Conductance(1, -1); err == nil {
		t.Errorf("-1 colluders: %+v, want an error", c)
	}
}

func TestConductanceGolden(t *testing.T) {
	for _, c := range []struct {
		spec      string
		nodes     int
		ratio     float64
		colluders int
		want      float64
	}{
		{"ring", 30, 1, 1, 0x1.9e3779b97d12dp+00},
		{"ring", 30, 8, 0, 0x1.e95e3b129a0ddp+03},
		{"ring", 30, 64, 1, 0x1.b414950c5e46ep+04},
		{"grid:5x6", 30, 8, 1, 0x1.06ba4cf169a33p+04},
		{"grid:5x6", 30, 64, 0, 0x1.dcce5b608279fp+04},
		{"er:0.3", 31, 1, 2, 0x1.ceeea3eec26fap+00},
		{"er:0.3", 31, 8, 1, 0x1.7da43c72e840fp+04},
		{"er:0.3", 31, 8, 3, 0x1p+00},
		{"er:0.3", 31, 64, 2, 0x1.cc2147609843ep+04},
		{"er:0.3", 100, 8, 1, 0x1.6c6f4c1b03ddp+06},
		{"er:0.3", 100, 8, 3, 0x1.5f6f42c5df43ep+06},
		{"regular:4", 200, 8, 1, 0x1.2a02bdc24f8ffp+06},
		{"regular:4", 80, 8, 2, 0x1.23186895cb8f6p+05},
		{"regular:4", 200, 8, 3, 0x1.2fcd3d64d523p+04},
		{"star", 20, 8, 0, 0x1.ef8867380955ep+03},
		{"complete", 50, 8, 0, 0x1.89f81f81f66e5p+05},
		{"complete", 50, 8, 3, 0x1.7256a56a550e3p+05},
	} {
		if got := conductance(t, mustParse(t, c.spec, c.nodes, 1), c.ratio, c.colluders); got.Least != c.want {
			t.Errorf("%s of %d, ratio %v, %d colluders: %x, want %x", c.spec, c.nodes, c.ratio, c.colluders, got.Least, c.want)
		}
	}
}
