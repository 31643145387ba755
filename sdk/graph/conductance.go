package graph

// Conductance returns the least conductance from any node to ground, with a conductance of 1 from every node to ground
// and of ratio^2 on every edge, when any colluders of the other nodes are taken away.
func (g *Graph) Conductance(ratio float64, colluders int) float64 {
	n := g.N()
	least := float64(n)
	gone := make([]bool, n)
	var try func(from, left int)
	try = func(from, left int) {
		least = min(least, g.conductance(ratio, gone))
		for v := from; v < n && left > 0; v++ {
			gone[v] = true
			try(v+1, left-1)
			gone[v] = false
		}
	}
	try(0, min(colluders, n-1))
	return least * (1 - 1e-9)
}

func (g *Graph) conductance(ratio float64, gone []bool) float64 {
	n := g.N()
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		a[i][i] = 1
	}
	for _, e := range g.edges {
		if gone[e[0]] || gone[e[1]] {
			continue
		}
		r := ratio * ratio
		a[e[0]][e[0]] += r
		a[e[1]][e[1]] += r
		a[e[0]][e[1]] -= r
		a[e[1]][e[0]] -= r
	}
	// Gauss-Jordan in place.
	for k := range n {
		p := 1 / a[k][k]
		for i := range n {
			if i == k || a[i][k] == 0 {
				continue
			}
			f := a[i][k] * p
			for j := range n {
				if j != k {
					a[i][j] -= f * a[k][j]
				}
			}
			a[i][k] = -f
		}
		for j := range n {
			if j != k {
				a[k][j] *= p
			}
		}
		a[k][k] = p
	}
	least := float64(n)
	for i := range n {
		if !gone[i] {
			least = min(least, 1/a[i][i])
		}
	}
	return least
}
