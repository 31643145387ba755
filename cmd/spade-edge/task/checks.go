package task

import (
	"math"
	"slices"
	"strings"
)

// trimmed reports whether no text begins or ends with a space. The CSV reader trims cells, so a text that begins or
// ends with a space would never match.
func trimmed(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return s != strings.TrimSpace(s) })
}

// leastDivisor is the smallest normal float32, and the lower limit for deviations and scales in a recipe.
const leastDivisor = 0x1p-126

// held calls want with an error for the first number in v that does not fit a float32: it would be infinite in training.
func held(field string, v []float64, want func(ok bool, format string, args ...any)) {
	if i := slices.IndexFunc(v, func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat32) }); i >= 0 {
		want(false, "%s[%d] is %v, want a float32, of magnitude at most %.2g", field, i, v[i], math.MaxFloat32)
	}
}

func finite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// distinct reports whether all values are trimmed and different, and their number is between the minimum and maxValues.
func distinct(values []string, least int) bool {
	return len(values) >= least && len(values) <= maxValues && len(numbered(values)) == len(values) && trimmed(values...)
}
