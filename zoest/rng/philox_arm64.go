//go:build !purego

package rng

// vector reports whether the processor supports NEON, which the assembly requires. Every arm64 processor does.
var vector = true

var wide = false

func rowsAVX512(*uint64, *int, int, uint32, uint32, uint32, uint32, uint32) {}
