//go:build !purego

package vec_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/internal/cpu"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TestUpperHalvesAreClean checks that every path of a kernel leaves the upper halves of the vector registers clean.
// Otherwise, scalar floating-point code in the whole process would run several times slower.
func TestUpperHalvesAreClean(t *testing.T) {
	if _, ok := cpu.DirtyUpper(); !ok {
		t.Skip("the processor cannot report this")
	}
	v := make([][]float32, 4)
	for j := range v {
		v[j] = make([]float32, 5000)
		for i := range v[j] {
			v[j][i] = float32(i + j)
		}
	}
	signs := make([]uint64, vec.SignWords(5000))
	defer vec.Choose(vec.Chosen())
	clean := func(kernel string) {
		if dirty, _ := cpu.DirtyUpper(); dirty {
			t.Fatalf("%s %s: upper halves in use", vec.Chosen(), kernel)
		}
	}
	for _, variant := range vec.Variants()[1:] {
		vec.Choose(variant.Name)
		vec.Sigmoids(make([]float64, 9))
		clean("Sigmoids")
		for n := 1; n < 200; n++ {
			vec.SignPerturbRows(v[0][:2*n], v[1][:n], 1, signs)
			clean("SignPerturbRows")
			vec.SignReplaceRows(v[0], []int{0, 1}, v[1][:n], v[2][:n], v[3], signs, 1, 1)
			clean("SignReplaceRows")
			vec.SignFillRows(v[0], []int{0, 1}, v[1][:n], v[3], signs)
			clean("SignFillRows")
		}
		for n := range 5000 {
			if n > 300 && n < 4000 || n > 4200 {
				continue
			}
			args := [][]float32{v[0][:n], v[1][:n], v[2][:n], v[3][:n]}
			for _, k := range kernels {
				k.run(&variant, args, 1e-3, 1e-3, signs)
				clean(k.name)
			}
			variant.Dot(args[0], args[1])
			clean("Dot")
			variant.SumSquares(args[0])
			clean("SumSquares")
		}
	}
}
