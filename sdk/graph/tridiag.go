package graph

import "math"

// below counts the eigenvalues below x of the symmetric tridiagonal matrix with diagonal a and squared off-diagonal
// b2: the negative pivots of its factorisation (Sturm; Golub and Van Loan, "Matrix Computations", 8.4).
func below(a, b2 []float64, x float64) int {
	count, pivot := 0, 1.0
	for i, ai := range a {
		d := ai - x
		if i > 0 {
			d -= b2[i-1] / pivot
		}
		pivot = nonzero(d)
		if pivot < 0 {
			count++
		}
	}
	return count
}

// nonzero returns d, or a number too small to matter in its place where d is zero.
func nonzero(d float64) float64 {
	if d == 0 {
		return 1e-100
	}
	return d
}

// eigenvalue returns the eigenvalue with k smaller ones of the symmetric tridiagonal matrix with diagonal a and
// off-diagonal b, by bisection to the last bit. All eigenvalues must lie in [0, bound] up to rounding.
func eigenvalue(a, b []float64, k int, bound float64) float64 {
	b2 := make([]float64, len(b))
	for i, bi := range b {
		b2[i] = bi * bi
	}
	lo, hi := 0.0, bound*(1+1e-9)
	for {
		mid := (lo + hi) / 2
		if mid <= lo || mid >= hi {
			return lo
		}
		if below(a, b2, mid) > k {
			hi = mid
		} else {
			lo = mid
		}
	}
}

// eigenvector returns an eigenvector, of no particular length, for an eigenvalue of the symmetric tridiagonal matrix
// with diagonal a and off-diagonal b. The matrix less the eigenvalue is factored from both ends; where the two meet
// with the smallest remainder the component is set to 1 and the others follow (Parlett and Dhillon, "Fernando's
// solution to Wilkinson's problem", Linear Algebra Appl. 267, 1997).
func eigenvector(a, b []float64, lambda float64) []float64 {
	m := len(a)
	down, up := make([]float64, m), make([]float64, m)
	for i := range m {
		d := a[i] - lambda
		if i > 0 {
			d -= float64(b[i-1]*b[i-1]) / down[i-1]
		}
		down[i] = nonzero(d)
	}
	for i := m - 1; i >= 0; i-- {
		d := a[i] - lambda
		if i < m-1 {
			d -= float64(b[i]*b[i]) / up[i+1]
		}
		up[i] = nonzero(d)
	}
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
