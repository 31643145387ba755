//go:build !purego

package vec

// gather is [gatherGo], or AVX2 where the processor has it.
//
//go:noescape
func gather(z *[GatherLanes]float64, entries []Entry, rows [][GatherLanes]float64) bool
