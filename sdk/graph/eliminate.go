package graph

import "slices"

// Limits of the elimination.
const (
	fewLinks  = 48    // a node with more is not eliminated: the links that replace it would be too many
	solveWork = 4e8   // numbers that the solutions for one eigenvalue may read, a second or so
	accuracy  = 1e-11 // of a solution, as a share of its right side
)

// link leads to a node with a weight above zero.
type link struct {
	to     int32
	weight float64
}

// factor is a factorisation of the Laplacian: nodes eliminated one by one, those with the fewest neighbors first, and
// the core that is left. A node that goes leaves links between all of its neighbors, as resistors do when a star
// becomes a mesh, so that what is left is the Laplacian of a graph with weights. Nothing is ever subtracted, and so
// solutions are exact to the last digits however small the eigenvalues are.
type factor struct {
	order []int32   // of elimination
	pivot []float64 // of a node that is eliminated: the sum of its weights
	rows  [][]link  // of all nodes: those eliminated hold their links at that moment, those of the core what is left
	core  []int32
	work  float64 // left for solutions
}

// eliminate factors the Laplacian, in time proportional to nodes and edges.
func (g *Graph) eliminate() *factor {
	n := g.N()
	f := &factor{rows: make([][]link, n), pivot: make([]float64, n), work: solveWork}
	flat := make([]link, 0, 2*len(g.edges))
	for i, near := range g.neighbors {
		from := len(flat)
		for _, j := range near {
			flat = append(flat, link{int32(j), 1})
		}
		f.rows[i] = flat[from:len(flat):len(flat)]
	}
	e := &elimination{
		factor: f, gone: make([]bool, n), slot: make([]int32, n), stale: make([]int, n),
		queue: make([][]int32, fewLinks+1),
	}
	for i := range n {
		e.merge(int32(i))
	}
	for d := 0; d <= fewLinks; {
		last := len(e.queue[d]) - 1
		if last < 0 {
			d++
			continue
		}
		i := e.queue[d][last]
		e.queue[d] = e.queue[d][:last]
		if e.gone[i] || len(f.rows[i]) != d { // an entry that a later one replaces
			continue
		}
		e.gone[i] = true
		f.order = append(f.order, i)
		row := f.rows[i]
		for _, l := range row {
			f.pivot[i] += l.weight
		}
		for _, l := range row {
			near := f.rows[l.to]
			for _, other := range row {
				if other.to != l.to {
					near = append(near, link{other.to, l.weight * other.weight / f.pivot[i]})
				}
			}
			f.rows[l.to] = near
			// A long row waits until half of it may be stale, so that a node with many neighbors is not read for each.
			if e.stale[l.to] += len(row); len(near) <= 4*fewLinks || 2*e.stale[l.to] >= len(near) {
				d = min(d, e.merge(l.to))
			}
		}
	}
	for i := range int32(n) {
		if !e.gone[i] {
			e.merge(i)
			f.core = append(f.core, i)
		}
	}
	return f
}

// elimination is a factorisation on its way.
type elimination struct {
	*factor
	gone  []bool
	slot  []int32   // where a row being merged holds its link to a node, plus one; or 0
	stale []int     // at most so many links of a row are to nodes that are gone, or repeated
	queue [][]int32 // nodes by number of links, up to fewLinks; the last entry of a node counts
}

// merge makes one of links that lead to the same node, drops those to nodes that are gone, queues node i and returns
// how many links it has.
func (e *elimination) merge(i int32) int {
	row := e.rows[i][:0]
	for _, l := range e.rows[i] {
		if k := e.slot[l.to]; k > 0 {
			row[k-1].weight += l.weight
		} else if !e.gone[l.to] {
			row = append(row, l)
			e.slot[l.to] = int32(len(row))
		}
	}
	for _, l := range row {
		e.slot[l.to] = 0
	}
	e.rows[i], e.stale[i] = row, 0
	if d := len(row); d <= fewLinks {
		e.queue[d] = append(e.queue[d], i)
	}
	return len(row)
}

// second returns the second eigenvalue, or slightly less: the inverse of the inverse's largest one. It is 0 if that
// takes too much work.
func (f *factor) second() float64 {
	n := float64(len(f.rows))
	inverse := operator{n: len(f.rows), times: f.solve, bound: n * n / 4}
	mu, residual := inverse.extreme(true, inverseSteps, below/10)
	if f.work < 0 {
		return 0
	}
	return (1 - below) / (mu + residual)
}

// solve stores in x the solution of L*x = y that sums to zero, for a y that does.
func (f *factor) solve(x, y []float64) {
	copy(x, y)
	for _, i := range f.order {
		for _, l := range f.rows[i] {
			x[l.to] += float64(l.weight / f.pivot[i] * x[i])
		}
	}
	f.solveCore(x)
	for k := len(f.order) - 1; k >= 0; k-- {
		i := f.order[k]
		for _, l := range f.rows[i] {
			x[i] += float64(l.weight * x[l.to])
		}
		if x[i] /= f.pivot[i]; len(f.rows[i]) == 0 { // the last node of all: any value will do
			x[i] = 0
		}
	}
	center(x)
}

// solveCore replaces the right side in the core's places of x with a solution, by conjugate gradients with the diagonal
// as preconditioner (Hestenes and Stiefel, 1952). If that takes more work than is left, the solution is useless, and no
// work is left afterwards.
func (f *factor) solveCore(x []float64) {
	r, p, q, diagonal := slices.Clone(x), make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	var entries, size float64
	for _, i := range f.core {
		for _, l := range f.rows[i] {
			diagonal[i] += l.weight
		}
		entries += float64(len(f.rows[i]) + 8)
		p[i], x[i] = r[i]/diagonal[i], 0
		size += float64(r[i] * p[i])
	}
	for enough := size * accuracy * accuracy; size > enough; f.work -= entries {
		if f.work < 0 {
			return
		}
		var slope, next float64
		for _, i := range f.core {
			q[i] = 0
			for _, l := range f.rows[i] { // in differences, which keep their digits where p hardly varies
				diff := p[i] - p[l.to]
				flow := float64(l.weight * diff)
				q[i] += flow
				slope += float64(flow*diff) / 2
			}
		}
		for _, i := range f.core {
			x[i] += float64(size / slope * p[i])
			r[i] -= float64(size / slope * q[i])
			next += float64(r[i] * (r[i] / diagonal[i]))
		}
		for _, i := range f.core {
			p[i] = r[i]/diagonal[i] + float64(next/size*p[i])
		}
		size = next
	}
}
