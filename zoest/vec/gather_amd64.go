//go:build !purego

package vec

// gather is [gatherGo], or AVX2 or AVX-512 where the processor has it.
//
//go:noescape
func gather(z []float64, entries []Entry, rows []float64) bool
