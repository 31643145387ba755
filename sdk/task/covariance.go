package task

import (
	"runtime"
	"sync"
)

// newMatrix returns rows of width zeros.
func newMatrix(rows, width int) [][]float64 {
	m, flat := make([][]float64, rows), make([]float64, rows*width)
	for i := range m {
		m[i], flat = flat[:width:width], flat[width:]
	}
	return m
}

// projector computes scalar products of rows, less their mean, with a few vectors.
type projector struct {
	columns [][]float64 // for each column of the data its number in every vector
	start   []float64   // scalar products of the mean, less than zero
}

func newProjector(mean []float64, vectors [][]float64) projector {
	p := projector{columns: newMatrix(len(mean), len(vectors)), start: make([]float64, len(vectors))}
	for l, v := range vectors {
		p.start[l] = -dot(mean, v)
		for j, x := range v {
			p.columns[j][l] = x
		}
	}
	return p
}

// project stores the products of a row in z.
func (p *projector) project(z []float64, row []float32) {
	copy(z, p.start)
	j := 0
	for ; j+4 <= len(row); j += 4 {
		addFour(z, [4]float32(row[j:]), p.columns[j:])
	}
	for ; j < len(row); j++ {
		if row[j] != 0 {
			addMultiple(z, float64(row[j]), p.columns[j])
		}
	}
}

// addFour adds to y the first four rows, each times its number, in a quarter of the passes over y. Numbers that are all
// zero cost nothing.
func addFour(y []float64, a [4]float32, rows [][]float64) {
	if a == [4]float32{} {
		return
	}
	r0, r1, r2, r3 := rows[0][:len(y)], rows[1][:len(y)], rows[2][:len(y)], rows[3][:len(y)]
	a0, a1, a2, a3 := float64(a[0]), float64(a[1]), float64(a[2]), float64(a[3])
	for l, sum := range y {
		sum += float64(a0 * r0[l])
		sum += float64(a1 * r1[l])
		sum += float64(a2 * r2[l])
		y[l] = sum + float64(a3*r3[l])
	}
}

// covariance returns the products of the covariance matrix of a data set, whose column means are given, with vectors. It
// never forms the matrix, and works on as many processors as there are. The order of each sum is that of the rows, or of
// the columns.
func covariance(d *Data, mean []float64, vectors [][]float64) [][]float64 {
	p, z, out := newProjector(mean, vectors), newMatrix(d.Len(), len(vectors)), newMatrix(d.Dim, len(vectors))
	share(d.Len(), func(from, to int) {
		for i := from; i < to; i++ {
			p.project(z[i], d.Row(i))
		}
	})
	share(d.Dim, func(from, to int) {
		i := 0
		for ; i+4 <= d.Len(); i += 4 {
			r0, r1, r2, r3 := d.Row(i), d.Row(i+1), d.Row(i+2), d.Row(i+3)
			for j := from; j < to; j++ {
				addFour(out[j], [4]float32{r0[j], r1[j], r2[j], r3[j]}, z[i:])
			}
		}
		for ; i < d.Len(); i++ {
			for j := from; j < to; j++ {
				addMultiple(out[j], float64(d.Row(i)[j]), z[i])
			}
		}
	})
	sum := make([]float64, len(vectors)) // of the rows' products; zero but for rounding
	for _, row := range z {
		addMultiple(sum, 1, row)
	}
	products := newMatrix(len(vectors), d.Dim)
	for l, product := range products {
		for j, m := range mean {
			product[j] = (out[j][l] - float64(m*sum[l])) / float64(d.Len())
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
