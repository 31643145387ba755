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

const maxColumns = 16 // of a combination

// network is the search for the largest resistance R = 1/conductance from a node i to ground without a set C of nodes.
// M is the matrix I + w*L of all nodes, a its inverse; M' is that of the nodes that are left, a' its inverse, and so
// R = a'(i,i).
//
// Take any potentials p on the nodes that are left, and rho = M'*p - e_i. The flow w*(p_u-p_v) on every edge is one unit
// from i to ground if the current from node u to ground is p_u - rho_u. By Thomson's principle its energy is not below R:
//
//	R <= E = sum of w*(p_u-p_v)^2 + sum of (p_u-rho_u)^2 = p_i - sum of rho_u*(p_u-rho_u) = R + rho*(1-a')*rho
//
// so E is off by less than the square of rho. Columns of a make good potentials: they solve the network with C in it, and
// so rho is zero but for neighbors of C.
type network struct {
	*Graph
	w             float64
	gone          int         // nodes in C
	a             [][]float64 // approximately
	error         float64     // of a: no number of M*a - I is larger
	near          [][]float64 // near[i][v]: root of the sum of squares of the flows between v and its neighbors but i, from i
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

// search returns the least conductance without any gone nodes.
func (g *Graph) search(w float64, gone int) Conductance {
	n := g.N()
	s := &network{Graph: g, w: w, gone: gone, scans: float64(exactWork * n), solves: float64(exactWork * n), out: make([]bool, n), seen: make([]bool, n)}
	s.m = square(maxColumns, n)
	vectors := square(5, n)
	s.p, s.r, s.d, s.q, s.diagonal = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
	s.invert()
	s.flows()
	s.worst.Exact = true
	todo := make([]float64, n)
	for i := range n {
		todo[i] = s.a[i][i]
	}
	t := newTree(g, w)
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
	// The flow from node u to ground, one less the sum of d flows, is off by less than 4*(d+2) units in the last place, and
	// all these flows together are 1. Resistances are 1/n at least.
	unit := 0x1p-53 * float64(8*n*(n+2)+len(g.Edges()))
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

// invert sets a, by sweeps (Goodnight, "A tutorial on the SWEEP operator", 1979).
func (s *network) invert() {
	n := s.N()
	a := square(n, n)
	for i := range n {
		a[i][i] = 1 + float64(s.w*float64(len(s.Neighbors(i))))
		for _, j := range s.Neighbors(i) {
			a[i][j] = -s.w
		}
	}
	row := make([]float64, n)
	for k := range n {
		for j := range n {
			row[j] = a[max(j, k)][min(j, k)]
		}
		pivot := row[k]
		row[k] = 0
		for i := range n {
			if row[i] == 0 {
				continue
			}
			f := row[i] / pivot
			to := a[i][:i+1]
			for j, x := range row[:i+1] {
				to[j] -= float64(f * x)
			}
			a[max(i, k)][min(i, k)] = f
		}
		a[k][k] = -1 / pivot
	}
	for i := range n {
		for j := range i + 1 {
			a[i][j] = -a[i][j]
			a[j][i] = a[i][j]
		}
	}
	s.a = a
}

// flows sets near and error.
func (s *network) flows() {
	n := s.N()
	s.near = square(n, n)
	net, size := make([]float64, n), make([]float64, n)
	for i, p := range s.a {
		q := s.near[i]
		copy(net, p)
		for u := range n {
			size[u] = math.Abs(p[u])
		}
		net[i]--
		size[i]++
		for _, e := range s.Edges() {
			u, v := e[0], e[1]
			flow := float64(s.w * (p[u] - p[v]))
			net[u] += flow
			net[v] -= flow
			size[u] += math.Abs(flow)
			size[v] += math.Abs(flow)
			if u != i {
				q[v] += float64(flow * flow)
			}
			if v != i {
				q[u] += float64(flow * flow)
			}
		}
		for u := range n {
			q[u] = math.Sqrt(q[u])
			s.error = max(s.error, math.Abs(net[u])+float64(size[u]*float64(len(s.Neighbors(u))+8)*0x1p-51))
		}
	}
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
// its neighbors u as a_v^2 + (sum of flows^2)/w. Flows to neighbors that C's nodes share add up to no more than Cauchy and
// Schwarz allow, and an edge inside of C only lowers the energy.
func (s *network) above(i int, do func(choice)) {
	n, a := s.N(), s.a[i]
	flow, alone, near := make([]float64, n+1), make([]float64, n+1), append(slices.Clone(s.near[i]), 0)
	for _, v := range s.Neighbors(i) {
		flow[v] = float64(s.w * (a[i] - a[v]))
	}
	var mostAlone, mostNear float64 // of nodes that are no neighbors of i
	for v := range n {
		near[v] *= 1 + 1e-12
		alone[v] = (float64(a[v]*a[v]) + float64(near[v]*near[v]+float64(flow[v]*flow[v]))/s.w) * (1 + 1e-12)
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

// better returns the choice with the least bound of this and that of a combination of the potentials a_i and a_v, v in C.
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
		bound, exact = s.solve(i, s.set(x))
	}
	s.take(i, choice{x.c, bound}, exact)
}

// combine bounds the resistance of node i without the nodes of gone by a combination of columns of a with the least square
// of rho: those of i and gone, or, if they are few, those of i and the neighbors of gone, and then rho is zero. It
// remembers the combination, and reports whether the bound is exact.
func (s *network) combine(i int, gone []int) (bound float64, exact bool) {
	s.at = append(s.at[:0], i)
	s.seen[i] = true
	for _, v := range gone {
		s.out[v] = true
	}
	for _, v := range gone {
		for _, u := range s.Neighbors(v) {
			if !s.seen[u] && !s.out[u] {
				s.seen[u] = true
				s.at = append(s.at, u)
			}
		}
	}
	if len(s.at) <= maxColumns {
		s.from = append(s.from[:0], s.at...)
	} else {
		s.from = append(append(s.from[:0], i), gone...)
	}
	k := len(s.from)
	s.scans -= float64(len(s.at) * k * (k + 3))
	for l, c := range s.from { // M' at these nodes, from M without its links to gone
		for _, v := range gone {
			for _, u := range s.Neighbors(v) {
				if !s.out[u] {
					s.m[l][u] -= float64(s.w * (s.a[c][u] - s.a[c][v]))
				}
			}
		}
		if !s.out[c] {
			s.m[l][c]++
		}
	}
	// Normal equations; the right side, e_i, is in the last column.
	var g [maxColumns][maxColumns + 1]float64
	for l := range k {
		for h := range l + 1 {
			for _, u := range s.at {
				g[l][h] += float64(s.m[l][u] * s.m[h][u])
			}
			g[h][l] = g[l][h]
		}
	}
	for l := range k {
		g[l][k] = s.m[l][i]
	}
	for l := range k {
		for h := range k {
			if h == l || !(g[l][l] > 0) {
				continue
			}
			f := g[h][l] / g[l][l]
			for j := l; j <= k; j++ {
				g[h][j] -= float64(f * g[l][j])
			}
		}
	}
	var scale float64 // the potentials' sum, if rounding is left aside, is not larger
	s.factors = s.factors[:0]
	for l := range k {
		factor := 0.0
		if g[l][l] > 0 {
			factor = g[l][k] / g[l][l]
		}
		s.factors = append(s.factors, factor)
		scale += math.Abs(factor)
	}
	var energy, size, rhos, square float64
	for _, u := range s.at {
		var p, rho float64
		for l, c := range s.from {
			p += float64(s.factors[l] * s.a[c][u])
			rho += float64(s.factors[l] * s.m[l][u])
		}
		if u == i {
			energy += p
			size += math.Abs(p)
			rho--
		}
		energy -= float64(rho * (p - rho))
		size += math.Abs(float64(rho * (p - rho)))
		rhos += math.Abs(rho)
		square += float64(rho * rho)
		for l := range k {
			s.m[l][u] = 0
		}
		s.seen[u] = false
	}
	for _, v := range gone {
		s.out[v] = false
	}
	// The columns' own errors add up to e to every number of rho.
	e := float64(scale * s.error * 2)
	slack := float64(e*(float64(2*scale)+float64(2*rhos)+float64(e*float64(s.N())))) + float64(1e-12*size)
	return energy + slack, square+slack <= negligible*energy
}

// solve bounds the resistance of node i without the nodes of gone by the method of conjugate gradients (Hestenes and
// Stiefel, 1952), which starts from the combination that combine found last, and reports whether the bound is exact.
// Whatever the potentials are, the flow they give is one, and its energy is a bound.
func (s *network) solve(i int, gone []int) (bound float64, exact bool) {
	for _, v := range gone {
		s.out[v] = true
	}
	n := s.N()
	for u := range n {
		s.p[u] = 0
		for l, c := range s.from {
			s.p[u] += float64(s.factors[l] * s.a[c][u])
		}
		s.diagonal[u] = 1
	}
	s.edges = s.edges[:0]
	for _, e := range s.Edges() {
		if !s.out[e[0]] && !s.out[e[1]] {
			s.edges = append(s.edges, [2]int32{int32(e[0]), int32(e[1])})
			s.diagonal[e[0]] += s.w
			s.diagonal[e[1]] += s.w
		}
	}
	for _, v := range gone { // nodes of their own now, without current
		s.out[v] = false
		s.p[v] = 0
	}
	s.times(s.r, s.p)
	var size float64
	for u := range n {
		s.r[u] = -s.r[u]
		if u == i {
			s.r[u]++
		}
		s.d[u] = s.r[u] / s.diagonal[u]
		size += float64(s.r[u] * s.d[u])
	}
	for range 4*n + 50 {
		s.solves -= float64(len(s.edges) + 8*n)
		if square := dot(s.r, s.r); square <= negligible*s.p[i] || size == 0 {
			exact = true
			break
		}
		s.times(s.q, s.d)
		step := size / dot(s.d, s.q)
		axpy(s.p, step, s.d)
		axpy(s.r, -step, s.q)
		var next float64
		for u := range n {
			next += float64(s.r[u] * (s.r[u] / s.diagonal[u]))
		}
		for u := range n {
			s.d[u] = s.r[u]/s.diagonal[u] + float64(next/size*s.d[u])
		}
		size = next
	}
	clear(s.q) // flow to ground
	s.q[i] = 1
	for _, e := range s.edges {
		flow := float64(s.w * (s.p[e[0]] - s.p[e[1]]))
		s.q[e[0]] -= flow
		s.q[e[1]] += flow
		bound += float64(flow * flow)
	}
	return bound/s.w + dot(s.q, s.q), exact
}

// times stores M'*x in y.
func (s *network) times(y, x []float64) {
	copy(y, x)
	for _, e := range s.edges {
		flow := float64(s.w * (x[e[0]] - x[e[1]]))
		y[e[0]] += flow
		y[e[1]] -= flow
	}
}
