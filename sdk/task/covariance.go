package task

import (
	"runtime"
	"sort"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

const (
	lanes = vec.GatherLanes
	tile  = 2048 // rows whose products stay in a near cache while all columns have their turn
)

// block is a number of each vector of a group.
type block = [lanes]float64

// blocks turns vectors into groups: entry j of a group has entry j of its vectors. The last group may lack some, which
// read as zeros.
func blocks(vectors [][]float64) [][]block {
	groups := make([][]block, (len(vectors)+lanes-1)/lanes)
	for l, v := range vectors {
		if l%lanes == 0 {
			groups[l/lanes] = make([]block, len(v))
		}
		for j, x := range v {
			groups[l/lanes][j][l%lanes] = x
		}
	}
	return groups
}

// sparse is the numbers of a row or column that are not zero.
type sparse []vec.Entry

// appendRow appends the numbers of a row that are not zero.
func (s sparse) appendRow(row []float32) sparse {
	for j, x := range row {
		if x != 0 {
			s = append(s, vec.Entry{At: uint32(j), X: x})
		}
	}
	return s
}

// projector computes scalar products of rows, less their mean, with a few vectors.
type projector struct {
	vectors [][]block
	start   []block // scalar products of the mean, less than zero
}

func newProjector(mean []float64, vectors [][]float64) projector {
	p := projector{vectors: blocks(vectors)}
	p.start = make([]block, len(p.vectors))
	for l, v := range vectors {
		p.start[l/lanes][l%lanes] = -dot(mean, v)
	}
	return p
}

// covariance multiplies vectors by the covariance matrix of a data set. It never forms the matrix: it keeps what is not
// zero, by rows and by columns, so that a pixel that is zero costs nothing, and works on as many processors as there
// are. The order of each sum is that of the rows, or of the columns.
type covariance struct {
	mean          []float64
	rows, columns []sparse
	z             [][]block // room for the rows' products with groups of vectors
}

func newCovariance(d *Data, mean []float64) *covariance {
	c := &covariance{mean: mean, rows: make([]sparse, d.Len()), columns: make([]sparse, d.Dim)}
	share(d.Len(), func(from, to int) {
		var row sparse
		for i := from; i < to; i++ {
			row = row[:0].appendRow(d.Row(i))
			c.rows[i] = append(sparse(nil), row...)
		}
	})
	share(d.Dim, func(from, to int) {
		count := make([]int, d.Dim)
		for _, row := range c.rows {
			for _, n := range row {
				count[n.At]++
			}
		}
		for j := from; j < to; j++ {
			c.columns[j] = make(sparse, 0, count[j])
		}
		for i, row := range c.rows {
			for _, n := range row {
				if j := int(n.At); from <= j && j < to {
					c.columns[j] = append(c.columns[j], vec.Entry{At: uint32(i), X: n.X})
				}
			}
		}
	})
	return c
}

// product returns the products of the matrix with vectors.
func (c *covariance) product(vectors [][]float64) [][]float64 {
	p, products := newProjector(c.mean, vectors), make([][]float64, len(vectors))
	for l := range products {
		products[l] = make([]float64, len(c.mean))
	}
	for len(c.z) < len(p.vectors) {
		c.z = append(c.z, make([]block, len(c.rows)))
	}
	z := c.z[:len(p.vectors)]
	share(len(c.rows), func(from, to int) {
		for i := from; i < to; i++ {
			for g, vectors := range p.vectors {
				z[g][i] = p.start[g]
				vec.Gather(&z[g][i], c.rows[i], vectors)
			}
		}
	})
	sum := make([]block, len(z)) // of the projections; zero but for rounding
	for g := range z {
		for i := range z[g] {
			for l, x := range z[g][i] {
				sum[g][l] += x
			}
		}
	}
	share(len(c.mean), func(from, to int) {
		rest, out := append([]sparse(nil), c.columns[from:to]...), make([]block, (to-from)*len(z))
		for end := 0; end < len(c.rows); {
			end += tile
			for j, column := range rest {
				near := column[:sort.Search(len(column), func(k int) bool { return int(column[k].At) >= end })]
				rest[j] = column[len(near):]
				for g := range z {
					vec.Gather(&out[j*len(z)+g], near, z[g])
				}
			}
		}
		for l, product := range products {
			for j := from; j < to; j++ {
				x := out[(j-from)*len(z)+l/lanes][l%lanes]
				product[j] = (x - float64(c.mean[j]*sum[l/lanes][l%lanes])) / float64(len(c.rows))
			}
		}
	})
	return products
}

// share calls f for pieces of [0, n), side by side.
func share(n int, f func(from, to int)) {
	var all sync.WaitGroup
	piece := max(1, (n-1)/runtime.GOMAXPROCS(0)+1)
	for from := 0; from < n; from += piece {
		all.Go(func() { f(from, min(from+piece, n)) })
	}
	all.Wait()
}
