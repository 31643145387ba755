package dpmech

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestFormatEpsilon checks that a formatted epsilon is never less than the given epsilon, up to rounding errors, and
// that a positive epsilon is never formatted as zero.
func TestFormatEpsilon(t *testing.T) {
	for _, c := range []struct {
		eps      float64
		decimals int
		want     string
	}{
		{8, 3, "8.000"}, {7.99999999999, 3, "8.000"}, {7.0001, 3, "7.001"}, {7.0006, 3, "7.001"}, {7.001, 3, "7.001"},
		{0, 3, "0.000"}, {1e-9, 3, "0.001"},
		{1e-300, 4, "0.0001"}, {5e-324, 4, "0.0001"}, {0.00001, 4, "0.0001"}, {9.99991, 4, "10.0000"}, {999.2, 0, "1000"},
		{0.2, 0, "1"}, {0.2, -3, "1"},
		{9.04, 1, "9.1"}, {8 * (1 + 1e-11), 4, "8.0000"}, {math.Inf(1), 3, "+Inf"}, {math.NaN(), 3, "NaN"},
	} {
		if got := FormatEpsilon(c.eps, c.decimals); got != c.want {
			t.Errorf("%v with %d decimals is written %s, want %s", c.eps, c.decimals, got, c.want)
		}
	}
}

// TestFormatEpsilonNeverBelow checks that the formatted value is at least the true value, up to rounding errors, and
// exceeds it by less than one unit in the last digit.
func TestFormatEpsilonNeverBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		eps, decimals := math.Exp(r.Float64()*60-40), r.IntN(8)
		if r.IntN(4) == 0 { // near a number with few decimals
			eps = math.Nextafter(math.Round(eps*1000)/1000, eps)
		}
		s := FormatEpsilon(eps, decimals)
		back, err := strconv.ParseFloat(s, 64)
		_, digits, _ := strings.Cut(s, ".")
		unit := math.Pow10(-decimals)
		if err != nil || len(digits) != decimals || back < eps*(1-1e-9) || back == 0 && eps > 0 ||
			back > eps+unit*(1+1e-9)+eps*1e-9 {
			t.Fatalf("%v with %d decimals is written %s", eps, decimals, s)
		}
	}
}
