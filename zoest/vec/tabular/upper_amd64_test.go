//go:build !purego

package tabular_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/internal/cpu"
	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

// TestUpperHalvesAreClean checks that every path of a kernel leaves the upper halves of the vector registers clean.
// Otherwise, scalar floating-point code in the whole process would run several times slower.
func TestUpperHalvesAreClean(t *testing.T) {
	if _, ok := cpu.DirtyUpper(); !ok {
		t.Skip("the processor cannot report this")
	}
	defer tabular.Choose(tabular.Chosen())
	clean := func(kernel string) {
		if dirty, _ := cpu.DirtyUpper(); dirty {
			t.Fatalf("variant %d of %s: upper halves in use", tabular.Chosen(), kernel)
		}
	}
	x := make([]float32, 400)
	for _, variant := range tabular.Variants()[1:] {
		tabular.Choose(variant)
		tabular.Gather(make([]float64, 36), make([]tabular.Entry, 3), make([]float64, 36))
		clean("Gather")
		for n := 1; n < 200; n++ {
			tabular.DotRows(make([]float64, 2), [][]float32{x[:n], x[:n]}, x, []int{0, 1})
			clean("DotRows")
		}
	}
}
