package graph

import (
	"math"
	"slices"
)

const tiny = 1e-100 // replaces a pivot of zero

// pivots returns the pivots of the factorization of the symmetric tridiagonal matrix with diagonal a and off-diagonal
// b, minus x on the diagonal. The number of negative pivots is the number of eigenvalues below x (Sturm; Golub and Van
// Loan, "Matrix Computations", 8.4). A negligible number replaces a zero pivot.
func pivots(a, b []float64, x float64) []float64 {
	d := make([]float64, len(a))
	for i, ai := range a {
		d[i] = ai - x
		if i > 0 {
			d[i] -= float64(b[i-1]*b[i-1]) / d[i-1]
		}
		if d[i] == 0 {
			d[i] = tiny
		}
	}
	return d
}

// eigenvalue returns the k-th smallest eigenvalue, counted from 0, of the symmetric tridiagonal matrix with diagonal a
// and off-diagonal b, by bisection to the last bit. All eigenvalues must lie in [0, bound] up to rounding.
func eigenvalue(a, b []float64, k int, bound float64) float64 {
	lo, hi := 0.0, bound*(1+1e-9)
	for {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			return lo
		}
		below := 0
		for _, d := range pivots(a, b, mid) {
			if d < 0 {
				below++
			}
		}
		if below > k {
			hi = mid
		} else {
			lo = mid
		}
	}
}

// eigenvector returns an eigenvector, not normalized, for the eigenvalue lambda of the symmetric tridiagonal matrix
// with diagonal a and off-diagonal b. It factors the matrix minus lambda from both ends. The two factorizations meet at
// the component with the smallest remainder, which is set to 1; all other components follow (Parlett and Dhillon,
// "Fernando's solution to Wilkinson's problem", Linear Algebra Appl. 267, 1997).
func eigenvector(a, b []float64, lambda float64) []float64 {
	m := len(a)
	down, up := pivots(a, b, lambda), pivots(reversed(a), reversed(b), lambda)
	slices.Reverse(up)
	meet, least := 0, math.Inf(1)
	for i := range m {
		if r := math.Abs(down[i] + up[i] - (a[i] - lambda)); r < least {
			meet, least = i, r
		}
	}
	s := make([]float64, m)
	s[meet] = 1
	for i := meet; i > 0; i-- {
		s[i-1] = -s[i] * b[i-1] / down[i-1]
	}
	for i := meet; i < m-1; i++ {
		s[i+1] = -s[i] * b[i] / up[i+1]
	}
	return s
}

func reversed(x []float64) []float64 {
	x = slices.Clone(x)
	slices.Reverse(x)
	return x
}
