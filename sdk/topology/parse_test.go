package topology

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func mustParse(t testing.TB, spec string, n int, seed uint64) *graph.Graph {
	t.Helper()
	g, err := Parse(spec, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParseKinds(t *testing.T) {
	for _, c := range []struct {
		spec   string
		n      int
		linked func(i, j int) bool // for i < j
	}{
		{"ring", 7, func(i, j int) bool { return j == i+1 || (i == 0 && j == 6) }},
		{"ring", 3, func(i, j int) bool { return true }},
		{"ring", 2, func(i, j int) bool { return true }},
		{"path", 6, func(i, j int) bool { return j == i+1 }},
		{"star", 6, func(i, j int) bool { return i == 0 }},
		{"complete", 6, func(i, j int) bool { return true }},
		{"grid:3x4", 12, func(i, j int) bool { return (i/4 == j/4 && j == i+1) || j == i+4 }},
		{"grid:1x5", 5, func(i, j int) bool { return j == i+1 }},
		{"grid:5x1", 5, func(i, j int) bool { return j == i+1 }},
		{"er:1", 6, func(i, j int) bool { return true }},
		{"regular:5", 6, func(i, j int) bool { return true }},
		{"regular:2", 3, func(i, j int) bool { return true }},
		{"ring", 1, nil},
		{"path", 1, nil},
		{"star", 1, nil},
		{"complete", 1, nil},
		{"grid:1x1", 1, nil},
		{"er:0.5", 1, nil},
	} {
		t.Run(fmt.Sprintf("%s on %d", c.spec, c.n), func(t *testing.T) {
			var want [][2]int
			for i := range c.n {
				for j := i + 1; j < c.n; j++ {
					if c.linked(i, j) {
						want = append(want, [2]int{i, j})
					}
				}
			}
			g := mustParse(t, c.spec, c.n, 1)
			if g.N() != c.n || !slices.Equal(g.Edges(), want) {
				t.Errorf("%d nodes, edges %v, want %d, %v", g.N(), g.Edges(), c.n, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		spec string
		n    int
		want string
	}{
		{"regular", 4, "found no value after regular"},
		{"regular:1", 4, `found 1 neighbors for each of 4 nodes, wanted 2 to 3`},
		{"regular:4", 4, `found 4 neighbors for each of 4 nodes`},
		{"regular:3", 5, "an even number if the number of nodes is odd"},
		{"regular:x", 4, `found "x" neighbors`},
		{"regular:90000", 100000, "edges, wanted at most"},
		{"", 4, "wanted ring, complete, star, path, grid:RxC, er:P, regular:K or file:F"},
		{"rign", 4, `"rign": found an unknown kind, wanted ring, complete`},
		{"ring:3", 4, `found ":3" after ring, wanted nothing`},
		{"ring", 0, "found 0 nodes, wanted 1.."},
		{"path", 1 << 21, "found 2097152 nodes"},
		{"complete", 1 << 20, "found 549755289600 edges, wanted at most"},
		{"grid", 4, "found no value after grid"},
		{"grid:2x", 4, `found size "2x", wanted RxC`},
		{"grid:2x2x1", 4, "wanted RxC"},
		{"grid:0x4", 4, "wanted RxC with R and C at least 1"},
		{"grid:2x3", 4, "found 2 rows and 3 columns for 4 nodes"},
		{"grid:65536x65537", 65536, "found 65536 rows and 65537 columns for 65536 nodes"}, // equal modulo 2^32
		{"er:", 4, "found no value after er"},
		{"er:0", 4, `found probability "0", wanted a number in (0, 1]`},
		{"er:1.5", 4, "wanted a number in (0, 1]"},
		{"er:NaN", 4, "wanted a number in (0, 1]"},
		{"er:0.001", 20, "none of 100 random graphs on 20 nodes was connected; use a larger P: below ln(n)/n = 0.15"},
		{"er:1e-300", 20, "none of 100 random graphs"},
		{"er:0.5", 1 << 16, "probability 0.5 may give too many edges: found 2147450880 edges"},
		{"file:", 4, "found no value after file"},
		{"file:does/not/exist", 4, "does/not/exist"},
		{strings.Repeat("x", 5000), 4, "unknown kind"},
	} {
		g, err := Parse(c.spec, c.n, 1)
		if err == nil {
			t.Errorf("Parse(%.20q, %d) gave a graph with edges %v, want an error", c.spec, c.n, g.Edges())
			continue
		}
		if !strings.HasPrefix(err.Error(), "graph: \"") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%.20q, %d): %q does not say %q", c.spec, c.n, err, c.want)
		}
		if len(err.Error()) > 400 {
			t.Errorf("Parse(%.20q, %d): an error of %d bytes", c.spec, c.n, len(err.Error()))
		}
	}
}

// TestErdosRenyiSeeds checks that an er graph is a function of its seed, and that different seeds give different
// graphs.
func TestErdosRenyiSeeds(t *testing.T) {
	a, b, c := mustParse(t, "er:0.3", 30, 1), mustParse(t, "er:0.3", 30, 1), mustParse(t, "er:0.3", 30, 2)
	if !slices.Equal(a.Edges(), b.Edges()) {
		t.Error("the same seed gave two graphs")
	}
	if slices.Equal(a.Edges(), c.Edges()) {
		t.Error("two seeds gave the same graph")
	}
	// These edges are the same on every processor and in every version.
	want := [][2]int{{0, 3}, {1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}, {3, 4}, {3, 5}}
	if got := mustParse(t, "er:0.5", 6, 7).Edges(); !slices.Equal(got, want) {
		t.Errorf("er:0.5 on 6 nodes with seed 7: %v, want %v", got, want)
	}
}

// TestErdosRenyiRedraws checks that if P is so small that most draws are disconnected, Parse draws again until it finds
// a connected graph.
func TestErdosRenyiRedraws(t *testing.T) {
	later := 0
	for seed := range uint64(20) {
		g := mustParse(t, "er:0.15", 20, seed)
		s := rng.New(seed, rng.Address{Purpose: rng.Graph})
		first := erEdges(&s, 0.15, 20)
		if len(first) != len(g.Edges()) {
			later++
		}
	}
	if later == 0 {
		t.Error("no seed out of 20 needed a second draw; the test has no power")
	}
}

// TestErdosRenyiFrequencies checks that every pair is an edge equally often, wherever the walk over the pairs meets it:
// in 10,000 draws the frequencies of all 45 pairs are within six standard deviations, 0.028, of P = 0.3.
func TestErdosRenyiFrequencies(t *testing.T) {
	const n, draws, p = 10, 10_000, 0.3
	var count [n][n]int
	for k := range draws {
		s := rng.New(3, rng.Address{Purpose: rng.Graph, Round: uint32(k)})
		last := -1
		for _, e := range erEdges(&s, p, n) {
			if e[0] < 0 || e[0] >= e[1] || e[1] >= n {
				t.Fatalf("draw %d has edge %v", k, e)
			}
			if at := e[1]*(e[1]-1)/2 + e[0]; at <= last {
				t.Fatalf("draw %d: edge %v at place %d after place %d", k, e, at, last)
			} else {
				last = at
			}
			count[e[0]][e[1]]++
		}
	}
	tolerance := 6 * math.Sqrt(p*(1-p)/draws)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if f := float64(count[i][j]) / draws; math.Abs(f-p) > tolerance {
				t.Errorf("pair (%d, %d): frequency %.4f, want %.2f +- %.4f", i, j, f, p, tolerance)
			}
		}
	}
}

// TestParseFile checks that a file of edges may have numbers or, if the nodes have names, names. A number is refused
// where it could also be a name.
func TestParseFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "net.txt")
	for _, c := range []struct {
		names      string // separated by commas
		text, want string
	}{
		{"", "# two floors\n0 1\n\n  1\t2  # stairs\r\n3 2\n#\n0 3", "[[0 1] [0 3] [1 2] [2 3]]"},
		{"hall,lab,ward 3,ward 4", "hall lab\nlab \tward 3 # stairs\n 2 3", "[[0 1] [1 2] [2 3]]"},
		{"hall,lab", "hall labs", `:1: found "hall labs", wanted two members such as "hall lab"`},
		{"1,2,3", "1 2\n2 3", "[[0 1] [1 2]]"},
		{"1,2,3", "0 1\n1 2", `:1: found "0 1", wanted two members such as "1 2"`},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := Parse("file:"+name, 4, 0)
		if c.names != "" {
			g, err = ParseNamed("file:"+name, strings.Split(c.names, ","), 0)
		}
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(g.Edges())
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("names %q: %s, want %s", c.names, got, c.want)
		}
	}
}

func TestReadEdgesRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"words", "0 1\n1 two\n", []string{`f:2: found "1 two", wanted two node numbers`}},
		{"one number", "0\n", []string{`f:1: found "0", wanted`}},
		{"three numbers", "0 1 2\n", []string{`f:1: found "0 1 2", wanted`}},
		{"commas", "0,1\n", []string{`f:1: found "0,1", wanted`}},
		{"fraction", "0 1.0\n", []string{`f:1: found "0 1.0", wanted`}},
		{"overflow", "0 99999999999999999999\n", []string{"f:1: found"}},
		{"self loop", "# x\n1 1\n0 1", []string{"f:2: found (1, 1), a self loop"}},
		{"out of range", "0 1\n0 3", []string{"f:2: found (0, 3), wanted nodes in 0..2"}},
		{"negative", "0 -1", []string{"f:1: found (0, -1)"}},
		{"again", "0 1\n1 2\n1 0", []string{"f:3: found (1, 0) again, the same as f:1"}},
		{"apart", "0 1", []string{"there is no path from node 0 to node 2"}},
		{"empty", "", []string{"not connected"}},
		{"long line", "0 1\n" + strings.Repeat("0", 1<<17), []string{"f:2: ", "too long"}},
		{"two faults", "a\n0 1\nb\n", []string{"f:1: ", "f:3: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := readEdges(strings.NewReader(c.text), "f", 3, nil)
			if err == nil {
				t.Fatalf("got edges %v, want an error", g.Edges())
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// FuzzReadEdges checks that reading an arbitrary file yields an error or a valid graph.
func FuzzReadEdges(f *testing.F) {
	f.Add("0 1\n1 2\n", 3)
	f.Add("# c\n0 1 # d\r\n", 2)
	f.Add("1 0\n0 1", 2)
	f.Add("0 0\n-1 9\nx", 4)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n > 1000 {
			return
		}
		g, err := readEdges(strings.NewReader(text), "f", n, []string{"a", "b c"})
		if err != nil {
			return
		}
		if _, err := graph.New(n, g.Edges()); err != nil || g.N() != n {
			t.Fatalf("%d nodes, want %d; %v", g.N(), n, err)
		}
	})
}
