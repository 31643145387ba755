//go:build !purego

package vec

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// rowsAVX512 reports whether the rows kernels are in assembly for rows of d numbers: longer ones gain nothing.
func rowsAVX512(d int) bool { return isa >= cpu.AVX512 && d <= 512 }

// The rows kernels; there is at least one row.

//go:noescape
func signPerturbRowsAVX512(y, x []float32, mu float32, signs []uint64, stride int)

//go:noescape
func signReplaceRowsAVX512(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int)

func signFillRows(table []float32, rows []int, sum, c []float32, signs []uint64) bool {
	if len(rows) == 0 {
		return true
	}
	if overlap(table, sum) {
		panic(overlaps)
	}
	if !there(rows, table, len(sum)) {
		panic(notThere)
	}
	signFillRowsAVX512(table, rows, sum, c, signs, stride(signs, len(rows), SignWords(len(sum))))
	return true
}

//go:noescape
func signFillRowsAVX512(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)

func dotRows(z []float64, x [][]float32, table []float32, rows []int) bool {
	if len(z) == 0 {
		return true
	}
	d := len(x[0])
	for i := range x {
		if len(x[i]) != d {
			return false
		}
	}
	if !there(rows, table, d) {
		return false
	}
	if rowsAVX512(d) {
		dotRowsAVX512(z, x, table, rows)
		return true
	}
	for i, row := range rows {
		z[i] = dot(x[i], table[row*d:row*d+d])
	}
	return true
}

//go:noescape
func dotRowsAVX512(z []float64, x [][]float32, table []float32, rows []int)
