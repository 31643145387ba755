//go:build !purego

package vec

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/internal/cpu"
)

// isa is the instruction set that the kernels use. Its values are the constants of package cpu.
var isa = cpu.Best()

// shortRows reports whether to use the kernels for rows of d numbers. Longer rows would not be faster.
func shortRows(d int) bool {
	return isa == cpu.AVX2 && d >= 8 && d <= 64 || isa == cpu.AVX512 && d <= 512
}

// The following kernels require at least one row.

//go:noescape
func signPerturbRows(y, x []float32, mu float32, signs []uint64, stride int)

//go:noescape
func signReplaceRows(table []float32, rows []int, v, abar, c []float32, signs []uint64, byB, byM float32, stride int)

//go:noescape
func signFillRows(table []float32, rows []int, sum, c []float32, signs []uint64, stride int)

// sigmoidConst contains the constants of [Exp] that the assembly needs, except expCoeff.
var sigmoidConst = [...]float64{log2e, 0.5, ln2Hi, ln2Lo, 1, expLeast}

// sigmoids replaces the first elements of z with their [Sigmoid] and returns how many it replaced: all with AVX-512,
// all but at most three with AVX2, and otherwise none.
func sigmoids(z []float64) int {
	n := len(z)
	switch {
	case n == 0 || isa < cpu.AVX2:
		return 0
	case isa >= cpu.AVX512:
		sigmoidsAVX512(z, &sigmoidConst)
		return n
	}
	if n &^= 3; n > 0 {
		sigmoidsAVX2(z[:n], &sigmoidConst)
	}
	return n
}

// sigmoidsAVX512 replaces each element of z with its [Sigmoid]. len(z) must be at least 1.
//
//go:noescape
func sigmoidsAVX512(z []float64, constants *[6]float64)

// sigmoidsAVX2 replaces each element of z with its [Sigmoid]. len(z) must be a positive multiple of 4.
//
//go:noescape
func sigmoidsAVX2(z []float64, constants *[6]float64)

// logConst contains the constants of [Log] that the assembly needs, except odd: the range of normal numbers, the bits of
// a fraction, and so on.
var logConst = [...]float64{0x1p-1022, math.MaxFloat64, math.Float64frombits(1<<52 - 1), 0.5, math.Sqrt2 / 2, 1, ln2Hi, ln2Lo, 0x1.8p52}

// logs replaces the first elements of z with their [Log] and returns how many it replaced. With AVX2 these are all but at
// most three, unless it finds a number that is not normal and positive.
func logs(z []float64) int {
	n := len(z) &^ 3
	if n == 0 || isa < cpu.AVX2 {
		return 0
	}
	return n - logsAVX2(z[:n], &logConst)
}

// logsAVX2 replaces elements of z with their [Log], four at a time, until four are not all normal and positive. It returns
// the number of elements that are left. len(z) must be a positive multiple of 4.
//
//go:noescape
func logsAVX2(z []float64, constants *[9]float64) (left int)
