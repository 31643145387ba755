//go:build !purego

package rng

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// vector is whether the assembly, which is AVX2, may be used.
var vector = cpu.Best() >= cpu.AVX2
