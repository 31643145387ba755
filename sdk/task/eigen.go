package task

import (
	"math"
	"slices"
	"sort"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

const (
	eigenSpare  = 8     // vectors iterated beyond those asked for
	eigenDepth  = 6     // blocks of a Krylov basis
	eigenRounds = 100   // restarts at most
	eigenTol    = 1e-10 // residual relative to the largest eigenvalue
)

// topEigen returns unit eigenvectors of the n largest eigenvalues of a symmetric positive semidefinite matrix, and the
// eigenvalues, largest first. mul multiplies each of its vectors, of length dim, by the matrix.
//
// It is the restarted block Krylov iteration (Musco and Musco, "Randomized block Krylov methods", 2015): an orthonormal
// basis of V, AV, A²V, ... is built, the matrix is diagonalised inside that space (Rayleigh and Ritz), and the best of
// its vectors are the next V. It ends when every |Av - λv| is within eigenTol of the largest eigenvalue, or after
// eigenRounds, with vectors that mix neighbours of nearly the same eigenvalue. The start is fixed.
func topEigen(mul func([][]float64) [][]float64, dim, n int) (vectors [][]float64, values []float64) {
	block := min(n+eigenSpare, dim)
	start := make([][]float64, block)
	for l := range start {
		s := rng.New(0, rng.Address{Purpose: rng.Spectrum, Component: uint32(l)})
		start[l] = make([]float64, dim)
		for j := range start[l] {
			start[l][j] = s.Normal()
		}
	}
	for round := 1; ; round++ {
		basis := extend(nil, start)
		fresh := basis
		var images [][]float64 // the matrix times the basis
		for {
			product := mul(fresh)
			images = append(images, product...)
			if len(images) >= eigenDepth*block {
				break
			}
			grown := extend(basis, product)
			if len(grown) == len(basis) { // the space is invariant
				break
			}
			basis, fresh = grown, grown[len(basis):]
		}

		small := make([][]float64, len(basis))
		for i, b := range basis {
			small[i] = make([]float64, len(basis))
			for j := range i + 1 { // of a symmetric matrix
				small[i][j] = dot(b, images[j])
			}
		}
		eigenvalues, mix := jacobi(small)
		start = combine(basis, mix[:min(block, len(mix))])
		top := combine(images, mix[:n])
		worst := 0.0
		for l, image := range top {
			addMultiple(image, -eigenvalues[l], start[l])
			worst = max(worst, norm(image))
		}
		if worst <= float64(eigenTol*eigenvalues[0]) || round == eigenRounds {
			return start[:n], eigenvalues[:n]
		}
	}
}

// extend appends to an orthonormal basis what the vectors add to it, scaled to unit length. Projecting twice makes it
// orthogonal to rounding.
func extend(basis, vectors [][]float64) [][]float64 {
	for _, v := range vectors {
		v = slices.Clone(v)
		before := norm(v)
		for range 2 {
			for _, b := range basis {
				addMultiple(v, -dot(v, b), b)
			}
		}
		if after := norm(v); after > float64(1e-10*before) {
			for j := range v {
				v[j] /= after
			}
			basis = append(basis, v)
		}
	}
	return basis
}

// combine returns the linear combinations of the vectors that the rows of mix give.
func combine(vectors, mix [][]float64) [][]float64 {
	out := make([][]float64, len(mix))
	for l, m := range mix {
		out[l] = make([]float64, len(vectors[0]))
		for i, v := range vectors {
			addMultiple(out[l], m[i], v)
		}
	}
	return out
}

// jacobi diagonalises a symmetric matrix, of which it overwrites the lower triangle and uses no more, by cyclic
// rotations (Jacobi 1846; Golub and Van Loan, "Matrix Computations", chapter 8). It returns the eigenvalues, largest
// first, and the eigenvectors as rows.
func jacobi(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	v := make([][]float64, n)
	size := 0.0
	for i := range v {
		v[i] = make([]float64, n)
		v[i][i] = 1
		for _, x := range a[i][:i+1] {
			size = max(size, math.Abs(x))
		}
	}
	for rotated, sweep := true, 0; rotated && sweep < 50; sweep++ {
		rotated = false
		for p := range n {
			for q := p + 1; q < n; q++ {
				pp, qp, qq := a[p][p], a[q][p], a[q][q]
				if math.Abs(qp) <= float64(1e-17*size) {
					continue
				}
				rotated = true
				theta := (qq - pp) / float64(2*qp)
				t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(float64(t*t)+1)
				s := float64(t * c)
				// Rows p and q, then columns p and q; the symmetry makes one turn of two entries that are not crossings.
				rotate(a[p][:p], a[q][:p], c, s)
				for i := p + 1; i < n; i++ {
					x, y := &a[i][p], &a[max(i, q)][min(i, q)]
					if i != q {
						*x, *y = float64(c**x)-float64(s**y), float64(s**x)+float64(c**y)
					}
				}
				a[p][p] = float64(c*(float64(c*pp)-float64(s*qp))) - float64(s*(float64(c*qp)-float64(s*qq)))
				a[q][q] = float64(s*(float64(s*pp)+float64(c*qp))) + float64(c*(float64(s*qp)+float64(c*qq)))
				a[q][p] = 0
				rotate(v[p], v[q], c, s)
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(x, y int) bool { return a[order[x]][order[x]] > a[order[y]][order[y]] })
	for _, i := range order {
		values = append(values, a[i][i])
		vectors = append(vectors, v[i])
	}
	return values, vectors
}

// rotate replaces x and y by c*x - s*y and s*x + c*y.
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, xi := range x {
		yi := y[i]
		x[i] = float64(c*xi) - float64(s*yi)
		y[i] = float64(s*xi) + float64(c*yi)
	}
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

func dot(x, y []float64) float64 {
	y = y[:len(x)]
	sum := 0.0
	for i, xi := range x {
		sum += float64(xi * y[i])
	}
	return sum
}

// addMultiple adds a*x to y.
func addMultiple(y []float64, a float64, x []float64) {
	y = y[:len(x)]
	for i, xi := range x {
		y[i] += float64(a * xi)
	}
}
