//go:build !purego

package vec

import "math"

// expConst holds the other constants of [Exp], for expQuads.
var expConst = [...]float64{1 / math.Ln2, 0.5, ln2Hi, ln2Lo, 1, 709.78, -708.39, math.Inf(1)}

// expQuads sets x, for its first numbers, to what [Exp] returns, and returns how many these are: all but up to three
// where the processor has AVX2, else none.
//
//go:noescape
func expQuads(x []float64) int
