package graph

import (
	"math"
	"slices"
)

// Shares of a resistance that do not matter.
const (
	negligible = 5e-11 // a bound that is so much above it counts as exact
	tie        = 1e-10 // a choice that may be so much worse is not looked at
)

// network is the search for the largest resistance R = 1/conductance from a node i to ground without a set C of nodes.
// M is the matrix I + w*L of all nodes, a its inverse; M' is that of the nodes that are left, a' its inverse, and so
// R = a'(i,i).
//
// Take any potentials p on the nodes that are left, and rho = M'*p - e_i. The flow w*(p_u-p_v) on every edge is one
// unit from i to ground if that from node u to ground is p_u - rho_u. By Thomson's principle its energy is not below R:
//
//	R <= E = sum of w*(p_u-p_v)^2 + sum of (p_u-rho_u)^2 = p_i - sum of rho_u*(p_u-rho_u) = R + rho*(1-a')*rho
//
// so E is off by less than the square of rho. Columns of a make good potentials: they solve the network with C in it,
// and so rho is zero but for neighbors of C.
type network struct {
	*Graph
	w             float64
	gone          int         // nodes in C
	a             [][]float64 // approximately
	error         float64     // of a: no number of M*a - I is larger
	near          [][]float64 // near[i][v]: root of the sum of squares of the flows of v to neighbors but i
	scans, solves float64     // work left: for bounds, and for exact resistances

	worst Conductance // so far; Least is still the resistance

	// Memory.
	from                 []int     // columns of the last combination
	factors              []float64 // of them
	out, seen            []bool
	edges                [][2]int32  // of M'
	at                   []int       // neighbors of C that are left, and i
	m                    [][]float64 // m[k]: M'*a_k at these; 0 elsewhere
	p, r, d, q, diagonal []float64
}

func newNetwork(g *Graph, w float64, gone int) *network {
	n := g.N()
	s := &network{Graph: g, w: w, gone: gone, scans: float64(exactWork * n), solves: float64(exactWork * n),
		out: make([]bool, n), seen: make([]bool, n), m: square(maxColumns, n)}
	vectors := square(5, n)
	s.p, s.r, s.d, s.q, s.diagonal = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
	s.invert()
	s.flows()
	return s
}

// search returns the least conductance, rounded down.
func (s *network) search() Conductance {
	n := s.N()
	todo := make([]float64, n)
	for i := range n {
		todo[i] = s.a[i][i]
	}
	t := newTree(s.Graph, s.w)
	for range n { // those that look worst first
		i := 0
		for j := range n {
			if todo[j] > todo[i] {
				i = j
			}
		}
		todo[i] = 0
		s.node(i, t)
	}
	c := s.worst
	c.Without = slices.Clone(c.Without)
	// The flow from node u to ground, one less the sum of d flows, is off by less than 4*(d+2) units in the last place,
	// and all these flows together are 1. Resistances are 1/n at least.
	unit := 0x1p-53 * float64(8*n*(n+2)+len(s.Edges()))
	c.Least = 1 / (c.Least * (1 + tie) * (1 + 1e-12 + unit))
	return c
}

func square(rows, n int) [][]float64 {
	flat := make([]float64, rows*n)
	m := make([][]float64, rows)
	for i := range m {
		m[i], flat = flat[:n:n], flat[n:]
	}
	return m
}

// choice is a C of up to two nodes, and a bound of R without them.

type choice struct {
	c     [maxExactGone]int // n stands for no node
	bound float64
}

// node looks for the worst C for node i.
func (s *network) node(i int, t *tree) {
	most := choice{}
	s.above(i, func(x choice) {
		if x.bound > most.bound {
			most = x
		}
	})
	if most.bound == 0 {
		return
	}
	if s.scans < 0 {
		s.take(i, choice{most.c, min(most.bound, 1/t.bound(i, s.gone))}, false)
		return
	}
	s.settle(i, s.better(i, most))
	var left []choice
	s.above(i, func(x choice) {
		if x.c == most.c {
			return
		}
		if x = s.better(i, x); s.matters(x.bound) {
			left = append(left, x)
		}
	})
	for len(left) > 0 {
		k := 0
		for l, x := range left {
			if x.bound > left[k].bound {
				k = l
			}
		}
		if !s.matters(left[k].bound) {
			return
		}
		s.settle(i, left[k])
		left[k] = left[len(left)-1]
		left = left[:len(left)-1]
	}
}

// matters reports whether a resistance is more than the worst one so far.
func (s *network) matters(bound float64) bool { return bound > s.worst.Least*(1+tie) }

// take notes a bound of the resistance of node i, which may be exact.
func (s *network) take(i int, x choice, exact bool) {
	if s.matters(x.bound) {
		s.worst = Conductance{Least: x.bound, Node: i, Exact: exact, Without: slices.Clone(s.set(x))}
	}
}

func (s *network) set(x choice) []int { return x.c[:s.gone] }

// above calls do with every choice for node i that a rough bound does not rule out. The bound is that of the potentials
// z*a_i, where z makes the current at i right. For a node v of C, Kirchhoff's law gives the sum of w*(a_u-a_v)*a_u over
// its neighbors u as a_v^2 + (sum of flows^2)/w. Flows to neighbors that C's nodes share add up to no more than Cauchy
// and Schwarz allow, and an edge inside of C only lowers the energy.
func (s *network) above(i int, do func(choice)) {
	n, a := s.N(), s.a[i]
	flow, alone, near := make([]float64, n+1), make([]float64, n+1), append(slices.Clone(s.near[i]), 0)
	for _, v := range s.Neighbors(i) {
		flow[v] = float64(s.w * (a[i] - a[v]))
	}
	var mostAlone, mostNear float64 // of nodes that are no neighbors of i
	for v := range n {
		near[v] *= 1 + 1e-12
		alone[v] = (float64(a[v]*a[v]) + (float64(near[v]*near[v])+float64(flow[v]*flow[v]))/s.w) * (1 + 1e-12)
		if flow[v] == 0 && v != i {
			mostAlone, mostNear = max(mostAlone, alone[v]), max(mostNear, near[v])
		}
	}
	rounding := float64(16*s.error) + float64(1e-12*a[i])
	energy := func(flow, alone, near float64) float64 {
		if flow > 0.999 {
			return math.Inf(1)
		}
		return (float64(a[i]*(1-2*flow)) + alone + float64(near*near) + rounding) / float64((1-flow)*(1-flow))
	}
	try := func(v, u int) {
		if e := energy(flow[v]+flow[u], alone[v]+alone[u], near[v]+near[u]); s.matters(e) {
			do(choice{[maxExactGone]int{v, u}, e})
		}
	}
	if s.gone == 0 {
		try(n, n)
		return
	}
	for v := range n {
		if v == i {
			continue
		}
		if s.gone == 1 {
			try(v, n)
			continue
		}
		s.scans -= float64(len(s.Neighbors(i)))
		for _, u := range s.Neighbors(i) {
			if u < v || (u != v && flow[v] == 0) {
				try(v, u)
			}
		}
		if flow[v] != 0 || !s.matters(energy(0, alone[v]+mostAlone, near[v]+mostNear)) {
			continue
		}
		s.scans -= float64(v)
		for u := range v {
			if flow[u] == 0 && u != i {
				try(v, u)
			}
		}
	}
}

// better returns the choice with the lesser bound, of its own and that of a combination of potentials.
func (s *network) better(i int, x choice) choice {
	if s.scans < 0 {
		return x
	}
	if bound, _ := s.combine(i, s.set(x)); bound < x.bound {
		x.bound = bound
	}
	return x
}

// settle computes the resistance of node i for a choice, if there is time, or takes the bound.
func (s *network) settle(i int, x choice) {
	if !s.matters(x.bound) {
		return
	}
	if s.solves < 0 {
		s.take(i, x, false)
		return
	}
	bound, exact := s.combine(i, s.set(x))
	if !exact {
		if bound, exact = s.solve(i, s.set(x)); !exact {
			bound = x.bound
		}
	}
	s.take(i, choice{x.c, bound}, exact)
}
