package graph

import (
	"fmt"
	"slices"
)

// MaxPartnered is the maximum number of nodes with partners: no useful bound on the remaining noise is known for larger
// graphs.
const MaxPartnered = 1024

// Partners returns the graph of the pairs of nodes that share noise: g itself if degree is 0, otherwise a regular graph
// of this degree that depends on the seed. g keeps the last one, with what has been computed of it.
func (g *Graph) Partners(degree int, seed uint64) (*Graph, error) {
	if degree == 0 {
		return g, nil
	}
	if g.N() > MaxPartnered {
		return nil, fmt.Errorf("graph: partners: found %d nodes, wanted at most %d", g.N(), MaxPartnered)
	}
	g.pairing.Lock()
	defer g.pairing.Unlock()
	if of := (partnersOf{degree, seed}); g.partners == nil || g.of != of {
		partners, err := Regular(g.N(), degree, seed)
		if err != nil {
			return nil, fmt.Errorf("graph: partners: %w", err)
		}
		g.partners, g.of = partners, of
	}
	return g.partners, nil
}

type partnersOf struct {
	degree int
	seed   uint64
}

// Has reports whether g has n nodes and the given edges: all of them in the order of [Graph.Edges], and each in either
// direction. It is false if g is nil.
func (g *Graph) Has(n int, edges [][2]int) bool {
	return g != nil && g.N() == n && slices.EqualFunc(g.edges, edges, func(own, e [2]int) bool {
		i, j := ends(e)
		return own == [2]int{i, j}
	})
}
