//go:build !purego

package vec

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// isa is the instruction set that the kernels use, of those in package cpu.
var isa = cpu.Best()
