package graph

import "slices"

// exactly tries all choices of colluders. For each choice of all colluders but the last, it inverts a matrix; the
// diagonal of the inverse contains the resistances. It removes the last colluder by a low-rank update. It rounds each
// resistance up by more than that resistance's error. The result is Exact if this rounding raises the worst resistance
// by at most the share that the constant negligible allows.
func (g *Graph) exactly(w float64, colluders int) Conductance {
	n := g.N()
	var c Conductance
	worst, gone := 0.0, make([]bool, n)
	note := func(i int, resistance, share float64) {
		if resistance *= 1 + share; resistance > worst {
			worst, c.Node, c.Exact, c.Without = resistance, i, share <= negligible, nil
			for v, is := range gone {
				if is {
					c.Without = append(c.Without, v)
				}
			}
		}
	}
	var try func(from, left int)
	try = func(from, left int) {
		if left > 1 {
			for v := from; v < n; v++ {
				gone[v] = true
				try(v+1, left-1)
				gone[v] = false
			}
			return
		}
		a, share := g.inverse(w, gone)
		if left == 0 {
			for i := range n {
				note(i, a[i][i], 2*share)
			}
			return
		}
		for v := from; v < n; v++ {
			resistances, share := g.release(a, share, w, v, gone)
			gone[v] = true
			for i, r := range resistances {
				if !gone[i] {
					note(i, r, share)
				}
			}
			gone[v] = false
		}
	}
	try(0, colluders)
	c.Least = 1 / worst
	return c
}

// inverse returns the inverse of I + w*L for the graph in which the nodes of gone have no edges. It eliminates one node
// after another: the links of an eliminated node become links between its neighbors and from them to ground, as a star
// of resistors becomes a mesh.
//
// Entry (x, y) is off by at most error*sqrt(a_xx*a_yy). All numbers are positive, and nothing is subtracted. Rounding
// in a step of the elimination acts as a change of conductors by a few units in the last place, and by Rayleigh's law
// the relative change of the inverse's quadratic form is no larger. The sums of products in a row add a relative error
// of two units in the last place, plus one unit for each link of the row.
func (g *Graph) inverse(w float64, gone []bool) (a [][]float64, error float64) {
	n := g.N()
	a = matrix(n, n)
	ground := slices.Repeat([]float64{1}, n)
	for _, e := range g.edges {
		if !gone[e[0]] && !gone[e[1]] {
			a[e[0]][e[1]] = w
		}
	}
	links := make([][]int, n) // links of each node to later nodes at its elimination
	for k, row := range a {
		sum := ground[k]
		links[k] = make([]int, 0, n-1-k)
		for j := k + 1; j < n; j++ {
			if row[j] > 0 {
				links[k] = append(links[k], j)
				sum += row[j]
			}
		}
		for x, i := range links[k] {
			share := row[i] / sum
			ground[i] += float64(share * ground[k])
			for _, j := range links[k][x+1:] {
				a[i][j] += float64(share * row[j])
			}
		}
		for _, j := range links[k] {
			row[j] /= sum
		}
		row[k] = 1 / sum
	}
	error = float64(10 * n)
	for k := n - 1; k >= 0; k-- { // row k of the inverse follows from later rows
		row, shares := a[k], make([]float64, len(links[k]))
		for x, i := range links[k] {
			shares[x] = row[i]
			row[i] = 0
		}
		for x, i := range links[k] {
			axpy(row[k+1:], shares[x], a[i][k+1:])
		}
		for x, i := range links[k] {
			row[k] += float64(shares[x] * row[i])
		}
		error += float64(len(links[k]))
		for j := k + 1; j < n; j++ {
			a[j][k] = row[j]
		}
	}
	return a, error * 0x1p-53
}

// release takes a, a result of the method inverse, removes node v as well, and returns the diagonal of the new inverse
// with a bound on its relative error. First v is wired to ground, so that its potential is zero: b = a - a_v*a_v'/a_vv.
// Each neighbor then still has a conductance of w to ground through v. These conductances are removed one by one
// (Sherman and Morrison, 1950), which is an elimination of S = I - w*b on the d neighbors: the result is b_ii +
// w*b_i'*inverse(S)*b_i.
//
// To bound the error, let m be the largest entry of a. Then each entry of b is off by at most e = 4*error*m. Row x of S
// is diagonally dominant, with an excess equal to the sum of all b_xz, which is the share of a current at x that
// reaches ground other than through v. Let h be the least of these excesses, minus n*e. Then S is at least h*I.
//
// The rows of S are off by at most q, which is w*d*e plus 8*d units in the last place from the elimination, so the
// relative error of the quadratic form is at most q/h. The errors of b_i add at most 2*w*d*e to q, because no potential
// exceeds that of node i. The bound 4*q/h covers both.
func (g *Graph) release(a [][]float64, error, w float64, v int, gone []bool) (resistances []float64, share float64) {
	var near []int
	for _, u := range g.neighbors[v] {
		if !gone[u] {
			near = append(near, u)
		}
	}
	most := 0.0
	resistances = make([]float64, len(a))
	for i, row := range a {
		most = max(most, row[i])
		resistances[i] = row[i] - float64(row[v]*row[v])/a[v][v]
	}
	e, h := 4*error*most, 1.0
	columns := matrix(len(near), len(a))
	for x, u := range near {
		copy(columns[x], a[u])
		axpy(columns[x], -a[u][v]/a[v][v], a[v])
		sum := float64(-e * float64(len(a)))
		for _, b := range columns[x] {
			sum += b
		}
		h = min(h, sum)
	}
	d := float64(len(near))
	share = 4*float64(d*(float64(w*e)+0x1p-50))/h + 8*error
	if !(h > 0 && share < 0.1) { // a resistance is at most 1
		return slices.Repeat([]float64{1}, len(a)), 1
	}
	for x, u := range near {
		b := columns[x]
		f := w / (1 - float64(w*b[u]))
		for i, bi := range b[:len(resistances)] {
			resistances[i] += float64(f * float64(bi*bi))
		}
		for y := x + 1; y < len(near); y++ {
			axpy(columns[y], float64(f*b[near[y]]), b)
		}
	}
	return resistances, share
}

// matrix returns a zero matrix whose rows share one allocation.
func matrix(rows, columns int) [][]float64 {
	flat := make([]float64, rows*columns)
	m := make([][]float64, rows)
	for i := range m {
		m[i], flat = flat[:columns:columns], flat[columns:]
	}
	return m
}
