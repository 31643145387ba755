//go:build !purego

package rng

// vector is whether the assembly may be used: every arm64 processor has NEON.
var vector = true

var wide = false

func rowsAVX512(*uint64, *int, int, uint32, uint32, uint32, uint32, uint32) {}
