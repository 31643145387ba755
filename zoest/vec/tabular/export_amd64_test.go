//go:build !purego

package tabular

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

func dotRowsAVX512(z []float64, x [][]float32, table []float32, rows []int)

var _ = dotRowsAVX512 // go vet compares its code with the declaration above

// Variants returns the instruction sets that this processor has.
func Variants() []uint8 { return []uint8{cpu.Go, cpu.AVX2, cpu.AVX512}[:cpu.Best()+1] }

// Chosen returns the instruction set that the kernels use, and Choose changes it.
func Chosen() uint8 { return isa }

func Choose(set uint8) { isa = set }
