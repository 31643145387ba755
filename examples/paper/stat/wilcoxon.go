package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Zeros says what the signed-rank test does with pairs whose two values are equal.
type Zeros int

const (
	// DropZeros leaves them out before anything is ranked, as Wilcoxon did: "Individual comparisons by ranking methods",
	// Biometrics Bulletin 1, 1945.
	DropZeros Zeros = iota
	// PrattZeros ranks them with the others and leaves out their ranks: Pratt, "Remarks on zeros and ties in the Wilcoxon
	// signed rank procedures", Journal of the American Statistical Association 54, 1959. More zeros then make the rest
	// count for more.
	PrattZeros
)

// maxExact is up to how many pairs Wilcoxon's distribution is computed and not approximated.
const maxExact = 50

// Test is the outcome of a signed-rank test.
type Test struct {
	Pairs int     // that differ
	Plus  float64 // W+, the sum of the ranks of the positive differences
	P     float64 // two-sided, in (0, 1]
	Exact bool    // P comes from the distribution itself, not from its normal approximation
}

// Wilcoxon tests whether the differences x[i]-y[i] are symmetric around 0, by Wilcoxon's signed-rank test. The slices
// have the same length and hold finite numbers.
//
// The test is exact if at most 50 pairs differ, none is equal and no two differences are of equal size. Otherwise W+ is
// taken as normal with its own mean and variance, equal sizes (who share the mean of their ranks) allowed for, and
// moved by the continuity correction of 1/2. If no pair differs, P is 1.
//
// Differences are first rounded to multiples of 2^-40 of the largest value given: 0.3-0.2 and 0.2-0.1 are of equal size
// here, though they are not in float64.
func Wilcoxon(x, y []float64, zeros Zeros) (Test, error) {
	if len(x) != len(y) {
		return Test{}, fmt.Errorf("stat: pairs of %d and %d values, want equal numbers", len(x), len(y))
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
	before := 0 // ranks that the zeros take
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

// differences returns x-y, rounded as Wilcoxon says.
func differences(x, y []float64) ([]float64, error) {
	var largest float64
	for i := range x {
		for _, v := range []float64{x[i], y[i]} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("stat: pair %d is (%v, %v), want finite numbers", i, x[i], y[i])
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

// rankSum returns the sum of the ranks of the positive ones of differences that are sorted by size and not 0, the first
// rank being before+1, and the sum of t^3-t over every t of equal size.
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

// exact returns the two-sided p value of W+ = w for n differences without zeros and ties: twice the smaller tail, at
// most 1. Each of the 2^n ways to give signs to the ranks 1..n is equally likely; count[s] of them have sum s, numbers
// below 2^50 that float64 holds exactly.
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
