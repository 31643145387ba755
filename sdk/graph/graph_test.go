package graph

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Parse is the function Parse of package topology, which imports this package; an external test sets it.
var Parse func(spec string, n int, seed uint64) (*Graph, error)

func mustParse(t testing.TB, spec string, n int, seed uint64) *Graph {
	t.Helper()
	g, err := Parse(spec, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// checkShape checks a graph against the definition: edges ascending with i < j, neighbor lists ascending and consistent
// with the edges from both ends, a path between any two nodes.
func checkShape(t *testing.T, g *Graph) {
	t.Helper()
	linked := map[[2]int]bool{}
	for k, e := range g.Edges() {
		if e[0] < 0 || e[0] >= e[1] || e[1] >= g.N() {
			t.Fatalf("edge %d is %v on %d nodes", k, e, g.N())
		}
		if k > 0 && slices.Compare(g.Edges()[k-1][:], e[:]) >= 0 {
			t.Fatalf("edges %v and %v are out of order", g.Edges()[k-1], e)
		}
		linked[e] = true
	}
	ends := 0
	for i := range g.N() {
		near := g.Neighbors(i)
		ends += len(near)
		for k, j := range near {
			if k > 0 && near[k-1] >= j {
				t.Fatalf("neighbors of %d: %v", i, near)
			}
			if !linked[[2]int{min(i, j), max(i, j)}] {
				t.Fatalf("%d has neighbor %d without an edge", i, j)
			}
		}
	}
	if ends != 2*len(g.Edges()) {
		t.Fatalf("%d neighbors for %d edges", ends, len(g.Edges()))
	}
	if reached, _ := g.reach(); reached != g.N() {
		t.Fatalf("%d of %d nodes within reach", reached, g.N())
	}
}

func TestNew(t *testing.T) {
	given := [][2]int{{3, 1}, {0, 2}, {2, 1}, {0, 1}}
	g, err := New(4, given)
	if err != nil {
		t.Fatal(err)
	}
	checkShape(t, g)
	if want := [][2]int{{0, 1}, {0, 2}, {1, 2}, {1, 3}}; !reflect.DeepEqual(g.Edges(), want) {
		t.Errorf("edges %v, want %v", g.Edges(), want)
	}
	for i, want := range [][]int{{1, 2}, {0, 2, 3}, {0, 1}, {1}} {
		if !slices.Equal(g.Neighbors(i), want) {
			t.Errorf("neighbors of %d: %v, want %v", i, g.Neighbors(i), want)
		}
	}
	given[0] = [2]int{0, 0}
	checkShape(t, g)

	// Growing one neighbor list must not overwrite the next.
	_ = append(g.Neighbors(0), 99)
	checkShape(t, g)

	if g, err := New(1, nil); err != nil || g.N() != 1 || len(g.Neighbors(0)) != 0 || len(g.Edges()) != 0 {
		t.Errorf("single node: %v, %v", g, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		edges [][2]int
		want  []string
	}{
		{"no node", 0, nil, []string{"found 0 nodes, wanted 1..1048576"}},
		{"too many nodes", 1<<20 + 1, nil, []string{"found 1048577 nodes"}},
		{"too many edges", 2, make([][2]int, 1<<22+1), []string{"found 4194305 edges, wanted at most 4194304"}},
		{"self loop", 3, [][2]int{{0, 1}, {2, 2}, {1, 2}}, []string{"edge 1: found (2, 2), a self loop"}},
		{"repeated", 3, [][2]int{{0, 1}, {1, 2}, {0, 1}}, []string{"edge 2: found (0, 1) again, the same as edge 0"}},
		{"repeated in reverse", 3, [][2]int{{2, 1}, {0, 1}, {1, 2}},
			[]string{"edge 2: found (1, 2) again, the same as edge 0"}},
		{"above", 3, [][2]int{{0, 1}, {1, 3}}, []string{"edge 1: found (1, 3), wanted nodes in 0..2"}},
		{"below", 3, [][2]int{{-1, 1}}, []string{"edge 0: found (-1, 1), wanted nodes in 0..2"}},
		{"apart", 5, [][2]int{{0, 4}, {1, 2}, {2, 3}}, []string{"there is no path from node 0 to node 1 (2 of 5 nodes"}},
		{"lone node", 2, nil, []string{"there is no path from node 0 to node 1 (1 of 2"}},
		{
			"all at once", 3, [][2]int{{0, 0}, {0, 7}, {0, 1}, {1, 0}},
			[]string{"edge 0: found (0, 0)", "edge 1: found (0, 7)", "edge 3: found (1, 0) again"},
		},
		{"a flood", 2, make([][2]int, 1000), []string{"edge 19: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := New(c.n, c.edges)
			if err == nil {
				t.Fatalf("got %v, want an error", g.Edges())
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if n := strings.Count(err.Error(), "\n"); n >= MaxFaults {
				t.Errorf("an error of %d lines", n+1)
			}
			if !strings.HasPrefix(err.Error(), "graph: ") {
				t.Errorf("error %q does not start with the package", err)
			}
		})
	}
}
