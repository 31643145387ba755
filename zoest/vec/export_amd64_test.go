//go:build !purego

package vec

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

var isaName = [...]string{cpu.Go: "Go", cpu.AVX2: "AVX2", cpu.AVX512: "AVX512"}

// These are the variants to which the kernels jump.

func dotAVX2(x, y []float32) float64
func dotAVX512(x, y []float32) float64
func axpyAVX2(y []float32, a float32, x []float32)
func axpyAVX512(y []float32, a float32, x []float32)
func scaleAVX2(y []float32, a float32)
func scaleAVX512(y []float32, a float32)
func stepAVX2(phi []float32, eta float32, v []float32, c float32, p []float32)
func stepAVX512(phi []float32, eta float32, v []float32, c float32, p []float32)
func signPerturbAVX2(y, x []float32, mu float32, signs []uint64)
func signPerturbAVX512(y, x []float32, mu float32, signs []uint64)
func signAddAVX2(y, x, c []float32, signs []uint64)
func signAddAVX512(y, x, c []float32, signs []uint64)
func signScaleAVX2(y []float32, a float32, signs []uint64)
func signScaleAVX512(y []float32, a float32, signs []uint64)
func signReplaceAVX2(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
func signReplaceAVX512(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
func signFoldAVX2(x []float32, signs []uint64) float32
func signFoldAVX512(x []float32, signs []uint64) float32
func signPerturbRowsAVX512(y, x []float32, mu float32, signs []uint64, stride int)
func signReplaceRowsAVX512(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int)
func signFillRowsAVX512(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)

// Choose reaches the variants for rows; go vet compares their code with the declarations above.
var _ = [...]any{signPerturbRowsAVX512, signReplaceRowsAVX512, signFillRowsAVX512}

// Variants returns the variants that this processor can run.
func Variants() []Kernels {
	return []Kernels{
		Reference,
		{"AVX2", dotAVX2, axpyAVX2, scaleAVX2, stepAVX2, added(signPerturbAVX2),
			signPerturbAVX2, signAddAVX2, signScaleAVX2, signReplaceAVX2, signFoldAVX2},
		{"AVX512", dotAVX512, axpyAVX512, scaleAVX512, stepAVX512, added(signPerturbAVX512),
			signPerturbAVX512, signAddAVX512, signScaleAVX512, signReplaceAVX512, signFoldAVX512},
	}[:cpu.Best()+1]
}

// Chosen returns the name of the variant that the exported functions use.
func Chosen() string { return isaName[isa] }

// Choose makes the exported functions use the named variant if it is available. It reports whether they now use it.
func Choose(name string) bool {
	for i, n := range isaName {
		if n == name && i <= int(cpu.Best()) {
			isa = uint8(i)
			return true
		}
	}
	return false
}
