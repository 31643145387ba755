//go:build !purego

package tabular

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// isa is the instruction set that the kernels use. Its values are the constants of package cpu.
var isa = cpu.Best()

// shortDots reports whether to use dotRows for rows of d numbers. Longer rows would not be faster.
func shortDots(d int) bool {
	return isa == cpu.AVX2 && d >= 8 && d <= 16 || isa == cpu.AVX512 && d <= 512
}

// dotRows requires at least one row.
//
//go:noescape
func dotRows(z []float64, x [][]float32, table []float32, rows []int)

// gather is [gatherGo] in AVX-512, AVX2 or Go, whichever the processor supports.
//
//go:noescape
func gather(z []float64, entries []Entry, rows []float64) bool
