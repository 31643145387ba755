package rng

import "math"

// chiSquare returns the chi-square statistic of the counts in cells of equal probability.
func chiSquare(count []int) (sum float64) {
	want := 0.0
	for _, c := range count {
		want += float64(c) / float64(len(count))
	}
	for _, c := range count {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	return sum
}

// chiLimit returns a limit that a chi-square statistic with df degrees of freedom exceeds with a probability of about
// 1e-6. It uses the approximation of Wilson and Hilferty, with the normal quantile 4.75. All seeds are fixed, so the
// tests are deterministic.
func chiLimit(df int) float64 {
	v := 2 / (9 * float64(df))
	return float64(df) * math.Pow(1-v+4.75*math.Sqrt(v), 3)
}
