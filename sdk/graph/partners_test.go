package graph

import "testing"

// TestPartnersAreKept checks that a graph keeps the partners of its latest choice, so that nothing is computed of them
// twice, and that they depend on degree and seed.
func TestPartnersAreKept(t *testing.T) {
	g := mustParse(t, "ring", 20, 0)
	first, err := g.Partners(4, 1)
	if err != nil || len(first.Neighbors(7)) != 4 {
		t.Fatal(first, err)
	}
	if again, _ := g.Partners(4, 1); again != first {
		t.Error("the same choice makes another graph")
	}
	for _, of := range []partnersOf{{6, 1}, {4, 2}, {4, 1}} {
		other, err := g.Partners(of.degree, of.seed)
		if err != nil || other == first || of.degree == 4 && of.seed == 1 != other.Has(20, first.Edges()) {
			t.Errorf("%+v: %v", of, err)
		}
	}
	if own, _ := g.Partners(0, 1); own != g {
		t.Error("without partners, the pairs are not the neighbors")
	}
	if _, err := mustParse(t, "ring", MaxPartnered+1, 0).Partners(4, 1); err == nil {
		t.Error("too many nodes have partners")
	}
}

func TestHas(t *testing.T) {
	g := mustParse(t, "path", 3, 0)
	for _, c := range []struct {
		n     int
		edges [][2]int
		want  bool
	}{
		{3, [][2]int{{0, 1}, {2, 1}}, true},
		{4, [][2]int{{0, 1}, {2, 1}}, false},
		{3, [][2]int{{0, 1}}, false},
		{3, [][2]int{{0, 1}, {0, 2}}, false},
	} {
		if got := g.Has(c.n, c.edges); got != c.want || (*Graph)(nil).Has(c.n, c.edges) {
			t.Errorf("%v is %v, want %v", c, got, c.want)
		}
	}
}
