package graph

import (
	"math"
	"slices"
)

// known returns the largest and the second-smallest eigenvalue of the Laplacian of a single node, a path, a ring, a
// star, a complete graph or a grid numbered by rows (Brouwer and Haemers, "Spectra of Graphs", 2012, 1.4). ok reports
// whether the graph is of one of these kinds. Degrees and the number of edges identify the first five kinds up to the
// order of the nodes.
func (g *Graph) known() (top, second float64, ok bool) {
	n, edges := g.N(), len(g.edges)
	least, most := n, 0
	for _, near := range g.neighbors {
		least, most = min(least, len(near)), max(most, len(near))
	}
	switch {
	case n == 1:
		return 0, 0, true
	case least == n-1:
		return float64(n), float64(n), true
	case edges == n-1 && most == n-1:
		return float64(n), 1, true
	case most == 2:
		w := wave(n)
		switch {
		case edges == n-1:
			return 4 - w, w, true
		case n%2 == 0: // the eigenvalues of a ring are 4*sin(pi*k/n)^2
			return 4, float64(w * (4 - w)), true
		}
		return 4 - w, float64(w * (4 - w)), true
	}
	columns := g.neighbors[0][len(g.neighbors[0])-1] // the neighbors of node 0 are nodes 1 and columns
	if rows := n / columns; rows > 1 && columns > 1 && slices.Equal(g.edges, GridEdges(rows, columns)) {
		down, across := wave(rows), wave(columns)
		return 8 - down - across, min(down, across), true
	}
	return 0, 0, false
}

// wave returns 4*sin(pi/(2*n))^2 for n > 1, the second-smallest eigenvalue of a path of n nodes. It sums a series,
// which gives the same bits on every processor.
func wave(n int) float64 {
	x := math.Pi / float64(2*n)
	sin, term := x, x
	for k := 3.0; math.Abs(term) > sin*1e-17; k += 2 {
		term = float64(term * (-float64(x*x) / (k * (k - 1))))
		sin += term
	}
	return 4 * float64(sin*sin)
}

// GridEdges returns the edges, in ascending order, of a grid whose nodes are numbered by rows.
func GridEdges(rows, cols int) [][2]int {
	var edges [][2]int
	n := rows * cols
	for i := range n {
		if i%cols+1 < cols {
			edges = append(edges, [2]int{i, i + 1})
		}
		if i+cols < n {
			edges = append(edges, [2]int{i, i + cols})
		}
	}
	return edges
}
