package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Zeros determines how the signed-rank test treats pairs of equal values.
type Zeros int

const (
	// DropZeros removes pairs of equal values before ranking, as in Wilcoxon, "Individual comparisons by ranking
	// methods", Biometrics Bulletin 1, 1945.
	DropZeros Zeros = iota
	// PrattZeros ranks pairs of equal values together with all other pairs and then drops their ranks, as in Pratt,
	// "Remarks on zeros and ties in the Wilcoxon signed rank procedures", Journal of the American Statistical
	// Association 54, 1959. Each pair of equal values thus raises the ranks of the other pairs.
	PrattZeros
)

// maxExact is the largest number of pairs for which the exact distribution is computed. For more pairs, the
// distribution is approximated by a normal distribution.
const maxExact = 50

// Test is the result of a signed-rank test.
type Test struct {
	Pairs int     // number of pairs whose two values differ
	Plus  float64 // W+, the sum of the ranks of the positive differences
	P     float64 // two-sided p value, in (0, 1]
	Exact bool    // P comes from the exact distribution, not from the normal approximation
}

// Wilcoxon tests whether the differences x[i]-y[i] are distributed symmetrically around 0, by Wilcoxon's signed-rank
// test. x and y must have the same length and contain only finite numbers.
//
// The test is exact if there are at most 50 pairs, no pair has equal values, and no two differences have the same
// absolute value. Otherwise it approximates W+ by a normal distribution with the exact mean and variance, corrected for
// ties (which share the mean of their ranks), and with the continuity correction of 1/2. If no pair differs, P is 1.
//
// Differences are first rounded to multiples of 2^-40 times the largest absolute value in x and y. For example, 0.3-0.2
// and 0.2-0.1 are equal after rounding, although they differ in float64.
func Wilcoxon(x, y []float64, zeros Zeros) (Test, error) {
	if len(x) != len(y) {
		return Test{}, fmt.Errorf("stat: x has %d values and y has %d, want equal numbers of values", len(x), len(y))
	}
	diffs, err := differences(x, y)
	if err != nil {
		return Test{}, err
	}
	equal := 0
	for _, d := range diffs {
		if d == 0 {
			equal++
		}
	}
	n := len(diffs) - equal
	if n == 0 {
		return Test{P: 1}, nil
	}
	slices.SortFunc(diffs, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	diffs = diffs[equal:]
	before := 0 // number of ranks that pairs with equal values take
	if zeros == PrattZeros {
		before = equal
	}
	plus, ties := rankSum(diffs, before)
	t := Test{Pairs: n, Plus: plus}
	if t.Exact = n <= maxExact && equal == 0 && ties == 0; t.Exact {
		t.P = exact(n, int(plus))
		return t, nil
	}
	all, skipped := float64(n+before), float64(before)
	mean := (float64(all*(all+1)) - float64(skipped*(skipped+1))) / 4
	variance := (all*(all+1)*(float64(2*all)+1)-skipped*(skipped+1)*(float64(2*skipped)+1))/24 - ties/48
	z := max(0, math.Abs(plus-mean)-0.5) / math.Sqrt(variance)
	t.P = math.Erfc(z / math.Sqrt2)
	return t, nil
}

// differences returns x-y, rounded as [Wilcoxon] describes.
func differences(x, y []float64) ([]float64, error) {
	var largest float64
	for i := range x {
		for _, v := range []float64{x[i], y[i]} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("stat: the pair at index %d is (%v, %v), want finite numbers", i, x[i], y[i])
			}
			largest = max(largest, math.Abs(v))
		}
	}
	if largest == 0 {
		return make([]float64, len(x)), nil
	}
	_, exponent := math.Frexp(largest)
	step := math.Ldexp(1, exponent-40)
	diffs := make([]float64, len(x))
	for i := range x {
		diffs[i] = math.RoundToEven((x[i] - y[i]) / step)
	}
	return diffs, nil
}

// rankSum ranks diffs, which must be nonzero and sorted by absolute value. The smallest rank is before+1. rankSum
// returns the sum of the ranks of the positive differences, and the sum of t^3-t over all groups of t ties.
func rankSum(diffs []float64, before int) (plus, ties float64) {
	for i := 0; i < len(diffs); {
		j := i + 1
		for j < len(diffs) && math.Abs(diffs[j]) == math.Abs(diffs[i]) {
			j++
		}
		rank := float64(before) + float64(i+1+j)/2
		for _, d := range diffs[i:j] {
			if d > 0 {
				plus += rank
			}
		}
		t := float64(j - i)
		ties += float64(t*t*t) - t
		i = j
	}
	return plus, ties
}

// exact returns the two-sided p value of W+ = w for n differences without zeros or ties: twice the smaller tail, but at
// most 1. All 2^n assignments of signs to the ranks 1..n are equally likely. count[s] is the number of assignments with
// rank sum s. It is below 2^50, so float64 represents it exactly.
func exact(n, w int) float64 {
	top := n * (n + 1) / 2
	count := make([]float64, top+1)
	count[0] = 1
	for r := 1; r <= n; r++ {
		for s := r * (r + 1) / 2; s >= r; s-- {
			count[s] += count[s-r]
		}
	}
	var tail float64
	for _, c := range count[:min(w, top-w)+1] {
		tail += c
	}
	return min(1, math.Ldexp(tail, 1-n))
}
