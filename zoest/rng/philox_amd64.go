//go:build !purego

package rng

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// vector says whether the assembly, which is AVX2, may be used.
var vector = cpu.Best() >= cpu.AVX2

// wide says whether it may be AVX-512.
var wide = cpu.Best() >= cpu.AVX512

// rowsAVX512 is rowsGo for at least one component.
//
//go:noescape
func rowsAVX512(dst *uint64, components *int, n int, c0, c2, c3, k0, k1 uint32)
