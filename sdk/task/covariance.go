package task

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

const tile = 256 // rows whose products stay in a near cache while all columns have their turn

// matrix has width numbers in each row, a multiple of [vec.GatherLanes].
type matrix struct {
	width int
	x     []float64
}

func (m matrix) row(i int) []float64 { return m.x[i*m.width : (i+1)*m.width : (i+1)*m.width] }

// sideBySide makes vectors the columns of a matrix; columns that are left are zero.
func sideBySide(vectors [][]float64) matrix {
	m := newMatrix(len(vectors[0]), len(vectors))
	for l, v := range vectors {
		for j, x := range v {
			m.x[j*m.width+l] = x
		}
	}
	return m
}

// newMatrix returns a matrix of zeros with room for so many columns.
func newMatrix(rows, columns int) matrix {
	width := (columns + vec.GatherLanes - 1) / vec.GatherLanes * vec.GatherLanes
	return matrix{width, make([]float64, rows*width)}
}

// sparse is the numbers of a row or column that are not zero.
type sparse []vec.Entry

// appendRow appends the numbers of a row that are not zero.
func (s sparse) appendRow(row []float32) sparse {
	n := len(s)
	s = slices.Grow(s, len(row))[:n+len(row)]
	for j, x := range row {
		s[n] = vec.Entry{At: uint32(j), X: x}
		if math.Float32bits(x)<<1 != 0 { // without a jump that is hard to foresee
			n++
		}
	}
	return s[:n]
}

// projector computes scalar products of rows, less their mean, with a few vectors.
type projector struct {
	vectors matrix
	start   []float64 // scalar products of the mean, less than zero
}

func newProjector(mean []float64, vectors [][]float64) projector {
	p := projector{vectors: sideBySide(vectors)}
	p.start = make([]float64, p.vectors.width)
	for l, v := range vectors {
		p.start[l] = -dot(mean, v)
	}
	return p
}

// project stores the products of a row.
func (p *projector) project(z []float64, row sparse) {
	copy(z, p.start)
	vec.Gather(z, row, p.vectors.x)
}

// covariance multiplies vectors by the covariance matrix of a data set. It never forms the matrix: it keeps what is not
// zero, by rows and by columns, so that a pixel that is zero costs nothing, and works on as many processors as there
// are. The order of each sum is that of the rows, or of the columns.
type covariance struct {
	mean  []float64
	rows  []sparse
	tiles [][]sparse // the columns in each tile of rows, and behind them one of ones
	z     matrix     // room for the rows' products
}

func newCovariance(d *Data) *covariance {
	c := &covariance{mean: make([]float64, d.Dim), rows: make([]sparse, d.Len())}
	c.tiles = make([][]sparse, (d.Len()+tile-1)/tile)
	share(len(c.tiles), func(from, to int) {
		var room sparse
		for t := from; t < to; t++ {
			room = c.fill(t, d, room[:0])
		}
	})
	share(d.Dim, func(from, to int) {
		for j := from; j < to; j++ {
			for _, columns := range c.tiles {
				for _, n := range columns[j] {
					c.mean[j] += float64(n.X)
				}
			}
			c.mean[j] /= float64(d.Len())
		}
	})
	return c
}

// fill takes in a tile of rows. It returns the room that it has used.
func (c *covariance) fill(t int, d *Data, room sparse) sparse {
	first, end := t*tile, min((t+1)*tile, d.Len())
	for i := first; i < end; i++ {
		room = room.appendRow(d.Row(i))
		c.rows[i] = room
	}
	rest, done := slices.Clone(room), 0
	size := make([]int, d.Dim)
	for i := first; i < end; i++ {
		n := len(c.rows[i]) - done
		c.rows[i], rest, done = rest[:n:n], rest[n:], done+n
		for _, n := range c.rows[i] {
			size[n.At]++
		}
	}
	columns, all := make([]sparse, d.Dim+1), make(sparse, done+end-first)
	for j, n := range append(size, end-first) {
		columns[j], all = all[:0:n], all[n:]
	}
	for i := first; i < end; i++ {
		for _, n := range c.rows[i] {
			columns[n.At] = append(columns[n.At], vec.Entry{At: uint32(i), X: n.X})
		}
		columns[d.Dim] = append(columns[d.Dim], vec.Entry{At: uint32(i), X: 1})
	}
	c.tiles[t] = columns
	return room
}

// product returns the products of the matrix with vectors.
func (c *covariance) product(vectors [][]float64) [][]float64 {
	dim := len(c.mean)
	p, out := newProjector(c.mean, vectors), newMatrix(dim+1, len(vectors))
	if c.z.width != out.width {
		c.z = newMatrix(len(c.rows), len(vectors))
	}
	share(len(c.rows), func(from, to int) {
		for i := from; i < to; i++ {
			p.project(c.z.row(i), c.rows[i])
		}
	})
	share(dim+1, func(from, to int) {
		for _, columns := range c.tiles {
			for j := from; j < to; j++ {
				vec.Gather(out.row(j), columns[j], c.z.x)
			}
		}
	})
	products, sum := make([][]float64, len(vectors)), out.row(dim) // of projections; zero but for rounding
	for l := range products {
		products[l] = make([]float64, dim)
		for j, mean := range c.mean {
			products[l][j] = (out.row(j)[l] - float64(mean*sum[l])) / float64(len(c.rows))
		}
	}
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
