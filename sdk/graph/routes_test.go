package graph

import (
	"fmt"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

type sketch struct{ edges [][2]int }

func (s *sketch) path(nodes ...int) {
	for k := 1; k < len(nodes); k++ {
		s.edges = append(s.edges, [2]int{nodes[k-1], nodes[k]})
	}
}

func (s *sketch) clique(from, to int) {
	for i := from; i < to; i++ {
		for j := from; j < i; j++ {
			s.edges = append(s.edges, [2]int{j, i})
		}
	}
}

func (s *sketch) graph(t *testing.T, n int) *Graph {
	t.Helper()
	g, err := New(n, s.edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// span returns from, from+1, ..., to-1.
func span(from, to int) (nodes []int) {
	for i := from; i < to; i++ {
		nodes = append(nodes, i)
	}
	return nodes
}

func renumbered(t *testing.T, g *Graph, seed uint64) *Graph {
	t.Helper()
	s := rng.New(seed, rng.Address{Purpose: rng.Graph})
	name := span(0, g.N())
	s.Shuffle(len(name), func(i, j int) { name[i], name[j] = name[j], name[i] })
	var out sketch
	for _, e := range g.Edges() {
		out.path(name[e[1]], name[e[0]])
	}
	return out.graph(t, g.N())
}

// TestKnownSpectra checks that the closed forms for known kinds of graphs agree with a complete iteration, and that a
// graph that differs slightly from one of these kinds is not mistaken for it.
func TestKnownSpectra(t *testing.T) {
	for _, spec := range []string{"ring", "path", "star", "complete", "grid:2x2", "grid:2x9", "grid:9x2", "grid:5x7", "grid:4x4"} {
		sizes := []int{2, 3, 4, 5, 6, 7, 20, 31}
		var rows, columns int
		if k, _ := fmt.Sscanf(spec, "grid:%dx%d", &rows, &columns); k == 2 {
			sizes = []int{rows * columns}
		}
		for _, n := range sizes {
			g := mustParse(t, spec, n, 0)
			if rows == 0 {
				g = renumbered(t, g, uint64(n))
			}
			top, second, ok := g.known()
			wantTop, _ := g.extreme(true)
			wantSecond, _ := g.extreme(false)
			if !ok || math.Abs(top/wantTop-1) > 1e-14 || math.Abs(second/wantSecond-1) > 1e-13 {
				t.Errorf("%s on %d nodes: %.17g and %.17g, %v, want %.17g and %.17g", spec, n, top, second, ok, wantTop, wantSecond)
			}
		}
	}
	for _, n := range []int{302, 303} {
		for _, spec := range []string{"ring", "path", "star", "complete"} {
			g := mustParse(t, spec, n, 0)
			if again := renumbered(t, g, 7); again.LambdaMax() != g.LambdaMax() || again.Lambda2() != g.Lambda2() {
				t.Errorf("%s on %d nodes: the numbering matters", spec, n)
			}
		}
	}
	for name, edges := range map[string][][2]int{
		"a ring with a tail":      {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 4}},
		"a star with an edge":     {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}},
		"complete less an edge":   {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}},
		"a fork":                  {{0, 1}, {1, 2}, {2, 3}, {2, 4}},
		"a grid less an edge":     {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {0, 3}, {1, 4}},
		"a grid with another one": {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {0, 3}, {1, 4}, {1, 5}},
		"a grid, another way":     {{0, 2}, {1, 2}, {3, 4}, {4, 5}, {0, 3}, {1, 4}, {2, 5}},
	} {
		n := 0
		for _, e := range edges {
			n = max(n, e[0]+1, e[1]+1)
		}
		if g := (&sketch{edges}).graph(t, n); true {
			if top, second, ok := g.known(); ok {
				t.Errorf("%s is taken for one of the kinds, with %v and %v", name, top, second)
			}
		}
	}
}

// hostile returns graphs of about n nodes that are hard for at least one way to compute the spectrum: their eigenvalues
// are small, crowded or far apart, or their eigenvectors are concentrated in a corner.
func hostile(t *testing.T, n int) map[string]*Graph {
	s := rng.New(5, rng.Address{Purpose: rng.Graph})
	all := map[string]*Graph{}
	add := func(name string, n int, draw func(b *sketch)) {
		var b sketch
		draw(&b)
		all[name] = b.graph(t, n)
	}
	third := n / 3
	add("ring with a chord", n, func(b *sketch) {
		b.path(append(span(0, n), 0)...)
		b.path(0, third)
	})
	add("barbell", 3*third, func(b *sketch) {
		b.clique(0, third)
		b.clique(2*third, 3*third)
		b.path(span(third-1, 2*third+1)...)
	})
	add("chain of cliques", 8*(n/8), func(b *sketch) {
		for c := range n / 8 {
			b.clique(8*c, 8*c+8)
			if c > 0 {
				b.path(8*c-1, 8*c)
			}
		}
	})
	add("thin tree", n, func(b *sketch) {
		for j := 1; j < n; j++ {
			b.path(j-1-s.IntN(min(j, 3)), j)
		}
	})
	add("spider", 1+10*(n/10), func(b *sketch) { // ten equal legs: an eigenvalue of multiplicity nine
		for k := range 10 {
			b.path(append([]int{0}, span(1+k*(n/10), 1+(k+1)*(n/10))...)...)
		}
	})
	add("broom", n, func(b *sketch) {
		b.path(span(0, third)...)
		for j := third; j < n; j++ {
			b.path(third-1, j)
		}
	})
	add("cubic", 2*(n/2), func(b *sketch) { // a ring and those pairs of a random matching that the ring does not link
		half := span(0, 2*(n/2))
		b.path(append(half, 0)...)
		s.Shuffle(len(half), func(i, j int) { half[i], half[j] = half[j], half[i] })
		for k := 0; k < len(half); k += 2 {
			if d := (half[k] - half[k+1] + len(half)) % len(half); d != 1 && d != len(half)-1 {
				b.path(half[k], half[k+1])
			}
		}
	})
	add("grid less an edge", third*3, func(b *sketch) { b.edges = GridEdges(third, 3)[1:] })
	all["er"] = mustParse(t, fmt.Sprintf("er:%v", 8/float64(n)), n, 2)
	return all
}

// TestSpectrumRoutes checks that every way to compute the largest and the second-smallest eigenvalue agrees with a
// complete iteration: the largest is never too low, the second-smallest is never too high, and both are close to the
// true eigenvalues.
func TestSpectrumRoutes(t *testing.T) {
	for _, n := range []int{48, 110, 330}[:min(3, graphs(8))] {
		for name, g := range hostile(t, n) {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				top, _ := g.extreme(true)
				second, _ := g.extreme(false)
				if n == 48 { // compare with an independent solver too
					values := jacobi(g)
					top, second = values[g.N()-1], values[1]
				}
				rounding := 1e-13 * top // rounding error of the iteration and the solver
				if theta, residual := g.approach(true, tolerance); theta > top+rounding || theta+residual < top-rounding ||
					theta+residual > top*(1+2*tolerance) {
					t.Errorf("largest: %.17g and %.3g, want %.17g", theta, residual, top)
				}
				theta, residual := g.approach(false, below/10)
				if theta < second-rounding || residual <= theta*below/10 && theta*(1-below) > second+rounding {
					t.Errorf("second: %.17g and %.3g, want %.17g", theta, residual, second)
				}
				if got := g.Lambda2(); got > second+rounding || got < second*(1-1e-4)-rounding {
					t.Errorf("Lambda2: %.17g, want %.17g", got, second)
				}
			})
		}
	}
}

// TestSpectrumFamilies checks that the iteration finds the known spectra of graphs whose nodes are renumbered so that
// the function known does not recognize these graphs.
func TestSpectrumFamilies(t *testing.T) {
	wave := func(k, n int) float64 { return 4 * math.Pow(math.Sin(math.Pi*float64(k)/float64(n)), 2) } // the eigenvalues of a ring
	check := func(name string, n int, top, second float64, draw func(b *sketch)) {
		t.Helper()
		var b sketch
		draw(&b)
		g := renumbered(t, b.graph(t, n), 3)
		if got := g.LambdaMax(); got < top*(1-1e-13) || got > top*(1+2*tolerance) {
			t.Errorf("%s: LambdaMax is %.12g, want %.12g", name, got, top)
		}
		if got := g.Lambda2(); got > second*(1+1e-13) || got < second*(1-1e-5) {
			t.Errorf("%s: Lambda2 is %.12g, want %.12g", name, got, second)
		}
	}
	check("torus", 40*50, 8, wave(1, 50), func(b *sketch) {
		for i := range 40 {
			for j := range 50 {
				b.path(50*i+j, 50*i+(j+1)%50)
				b.path(50*i+j, 50*((i+1)%40)+j)
			}
		}
	})
	check("grid out of order", 30*70, 8-wave(1, 60)-wave(1, 140), wave(1, 140), func(b *sketch) { b.edges = GridEdges(30, 70) })
}
