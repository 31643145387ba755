package graph

import (
	"fmt"
	"math"
)

// Conductance states how much noise still hides a node in the worst case, when colluders have subtracted the pairwise
// noise that they know.
type Conductance struct {
	Least   float64 // minimum conductance of a node to ground, at least 1; rounded down, never above the true minimum
	Node    int     // node with the minimum, if Exact
	Without []int   // colluders whose removal gives the minimum, ascending; owned by the Graph, must not be changed
	Exact   bool    // Least is below the true value by a share of at most 1e-4; otherwise it is only a lower bound
}

// Limits for computing a Conductance.
const (
	maxRatio   = 1 << 12
	maxDense   = 1024 // maximum number of nodes of a matrix, which then takes 8 MiB
	exactWork  = 1e9  // numbers that the computation of an exact result may read, in about a second
	negligible = 1e-4 // largest relative error of a resistance in an exact result
)

type weakestOf struct {
	ratio     float64
	colluders int
}

// Conductance returns the least conductance from any node to ground after any choice of colluders is removed. Each node
// is wired to ground with a conductance of 1, and each edge has conductance ratio^2, with ratio in (0, 4096]. The least
// conductance is the variance of the noise that hides a node from an adversary who sees all messages and knows what the
// colluders know, if each node has local noise of variance 1 and shares pairwise noise of variance ratio^2 with each
// neighbor. The graph caches the result.
//
// The result is a lower bound with the same bits on every processor. By Rayleigh's law (Doyle and Snell, "Random walks
// and electric networks", 1984) removing a part of the network never raises a conductance, so the maximum number of
// colluders is the worst case.
//
// If trying all choices takes at most about a second, the result is Exact: for 1 colluder in sparse graphs of up to
// 1024 nodes and in dense graphs of up to 300, for 2 in graphs of up to 150, for 3 in graphs of up to 50. Otherwise the
// result is the larger of two lower bounds: one follows from the spectrum and is tight if every node has many
// neighbors, the other is the conductance of a tree. sdk/DEFAULTS.md states how much privacy such a bound costs.
func (g *Graph) Conductance(ratio float64, colluders int) (Conductance, error) {
	if !(ratio > 0 && ratio <= maxRatio) || colluders < 0 {
		return Conductance{}, fmt.Errorf("graph: conductance: found ratio %v and %d colluders, wanted a ratio in (0, "+
			"%d] and 0 or more colluders", ratio, colluders, maxRatio)
	}
	g.keeping.Lock() // held during the computation, so that members in one process share its result
	defer g.keeping.Unlock()
	of := weakestOf{ratio, colluders}
	c, ok := g.kept[of]
	if !ok {
		c = g.weakest(float64(ratio*ratio), colluders)
		c.Least = max(1, c.Least)
		g.kept[of] = c
	}
	return c, nil
}

// weakest computes the result of Conductance for edges of conductance w.
func (g *Graph) weakest(w float64, colluders int) Conductance {
	n, least := g.N(), 0
	for i := range n {
		if len(g.neighbors[i]) < len(g.neighbors[least]) {
			least = i
		}
	}
	switch {
	case len(g.neighbors[least]) <= colluders: // no edge remains
		return Conductance{Least: 1, Node: least, Without: g.neighbors[least], Exact: true}
	case len(g.neighbors[least]) == n-1: // complete graph: all choices are equivalent
		return Conductance{Least: spectral(n-colluders, w, float64(n-colluders)), Without: g.neighbors[0][:colluders], Exact: true}
	}
	bound := 0.0
	for at := w; g.choicesWork(colluders) <= exactWork; at /= 16 { // by Rayleigh's law a smaller w gives a lower bound
		c := g.exactly(at, colluders)
		if c.Exact && at == w {
			return c
		}
		bound = max(bound, c.Least)
		if c.Exact || at < 1 {
			break
		}
	}
	bound = max(bound, g.treeBound(w, colluders))
	if n <= maxDense {
		bound = max(bound, spectral(n-colluders, w, g.proved()-float64(colluders)))
	}
	return Conductance{Least: bound}
}

// spectral returns a lower bound on every node's conductance in a graph of m nodes and edges of weight w, whose
// second-smallest eigenvalue is at least lambda2; 0 unless lambda2 is positive. The resistance of node i is the i-th
// diagonal entry of the inverse of I + w*L. In an orthonormal basis of eigenvectors q_k of L this entry is the sum of
// q_k(i)^2/(1 + w*lambda_k). The squares add up to 1, the square for eigenvalue 0 is 1/m at every node, and all other
// eigenvalues are at least lambda2:
//
//	resistance <= 1/m + (1 - 1/m)/(1 + w*lambda2)
//
// A complete graph, whose other eigenvalues are m, attains this bound.
//
// If c members leave a graph with second-smallest eigenvalue lambda, the second-smallest eigenvalue of the remaining
// graph is at least lambda - c: for a vector x on the remaining nodes with sum zero, x'*L*x, the sum of (x_u-x_v)^2
// over all edges, is at least lambda*|x|^2, and the removed edges contribute at most c*x_u^2 for each node u.
func spectral(m int, w, lambda2 float64) float64 {
	if !(lambda2 > 0) {
		return 0
	}
	k := float64(m)
	return k / (1 + (k-1)/(1+float64(w*lambda2))) * (1 - 1e-12)
}

// surely returns a lower bound on all eigenvalues of the Laplacian except the eigenvalue of the constant vector:
// lambda, or slightly less. If it cannot prove this bound, it returns 0. The proof is a Cholesky factorization of M,
// which is L - lambda*I plus a multiple of the matrix of ones. If the factorization succeeds, some matrix that differs
// from M by at most the trace times n+2 units in the last place has no negative eigenvalue (Rump, "Verification of
// positive definiteness", BIT 46, 2006).
func (g *Graph) surely(lambda float64) float64 {
	n := g.N()
	a := matrix(n, n)
	trace := 0.0
	for i, near := range g.neighbors {
		for j := range a[i] {
			a[i][j] = 2 * (lambda + 1) / float64(n)
		}
		a[i][i] += float64(len(near)) - lambda
		trace += a[i][i]
		for _, j := range near {
			a[i][j]--
		}
	}
	for k := range n {
		pivot := a[k][k]
		if !(pivot > 0) {
			return 0
		}
		for i := k + 1; i < n; i++ {
			axpy(a[i][i:], -a[k][i]/pivot, a[k][i:])
		}
	}
	return lambda - float64(trace*float64(n+2)*0x1p-51)
}

// choicesWork estimates how many numbers [Graph.exactly] would read.
func (g *Graph) choicesWork(colluders int) float64 {
	n := float64(g.N())
	if g.N() > maxDense {
		return math.Inf(1)
	}
	choices, squares := 1.0, 0.0 // number of choices of all colluders except the last
	for k := 1; k < colluders; k++ {
		choices *= (n - float64(k) + 1) / float64(k)
	}
	if colluders > 0 {
		for _, near := range g.neighbors {
			squares += n * float64(len(near)*len(near)) / 2 / float64(colluders)
		}
	}
	return choices * (float64(n*n*n)/2 + squares)
}
