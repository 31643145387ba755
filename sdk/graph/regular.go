package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Draws is how often a random graph is drawn in order to find a connected one.
const Draws = 100

// Regular returns a graph in which each of n nodes has k neighbors, 2 <= k < n, drawn from seed until it is connected; k
// is even if n is odd. Its errors do not name the package, as those of [Build].
func Regular(n, k int, seed uint64) (*Graph, error) {
	if k < 2 || k >= n || n%2 == 1 && k%2 == 1 {
		return nil, fmt.Errorf("found %d neighbors for each of %d nodes, wanted 2 to %d, and an even number if the number of nodes is "+
			"odd", k, n, n-1)
	}
	if err := CheckSize(n, int64(n)*int64(k)/2); err != nil {
		return nil, err
	}
	for round := range uint32(Draws) {
		s := rng.New(seed, rng.Address{Purpose: rng.Graph, Round: round, Step: 1}) // Step 1: package topology draws other graphs
		g, err := Build(n, regularEdges(&s, n, k), nil)
		if !errors.Is(err, ErrDisconnected) {
			return g, err
		}
	}
	return nil, fmt.Errorf("none of %d random graphs was connected", Draws)
}

// regularEdges starts from a ring in which each node is linked to its nearest nodes. It then makes ten attempts per
// edge to exchange the ends of two random edges, and skips an exchange that would repeat an edge. This walk approaches
// the uniform distribution of regular graphs (Cooper, Dyer and Greenhill, "Sampling regular graphs and a peer-to-peer
// network", Combinatorics, Probability and Computing 16, 2007).
func regularEdges(s *rng.Stream, n, k int) (edges [][2]int) {
	for i := range n {
		for away := 1; away <= k/2; away++ {
			edges = append(edges, [2]int{i, (i + away) % n})
		}
		if k%2 == 1 && i < n/2 {
			edges = append(edges, [2]int{i, i + n/2})
		}
	}
	if k == n-1 { // all pairs: no exchange is possible
		return edges
	}
	linked := make(map[[2]int]bool, len(edges))
	pair := func(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }
	for _, e := range edges {
		linked[pair(e[0], e[1])] = true
	}
	for range 10 * len(edges) {
		i, j := s.IntN(len(edges)), s.IntN(len(edges))
		e, f := edges[i], edges[j]
		if s.IntN(2) == 1 {
			slices.Reverse(f[:])
		}
		one, two := pair(e[0], f[1]), pair(f[0], e[1])
		if i == j || e[0] == f[1] || f[0] == e[1] || one == two || linked[one] || linked[two] {
			continue
		}
		delete(linked, pair(e[0], e[1]))
		delete(linked, pair(f[0], f[1]))
		linked[one], linked[two] = true, true
		edges[i], edges[j] = one, two
	}
	return edges
}
