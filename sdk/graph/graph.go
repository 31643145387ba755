package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Limits that protect the memory of a small device against a mistyped size.
const (
	maxNodes = 1 << 20
	MaxEdges = 1 << 22
)

// MaxFaults is the number of errors of an edge list that are reported together.
const MaxFaults = 20

// ErrDisconnected is wrapped by the error for a graph that is not connected. Another draw of a random graph may be.
var ErrDisconnected = errors.New("not connected")

// Graph is a connected, undirected graph without self loops or repeated edges. It is immutable and safe for concurrent
// use.
type Graph struct {
	edges     [][2]int
	neighbors [][]int

	lambdaMax, lambda2, proved func() float64 // computed on first use

	keeping sync.Mutex
	kept    map[weakestOf]Conductance

	pairing  sync.Mutex
	partners *Graph // the latest result of Partners, for the arguments of
	of       partnersOf
}

// New returns the graph with nodes 0..n-1 and the given edges, each a pair of nodes in either order. It rejects a node
// outside 0..n-1, a self loop, an edge given twice (also reversed), n < 1 and a graph that is not connected. Its errors
// name edges by index. New keeps no reference to edges.
func New(n int, edges [][2]int) (*Graph, error) {
	g, err := Build(n, edges, nil)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return g, nil
}

// N returns the number of nodes.
func (g *Graph) N() int { return len(g.neighbors) }

// Edges returns the edges (i, j), i < j, in ascending order. The graph owns the slice, which must not be changed.
func (g *Graph) Edges() [][2]int { return g.edges }

// Neighbors returns the neighbors of node i, 0 <= i < N, in ascending order. The graph owns the slice, which must not
// be changed.
func (g *Graph) Neighbors(i int) []int { return g.neighbors[i] }

// Build is like New, but names edges in errors: name returns the name of the k-th edge, such as its line in a file. If
// name is nil, errors name edges by index. Errors do not name the package.
func Build(n int, edges [][2]int, name func(k int) string) (*Graph, error) {
	if name == nil {
		name = func(k int) string { return fmt.Sprintf("edge %d", k) }
	}
	if err := CheckSize(n, int64(len(edges))); err != nil {
		return nil, err
	}
	order := make([]int32, 0, len(edges)) // indexes of the valid edges, sorted by their ends and then by index
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for k, e := range edges {
		if len(faults) == MaxFaults {
			break
		}
		i, j := ends(e)
		switch {
		case i < 0 || j >= n:
			fault("%s: found (%d, %d), wanted nodes in 0..%d", name(k), e[0], e[1], n-1)
		case i == j:
			fault("%s: found (%d, %d), a self loop; wanted two different nodes", name(k), e[0], e[1])
		default:
			order = append(order, int32(k))
		}
	}
	slices.SortFunc(order, func(k, l int32) int {
		i, j := ends(edges[k])
		u, v := ends(edges[l])
		return cmp.Or(i-u, j-v, int(k-l))
	})
	g := &Graph{edges: make([][2]int, 0, len(order))}
	for x, k := range order {
		i, j := ends(edges[k])
		if last := len(g.edges) - 1; last >= 0 && g.edges[last] == [2]int{i, j} && len(faults) < MaxFaults {
			fault("%s: found (%d, %d) again, the same as %s; wanted each edge once",
				name(int(k)), edges[k][0], edges[k][1], name(int(order[x-1])))
			continue
		}
		g.edges = append(g.edges, [2]int{i, j})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	g.link(n)
	if reached, first := g.reach(); reached < n {
		return nil, fmt.Errorf("%w: there is no path from node 0 to node %d (%d of %d nodes can be reached from node "+
			"0)", ErrDisconnected, first, reached, n)
	}
	return g, nil
}

func ends(e [2]int) (i, j int) { return min(e[0], e[1]), max(e[0], e[1]) }

// CheckSize returns an error if a graph of that many nodes and edges is larger than this package accepts.
func CheckSize(n int, edges int64) error {
	if n < 1 || n > maxNodes {
		return fmt.Errorf("found %d nodes, wanted 1..%d", n, maxNodes)
	}
	if edges > MaxEdges {
		return fmt.Errorf("found %d edges, wanted at most %d", edges, MaxEdges)
	}
	return nil
}

func (g *Graph) link(n int) {
	degree := make([]int, n)
	for _, e := range g.edges {
		degree[e[0]]++
		degree[e[1]]++
	}
	// Edges are in ascending order, so each list below first gets the node's smaller neighbors, then the larger
	// neighbors, both in ascending order.
	flat := make([]int, 2*len(g.edges))
	g.neighbors = make([][]int, n)
	for i, d := range degree {
		g.neighbors[i], flat = flat[:0:d], flat[d:]
	}
	for _, e := range g.edges {
		g.neighbors[e[0]] = append(g.neighbors[e[0]], e[1])
		g.neighbors[e[1]] = append(g.neighbors[e[1]], e[0])
	}
	g.lambdaMax, g.lambda2 = sync.OnceValue(g.largest), sync.OnceValue(g.second)
	g.proved = sync.OnceValue(func() float64 { return g.surely(g.Lambda2()) })
	g.kept = map[weakestOf]Conductance{}
}

// reach counts the nodes with a path to node 0, including node 0, and returns the first node without such a path.
func (g *Graph) reach() (count, missing int) {
	seen := make([]bool, g.N())
	seen[0] = true
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		count++
		for _, j := range g.neighbors[queue[0]] {
			if !seen[j] {
				seen[j] = true
				queue = append(queue, j)
			}
		}
	}
	return count, slices.Index(seen, false)
}
