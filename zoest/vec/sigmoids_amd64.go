//go:build !purego

package vec

import "github.com/spade-dfl/spade-edge/zoest/internal/cpu"

// sigmoidConst holds the other constants of [Exp], for the assembly.
var sigmoidConst = [...]float64{log2e, 0.5, ln2Hi, ln2Lo, 1, expLeast}

// sigmoids sets z, for its first numbers, to what [Sigmoid] returns, and returns how many these are: all with AVX-512,
// all but up to three with AVX2, else none.
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

// sigmoidsAVX512 takes at least one number.
//
//go:noescape
func sigmoidsAVX512(z []float64, constants *[6]float64)

// sigmoidsAVX2 takes numbers four at a time, at least once.
//
//go:noescape
func sigmoidsAVX2(z []float64, constants *[6]float64)
