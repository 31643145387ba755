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

//go:noescape
func signFillRowsAVX512(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)

//go:noescape
func dotRowsAVX512(z []float64, x [][]float32, table []float32, rows []int)
