package task

import (
	"runtime"
	"sync"
)

// matrix has rows of width numbers, one after the other.
type matrix struct {
	width int
	x     []float64
}

func newMatrix(rows, width int) matrix { return matrix{width, make([]float64, rows*width)} }

func (m matrix) row(i int) []float64 { return m.x[i*m.width : (i+1)*m.width : (i+1)*m.width] }

// sideBySide makes vectors the columns of a matrix.
func sideBySide(vectors [][]float64) matrix {
	m := newMatrix(len(vectors[0]), len(vectors))
	for l, v := range vectors {
		for j, x := range v {
			m.x[j*m.width+l] = x
		}
	}
	return m
}

// projector computes scalar products of rows, less their mean, with a few vectors.
type projector struct {
	vectors matrix
	start   []float64 // scalar products of the mean, less than zero
}

func newProjector(mean []float64, vectors [][]float64) projector {
	p := projector{vectors: sideBySide(vectors), start: make([]float64, len(vectors))}
	for l, v := range vectors {
		p.start[l] = -dot(mean, v)
	}
	return p
}

// project stores the products of a row in z.
func (p *projector) project(z []float64, row []float32) {
	copy(z, p.start)
	j := 0
	for ; j+4 <= len(row); j += 4 {
		addFour(z, [4]float32(row[j:]), p.vectors.x[j*p.vectors.width:])
	}
	for ; j < len(row); j++ {
		if row[j] != 0 {
			addMultiple(z, float64(row[j]), p.vectors.row(j))
		}
	}
}

// addFour adds to y four rows of its length, which begin rows, one after the other, each times its number. Numbers that
// are all zero, as many pixels are, cost nothing.
func addFour(y []float64, a [4]float32, rows []float64) {
	if a == [4]float32{} {
		return
	}
	n := len(y)
	r0, r1, r2, r3 := rows[:n], rows[n:2*n], rows[2*n:3*n], rows[3*n:4*n]
	a0, a1, a2, a3 := float64(a[0]), float64(a[1]), float64(a[2]), float64(a[3])
	for l, sum := range y {
		sum += float64(a0 * r0[l])
		sum += float64(a1 * r1[l])
		sum += float64(a2 * r2[l])
		y[l] = sum + float64(a3*r3[l])
	}
}

// covariance multiplies vectors by the covariance matrix of a data set, which it never forms, on as many processors as
// there are. The order of each sum is that of the rows, or of the columns.
type covariance struct {
	data *Data
	mean []float64
	z    matrix // room for the rows' products
}

func newCovariance(d *Data) *covariance {
	c := &covariance{data: d, mean: make([]float64, d.Dim)}
	for i := range d.Len() {
		for j, x := range d.Row(i) {
			c.mean[j] += float64(x)
		}
	}
	for j := range c.mean {
		c.mean[j] /= float64(d.Len())
	}
	return c
}

// product returns the products of the matrix with vectors.
func (c *covariance) product(vectors [][]float64) [][]float64 {
	d, p, out := c.data, newProjector(c.mean, vectors), newMatrix(c.data.Dim, len(vectors))
	if c.z.width != out.width {
		c.z = newMatrix(d.Len(), out.width)
	}
	share(d.Len(), func(from, to int) {
		for i := from; i < to; i++ {
			p.project(c.z.row(i), d.Row(i))
		}
	})
	share(d.Dim, func(from, to int) {
		i := 0
		for ; i+4 <= d.Len(); i += 4 {
			r0, r1, r2, r3, z := d.Row(i), d.Row(i+1), d.Row(i+2), d.Row(i+3), c.z.x[i*c.z.width:]
			for j := from; j < to; j++ {
				addFour(out.row(j), [4]float32{r0[j], r1[j], r2[j], r3[j]}, z)
			}
		}
		for ; i < d.Len(); i++ {
			for j := from; j < to; j++ {
				addMultiple(out.row(j), float64(d.Row(i)[j]), c.z.row(i))
			}
		}
	})
	sum := make([]float64, out.width) // of the rows' products; zero but for rounding
	for i := range d.Len() {
		addMultiple(sum, 1, c.z.row(i))
	}
	products := make([][]float64, len(vectors))
	for l := range products {
		products[l] = make([]float64, d.Dim)
		for j, mean := range c.mean {
			products[l][j] = (out.row(j)[l] - float64(mean*sum[l])) / float64(d.Len())
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
