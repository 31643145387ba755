//go:build !purego

package rng

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// vector reports whether the processor supports AVX2, which the assembly requires.
var vector = cpu.Best() >= cpu.AVX2

// wide reports whether the processor supports AVX-512.
var wide = cpu.Best() >= cpu.AVX512

// rowsAVX512 has the same result as rowsGo for n components. n must be at least 1.
//
//go:noescape
func rowsAVX512(dst *uint64, components *int, n int, c0, c2, c3, k0, k1 uint32)
