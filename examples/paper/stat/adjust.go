package stat

import (
	"cmp"
	"fmt"
	"slices"
)

// Adjust returns p values adjusted for multiple testing, in the order of p, by Benjamini and Hochberg, "Controlling the
// false discovery rate: a practical and powerful approach to multiple testing", Journal of the Royal Statistical
// Society B 57, 1995. The i-th smallest of m values becomes the minimum of p_(j)*m/j over all j >= i. If adjusted
// values below q are taken as discoveries, the expected share of false discoveries is below q, for independent tests
// and for some kinds of dependent tests. Each p must lie in [0, 1].
func Adjust(p []float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("stat: the p value at index %d is %v, want 0..1", i, v)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	least := 1.0
	for j := len(order) - 1; j >= 0; j-- {
		i := order[j]
		least = min(least, max(p[i], float64(p[i]*float64(len(p)))/float64(j+1))) // max, because p*m/m may be an ulp below p
		adjusted[i] = least
	}
	return adjusted, nil
}
