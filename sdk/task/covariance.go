package task

import (
	"runtime"
	"sync"
)

func newMatrix(rows, width int) [][]float64 {
	m, flat := make([][]float64, rows), make([]float64, rows*width)
	for i := range m {
		m[i], flat = flat[:width:width], flat[width:]
	}
	return m
}

// projector computes the scalar products of a row, minus the column means, with a few vectors.
type projector struct {
	columns [][]float64 // for each column of the data, the entries of all vectors for this column
	start   []float64   // scalar product of the column means with each vector, negated
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

func (p *projector) project(z []float64, row []float32) {
	copy(z, p.start)
	for j, x := range row {
		if x != 0 {
			addMultiple(z, float64(x), p.columns[j])
		}
	}
}

// covariance returns the products of the covariance matrix of d with the vectors, without forming the matrix. mean
// holds the column means of d. The function uses all processors, but adds the terms of each sum in a fixed order, so
// the result does not depend on the number of processors.
func covariance(d *Data, mean []float64, vectors [][]float64) [][]float64 {
	p, z, out := newProjector(mean, vectors), newMatrix(d.Len(), len(vectors)), newMatrix(d.Dim, len(vectors))
	share(d.Len(), func(from, to int) {
		for i := from; i < to; i++ {
			p.project(z[i], d.Row(i))
		}
	})
	share(d.Dim, func(from, to int) {
		for i, products := range z {
			for j, x := range d.Row(i)[from:to] {
				if x != 0 {
					addMultiple(out[from+j], float64(x), products)
				}
			}
		}
	})
	sum := make([]float64, len(vectors)) // sum of the projections of all rows; zero up to rounding
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

// share divides [0, n) into intervals [from, to), calls f for all of them concurrently, and waits until all calls have
// returned.
func share(n int, f func(from, to int)) {
	var all sync.WaitGroup
	piece := max(1, (n-1)/runtime.GOMAXPROCS(0)+1)
	for from := 0; from < n; from += piece {
		all.Go(func() { f(from, min(from+piece, n)) })
	}
	all.Wait()
}
