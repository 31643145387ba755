//go:build !purego

package rng

import (
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/internal/cpu"
)

// TestUpperHalvesAreClean checks that the assembly leaves the upper halves of the vector registers clean.
func TestUpperHalvesAreClean(t *testing.T) {
	if _, ok := cpu.DirtyUpper(); !ok || !vector {
		t.Skip("the processor cannot report this")
	}
	var dst [2 * group]uint64
	var components [group]int
	runAsm(&dst[0], 1, 1, 2, 3, 4, 5, 6)
	if dirty, _ := cpu.DirtyUpper(); dirty {
		t.Error("runAsm: upper halves in use")
	}
	rowsAsm(&dst[0], &components[0], 1, 1, 2, 3, 4, 5)
	if dirty, _ := cpu.DirtyUpper(); dirty {
		t.Error("rowsAsm: upper halves in use")
	}
	if !wide {
		return
	}
	rowsAVX512(&dst[0], &components[0], group-1, 1, 2, 3, 4, 5)
	if dirty, _ := cpu.DirtyUpper(); dirty {
		t.Error("rowsAVX512: upper halves in use")
	}
}
