//go:build !purego && (amd64 || arm64)

package vec

// These are the assembly kernels. The functions in vec.go check the arguments. On amd64, each kernel jumps to the
// variant for the instruction set isa; every arm64 processor has NEON.

//go:noescape
func dot(x, y []float32) float64

//go:noescape
func axpy(y []float32, a float32, x []float32)

//go:noescape
func scale(y []float32, a float32)

//go:noescape
func step(phi []float32, eta float32, v []float32, c float32, p []float32)

//go:noescape
func signPerturb(y, x []float32, mu float32, signs []uint64)

//go:noescape
func signAdd(y, x, c []float32, signs []uint64)

//go:noescape
func signScale(y []float32, a float32, signs []uint64)

//go:noescape
func signReplace(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)

//go:noescape
func signFold(x []float32, signs []uint64) float32
