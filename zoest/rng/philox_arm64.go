//go:build !purego

package rng

// vector reports whether the processor supports the assembly: every arm64 processor has NEON.
var vector = true

var wide = false

func rowsAVX512(*uint64, *int, int, uint32, uint32, uint32, uint32, uint32) {}
