//go:build !purego

package vec

// Every arm64 processor has NEON.

func dot(x, y []float32) float64               { return dotNEON(x, y) }
func axpy(y []float32, a float32, x []float32) { axpyNEON(y, a, x) }
func scale(y []float32, a float32)             { scaleNEON(y, a) }
func step(phi []float32, eta float32, v []float32, c float32, p []float32) {
	stepNEON(phi, eta, v, c, p)
}
func replace(a, v, abar, q []float32, byB, byM float32)      { replaceNEON(a, v, abar, q, byB, byM) }
func signAxpy(y []float32, a float32, signs []uint64)        { signAxpyNEON(y, a, signs) }
func signPerturb(y, x []float32, mu float32, signs []uint64) { signPerturbNEON(y, x, mu, signs) }
func signScale(y []float32, a float32, signs []uint64)       { signScaleNEON(y, a, signs) }

//go:noescape
func dotNEON(x, y []float32) float64

//go:noescape
func axpyNEON(y []float32, a float32, x []float32)

//go:noescape
func scaleNEON(y []float32, a float32)

//go:noescape
func stepNEON(phi []float32, eta float32, v []float32, c float32, p []float32)

//go:noescape
func replaceNEON(a, v, abar, q []float32, byB, byM float32)

//go:noescape
func signAxpyNEON(y []float32, a float32, signs []uint64)

//go:noescape
func signPerturbNEON(y, x []float32, mu float32, signs []uint64)

//go:noescape
func signScaleNEON(y []float32, a float32, signs []uint64)
