//go:build !purego

package vec

// gather is [gatherGo] in AVX-512, AVX2 or Go, whichever the processor supports.
//
//go:noescape
func gather(z []float64, entries []Entry, rows []float64) bool
