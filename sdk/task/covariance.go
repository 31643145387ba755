package task

import (
	"runtime"
	"slices"
	"sort"
	"sync"
)

const (
	lanes = 6  // sums that every processor has registers for, beside their factors
	tile  = 64 // rows that stay in the nearest cache from one group of vectors to the next
)

// block is a number of each of six vectors.
type block [lanes]float64

// blocks turns vectors into groups of six: entry j of a group has entry j of its vectors. The last group may lack some,
// which read as zeros.
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
type sparse []number

type number struct {
	at uint32
	x  float32
}

// appendRow appends the numbers of a row that are not zero.
func (s sparse) appendRow(row []float32) sparse {
	for j, x := range row {
		if x != 0 {
			s = append(s, number{uint32(j), x})
		}
	}
	return s
}

// between returns the numbers in [from, to).
func (s sparse) between(from, to int) sparse {
	place := func(at int) int { return sort.Search(len(s), func(k int) bool { return int(s[k].at) >= at }) }
	return s[place(from):place(to)]
}

// times adds to z the products of s with six vectors, one number of s after the other.
func (s sparse) times(vectors []block, z block) block {
	z0, z1, z2, z3, z4, z5 := z[0], z[1], z[2], z[3], z[4], z[5]
	for _, n := range s {
		x, v := float64(n.x), &vectors[n.at]
		z0 += float64(x * v[0])
		z1 += float64(x * v[1])
		z2 += float64(x * v[2])
		z3 += float64(x * v[3])
		z4 += float64(x * v[4])
		z5 += float64(x * v[5])
	}
	return block{z0, z1, z2, z3, z4, z5}
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
}

func newCovariance(d *Data, mean []float64) *covariance {
	c := &covariance{mean: mean, rows: make([]sparse, d.Len()), columns: make([]sparse, d.Dim)}
	share(d.Len(), func(from, to int) {
		var row sparse
		for i := from; i < to; i++ {
			row = row[:0].appendRow(d.Row(i))
			c.rows[i] = slices.Clone(row)
		}
	})
	share(d.Dim, func(from, to int) {
		count := make([]int, to-from)
		for _, row := range c.rows {
			for _, n := range row.between(from, to) {
				count[int(n.at)-from]++
			}
		}
		for j, n := range count {
			c.columns[from+j] = make(sparse, 0, n)
		}
		for i, row := range c.rows {
			for _, n := range row.between(from, to) {
				c.columns[n.at] = append(c.columns[n.at], number{uint32(i), n.x})
			}
		}
	})
	return c
}

// product returns the products of the matrix with vectors.
func (c *covariance) product(vectors [][]float64) [][]float64 {
	p := newProjector(c.mean, vectors)
	products := make([][]float64, len(vectors))
	for l := range products {
		products[l] = make([]float64, len(c.mean))
	}
	z := make([][]block, len(p.vectors))
	for g := range z {
		z[g] = make([]block, len(c.rows))
	}
	share(len(c.rows), func(from, to int) {
		for ; from < to; from += tile {
			for g, vectors := range p.vectors {
				for i := from; i < min(from+tile, to); i++ {
					z[g][i] = c.rows[i].times(vectors, p.start[g])
				}
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
		for j := from; j < to; j++ {
			for g := range z {
				out := c.columns[j].times(z[g], block{})
				for l, product := range products[g*lanes : min((g+1)*lanes, len(products))] {
					product[j] = (out[l] - float64(c.mean[j]*sum[g][l])) / float64(len(c.rows))
				}
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
