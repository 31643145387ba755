//go:build purego || !(amd64 || arm64)

package vec

func dot(x, y []float32) float64                                           { return dotGo(x, y) }
func axpy(y []float32, a float32, x []float32)                             { axpyGo(y, a, x) }
func scale(y []float32, a float32)                                         { scaleGo(y, a) }
func step(phi []float32, eta float32, v []float32, c float32, p []float32) { stepGo(phi, eta, v, c, p) }
func signPerturb(y, x []float32, mu float32, signs []uint64)               { signPerturbGo(y, x, mu, signs) }
func signAdd(y, x, c []float32, signs []uint64)                            { signAddGo(y, x, c, signs) }
func signScale(y []float32, a float32, signs []uint64)                     { signScaleGo(y, a, signs) }
func signFold(x []float32, signs []uint64) float32                         { return signFoldGo(x, signs) }
func signReplace(a, v, abar []float32, c float32, signs []uint64, byB, byM float32) {
	signReplaceGo(a, v, abar, c, signs, byB, byM)
}
