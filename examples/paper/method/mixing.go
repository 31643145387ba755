package method

import (
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// mixing holds the Metropolis weights of a graph: w_ij = 1/(1 + max(deg i, deg j)) for neighbors i and j, and w_ii such
// that each row sums to 1 (Xiao, Boyd and Kim, "Distributed average consensus with least-mean-square deviation", 2007).
// The matrix is symmetric and doubly stochastic. A node can compute its own row from its neighbors' degrees.
type mixing struct {
	g     *graph.Graph
	self  []float32
	other [][]float32 // other[i][k] is the weight of i's k-th neighbor
}

func newMixing(g *graph.Graph) mixing {
	w := mixing{g: g, self: make([]float32, g.N()), other: make([][]float32, g.N())}
	for i := range w.self {
		left := 1.0
		for _, j := range g.Neighbors(i) {
			weight := 1 / float64(1+max(len(g.Neighbors(i)), len(g.Neighbors(j))))
			w.other[i] = append(w.other[i], float32(weight))
			left -= weight
		}
		w.self[i] = float32(left)
	}
	return w
}

// mix stores in each dst[i] the weighted mean of src[i] and the vectors src[j] of i's neighbors j. dst and src must not
// share memory.
func (w mixing) mix(dst, src [][]float32) {
	for i := range dst {
		clear(dst[i])
		vec.Axpy(dst[i], w.self[i], src[i])
		for k, j := range w.g.Neighbors(i) {
			vec.Axpy(dst[i], w.other[i][k], src[j])
		}
	}
}
