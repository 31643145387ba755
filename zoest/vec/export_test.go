package vec

// Kernels contains one variant of all kernels for the tests: the exported functions, the Go code, or one kind of
// assembly. Only the exported functions check lengths.
type Kernels struct {
	Name        string // the suffix of its functions' names
	Dot         func(x, y []float32) float64
	Axpy        func(y []float32, a float32, x []float32)
	Scale       func(y []float32, a float32)
	Step        func(phi []float32, eta float32, v []float32, c float32, p []float32)
	SignAxpy    func(y []float32, a float32, signs []uint64)
	SignPerturb func(y, x []float32, mu float32, signs []uint64)
	SignAdd     func(y, x, c []float32, signs []uint64)
	SignScale   func(y []float32, a float32, signs []uint64)
	SignReplace func(a, v, abar []float32, c float32, signs []uint64, byB, byM float32)
	SignFold    func(x []float32, signs []uint64) float32 // a block of SignDot
}

var Exported = Kernels{"exported", Dot, Axpy, Scale, Step, SignAxpy, SignPerturb, SignAdd, SignScale, SignReplace,
	signFold}

// Reference contains the Go code, which defines the results in every build.
var Reference = Kernels{"Go", dotGo, axpyGo, scaleGo, stepGo, added(signPerturbGo), signPerturbGo, signAddGo, signScaleGo,
	signReplaceGo, signFoldGo}

// added returns a SignAxpy that calls the given SignPerturb, as the exported SignAxpy does.
func added(perturb func(y, x []float32, mu float32, signs []uint64)) func(y []float32, a float32, signs []uint64) {
	return func(y []float32, a float32, signs []uint64) { perturb(y, y, a, signs) }
}

// SumSquares returns the sum of x[i]*x[i]. Like the exported function, it calls Dot.
func (k *Kernels) SumSquares(x []float32) float64 { return k.Dot(x, x) }
