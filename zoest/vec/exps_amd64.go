//go:build !purego

package vec

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/internal/cpu"
)

// expConst holds the other constants of [Exp], for expsAVX2.
var expConst = [...]float64{1 / math.Ln2, 0.5, ln2Hi, ln2Lo, 1, 709.78, -708.39, math.Inf(1)}

// expQuads sets x, for its first numbers, to what [Exp] returns, and returns how many these are: all but up to three
// where the processor has AVX2, else none.
func expQuads(x []float64) int {
	n := len(x) &^ 3
	if n == 0 || isa < cpu.AVX2 {
		return 0
	}
	expsAVX2(x[:n], &expConst)
	return n
}

// expsAVX2 takes numbers four at a time, at least once.
//
//go:noescape
func expsAVX2(x []float64, constants *[8]float64)
