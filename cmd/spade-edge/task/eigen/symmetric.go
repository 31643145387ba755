package eigen

import (
	"cmp"
	"math"
	"slices"
)

// Symmetric returns the n largest eigenvalues of a symmetric matrix, largest first, and unit eigenvectors as rows. It
// overwrites the matrix. It reflects the matrix to tridiagonal form (Householder) and diagonalizes that form by implicit
// QR steps with Wilkinson's shift (Golub and Van Loan, "Matrix Computations", algorithms 8.3.1 to 8.3.3).
func Symmetric(a [][]float64, n int) (values []float64, vectors [][]float64) {
	size := 0.0
	for _, row := range a {
		size = max(size, norm(row))
	}
	beside := tridiagonal(a, float64(1e-30*size))
	diagonal, all, order := make([]float64, len(a)), Matrix(len(a), len(a)), make([]int, len(a))
	for i, row := range a {
		diagonal[i], all[i][i], order[i] = row[i], 1, i
	}
	diagonalize(diagonal, beside, all, float64(0x1p-53*size))
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(diagonal[y], diagonal[x]) })
	for _, i := range order[:n] {
		values, vectors = append(values, diagonal[i]), append(vectors, all[i])
	}
	Share(n, func(from, to int) {
		for _, x := range vectors[from:to] {
			for k := len(a) - 2; k >= 0; k-- {
				v := a[k][k+1:]
				AddMultiple(x[k+1:], -Dot(v, x[k+1:]), v)
			}
		}
	})
	return values, vectors
}

// tridiagonal reflects a symmetric matrix until only its diagonal and the entries beside it are not zero. It leaves the
// diagonal in a and returns the entries beside it. Reflection k is I - vv'; v is in row k of a, right of the diagonal. A
// part of a row that is not longer than tiny counts as zero.
func tridiagonal(a [][]float64, tiny float64) (beside []float64) {
	beside = make([]float64, len(a))
	for k := range len(a) - 1 {
		v, rest := a[k][k+1:], a[k+1:]
		length := norm(v)
		if !(length > tiny) {
			clear(v)
			continue
		}
		beside[k] = -math.Copysign(length, v[0])
		v[0] -= beside[k]
		scale := math.Sqrt2 / norm(v)
		for j := range v {
			v[j] *= scale
		}
		w := make([]float64, len(v)) // the reflected rest is rest - vw' - wv'
		for i, row := range rest {
			w[i] = Dot(v, row[k+1:])
		}
		AddMultiple(w, -Dot(v, w)/2, v)
		for i, row := range rest {
			AddMultiple(row[k+1:], -v[i], w)
			AddMultiple(row[k+1:], -w[i], v)
		}
	}
	return beside
}

// diagonalize rotates a tridiagonal matrix, given by its diagonal and the entries beside it, until no entry beside it is
// above tiny. It applies the same rotations to the rows of vectors.
func diagonalize(diagonal, beside []float64, vectors [][]float64, tiny float64) {
	for last, steps := len(diagonal)-1, 0; last > 0 && steps < 50*len(diagonal); steps++ {
		first := last
		for first > 0 && math.Abs(beside[first-1]) > tiny {
			first--
		}
		if first == last {
			last--
			continue
		}
		// The shift is the eigenvalue of the last two rows and columns that is closer to the last entry.
		half, b := float64((diagonal[last-1]-diagonal[last])/2), beside[last-1]
		root := math.Copysign(math.Sqrt(float64(half*half)+float64(b*b)), half)
		x, z := diagonal[first]-(diagonal[last]-float64(b*b)/(half+root)), beside[first]
		for k := first; k < last; k++ {
			length := math.Sqrt(float64(x*x) + float64(z*z))
			c, s := 1.0, 0.0
			if length > 0 {
				c, s = x/length, z/length
			}
			if k > first {
				beside[k-1] = length
			}
			p, b, q := diagonal[k], beside[k], diagonal[k+1]
			cc, cs, ss := float64(c*c), float64(c*s), float64(s*s)
			cross := float64(2 * float64(cs*b))
			diagonal[k] = float64(cc*p) + cross + float64(ss*q)
			diagonal[k+1] = float64(ss*p) - cross + float64(cc*q)
			beside[k] = float64(cs*(q-p)) + float64((cc-ss)*b)
			if x = beside[k]; k+1 < last {
				z = float64(s * beside[k+1])
				beside[k+1] *= c
			}
			rotate(vectors[k], vectors[k+1], c, s)
		}
	}
}

// rotate replaces x and y by c*x + s*y and c*y - s*x.
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, xi := range x {
		yi := y[i]
		x[i] = float64(c*xi) + float64(s*yi)
		y[i] = float64(c*yi) - float64(s*xi)
	}
}
