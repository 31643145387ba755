package graph

import "math"

const maxColumns = 16 // of a combination

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

// combine bounds the resistance of node i without the nodes of gone by a combination of columns of a with the least
// square of rho: those of i and gone, or, if they are few, those of i and the neighbors of gone, and then rho is 0. It
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
