package task

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/eigen"
	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

// block is a matrix, row by row, with a width that suits [tabular.Gather]. Columns beyond the requested ones are zero.
type block struct {
	width int
	x     []float64
}

func newBlock(rows, columns int) block {
	width := (columns + tabular.GatherLanes - 1) / tabular.GatherLanes * tabular.GatherLanes
	return block{width, make([]float64, rows*width)}
}

func (b block) row(i int) []float64 { return b.x[i*b.width : (i+1)*b.width : (i+1)*b.width] }

// appendEntries appends the nonzero numbers of a row.
func appendEntries(to []tabular.Entry, row []float32) []tabular.Entry {
	n := len(to)
	to = slices.Grow(to, len(row))[:n+len(row)]
	for j, x := range row {
		to[n] = tabular.Entry{At: uint32(j), X: x}
		if math.Float32bits(x)<<1 != 0 { // compiles to a conditional move, because a jump would be hard to predict
			n++
		}
	}
	return to[:n]
}

// projector computes the scalar products of a row, minus the column means, with a few vectors.
type projector struct {
	vectors block     // one vector in each column
	start   []float64 // scalar product of the column means with each vector, negated
}

func newProjector(mean []float64, vectors [][]float64) projector {
	p := projector{vectors: newBlock(len(mean), len(vectors))}
	p.start = make([]float64, p.vectors.width)
	for l, v := range vectors {
		p.start[l] = -eigen.Dot(mean, v)
		for j, x := range v {
			p.vectors.x[j*p.vectors.width+l] = x
		}
	}
	return p
}

// project stores the products of a row in z, which has as many elements as a row of p.vectors.
func (p *projector) project(z []float64, row []tabular.Entry) {
	copy(z, p.start)
	tabular.Gather(z, row, p.vectors.x)
}

// tileRows is the number of rows whose products stay in a near cache while each column adds them up.
const tileRows = 128

// tile has the nonzero numbers of consecutive rows of a data set twice: by row and by column. The indices in a column
// are those of the data set's rows.
type tile struct{ rows, columns [][]tabular.Entry }

// newTile returns the tile of rows first to end-1. room is storage that the caller may reuse.
func newTile(d *Data, first, end int, room []tabular.Entry) (t tile, reusable []tabular.Entry) {
	room = room[:0]
	ends, size := make([]int, end-first), make([]int, d.Dim)
	for i := range ends {
		before := len(room)
		room = appendEntries(room, d.Row(first+i))
		ends[i] = len(room)
		for _, e := range room[before:] {
			size[e.At]++
		}
	}
	t = tile{rows: make([][]tabular.Entry, end-first), columns: make([][]tabular.Entry, d.Dim)}
	all, rest := append(make([]tabular.Entry, 0, len(room)), room...), make([]tabular.Entry, len(room))
	for j, n := range size {
		t.columns[j], rest = rest[:0:n], rest[n:]
	}
	before := 0
	for i, end := range ends {
		t.rows[i], before = all[before:end:end], end
		for _, e := range t.rows[i] {
			t.columns[e.At] = append(t.columns[e.At], tabular.Entry{At: uint32(first + i), X: e.X})
		}
	}
	return t, room
}

// covariance multiplies vectors by the covariance matrix of a data set, without forming the matrix. It keeps only the
// nonzero numbers of the data, so that a black pixel costs nothing.
type covariance struct {
	mean  []float64 // of each column
	tiles []tile
	rows  int
	z     block // storage for the products of the rows
}

func newCovariance(d *Data) *covariance {
	c := &covariance{mean: make([]float64, d.Dim), tiles: make([]tile, (d.Len()+tileRows-1)/tileRows), rows: d.Len()}
	eigen.Share(len(c.tiles), func(from, to int) {
		var room []tabular.Entry
		for t := from; t < to; t++ {
			c.tiles[t], room = newTile(d, t*tileRows, min((t+1)*tileRows, d.Len()), room)
		}
	})
	// The tiles have only the numbers that are not zero, and both processors add them: on images, columnMeans would take
	// longer.
	eigen.Share(d.Dim, func(from, to int) {
		for j := from; j < to; j++ {
			for _, t := range c.tiles {
				for _, e := range t.columns[j] {
					c.mean[j] += float64(e.X)
				}
			}
			c.mean[j] /= float64(c.rows)
		}
	})
	return c
}

// product returns the products of the matrix with the vectors. It uses all processors, but adds the terms of each sum in
// the order of the rows or columns, so the result does not depend on the number of processors.
func (c *covariance) product(vectors [][]float64) [][]float64 {
	p, out := newProjector(c.mean, vectors), newBlock(len(c.mean), len(vectors))
	if c.z.width != out.width {
		c.z = newBlock(c.rows, len(vectors))
	}
	eigen.Share(len(c.tiles), func(from, to int) {
		for t := from; t < to; t++ {
			for i, row := range c.tiles[t].rows {
				p.project(c.z.row(t*tileRows+i), row)
			}
		}
	})
	eigen.Share(len(c.mean), func(from, to int) {
		for _, t := range c.tiles {
			for j := from; j < to; j++ {
				tabular.Gather(out.row(j), t.columns[j], c.z.x)
			}
		}
	})
	sum := make([]float64, out.width) // sum of the projections of all rows; zero up to rounding
	for i := range c.rows {
		eigen.AddMultiple(sum, 1, c.z.row(i))
	}
	products := eigen.Matrix(len(vectors), len(c.mean))
	for l, product := range products {
		for j, m := range c.mean {
			product[j] = (out.row(j)[l] - float64(m*sum[l])) / float64(c.rows)
		}
	}
	return products
}
