//go:build !purego

package rng

// vector is whether the assembly may be used: every arm64 processor has NEON.
var vector = true
