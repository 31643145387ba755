package graph

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestRegular checks that a regular graph has the same degree everywhere and is a function of its seed, and that its
// second-smallest eigenvalue is far from 0, the smallest. By Friedman's theorem the second-smallest eigenvalue is at
// least k - 2*sqrt(k-1), minus a little, for nearly all regular graphs.
func TestRegular(t *testing.T) {
	for _, c := range [][2]int{{4, 2}, {5, 2}, {4, 3}, {12, 4}, {12, 7}, {12, 10}, {31, 8}, {100, 3}, {101, 16}, {100, 78}, {500, 6}} {
		n, k := c[0], c[1]
		spec := fmt.Sprintf("regular:%d", k)
		a, b, other := mustParse(t, spec, n, 1), mustParse(t, spec, n, 1), mustParse(t, spec, n, 2)
		checkShape(t, a)
		for i := range n {
			if got := len(a.Neighbors(i)); got != k {
				t.Errorf("%s on %d nodes: node %d has %d neighbors", spec, n, i, got)
			}
		}
		if !slices.Equal(a.Edges(), b.Edges()) || n > 5 && slices.Equal(a.Edges(), other.Edges()) {
			t.Errorf("%s on %d nodes: the seed does not decide", spec, n)
		}
		if want := float64(k) - 2*math.Sqrt(float64(k-1)) - 0.15*float64(k); k > 2 && a.Lambda2() < want {
			t.Errorf("%s on %d nodes: second eigenvalue %v, want %v or more", spec, n, a.Lambda2(), want)
		}
	}
	// These edges are the same on every processor and in every version.
	want := [][2]int{{0, 1}, {0, 2}, {0, 4}, {1, 3}, {1, 4}, {2, 3}, {2, 5}, {3, 5}, {4, 5}}
	if got := mustParse(t, "regular:3", 6, 7).Edges(); !slices.Equal(got, want) {
		t.Errorf("regular:3 on 6 nodes with seed 7: %v, want %v", got, want)
	}
}

// TestRegularFrequencies checks that all regular graphs of few nodes are about equally frequent. On six nodes with
// three neighbors each there are 60 prisms and 10 complete bipartite graphs. The walk of regularEdges starts at one of
// the bipartite graphs, so it must also reach all others. Frequencies that are off by 20 % on average would add 140 to a
// statistic of about 69, which exceeds its limit with a probability of 1e-6.
func TestRegularFrequencies(t *testing.T) {
	seen := map[string]float64{}
	const draws, graphs, limit = 3500, 70, 139
	for seed := range uint64(draws) {
		seen[fmt.Sprint(mustParse(t, "regular:3", 6, seed).Edges())]++
	}
	chi := 0.0
	for _, n := range seen {
		chi += (n - draws/graphs) * (n - draws/graphs) / (draws / graphs)
	}
	if len(seen) != graphs || chi > limit {
		t.Errorf("%d graphs, want %d; chi-square is %.1f, limit %d", len(seen), graphs, chi, limit)
	}
}
