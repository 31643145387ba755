package task

import (
	"math"
	"slices"
	"sort"
	"sync"

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
		share(len(basis), func(from, to int) {
			for i := from; i < to; i++ {
				small[i] = make([]float64, len(basis))
				dots(small[i], basis[i], images[:i+1]) // of a symmetric matrix
			}
		})
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
	fresh, old := make([][]float64, len(vectors)), len(basis)
	share(len(vectors), func(from, to int) {
		for l := from; l < to; l++ {
			fresh[l] = slices.Clone(vectors[l])
		}
		products := make([]float64, to-from)
		for _, b := range basis {
			dots(products, b, fresh[from:to])
			for l, p := range products {
				addMultiple(fresh[from+l], -p, b)
			}
		}
	})
	for l, v := range fresh {
		project(v, basis[old:])
		project(v, basis)
		if after := norm(v); after > float64(1e-10*norm(vectors[l])) {
			for j := range v {
				v[j] /= after
			}
			basis = append(basis, v)
		}
	}
	return basis
}

// project takes from v its projections on vectors, one after the other. While it takes one it sums up the next product.
func project(v []float64, vectors [][]float64) {
	if len(vectors) == 0 {
		return
	}
	product := dot(v, vectors[0])
	for l, b := range vectors {
		b, next := b[:len(v)], vectors[min(l+1, len(vectors)-1)][:len(v)]
		a, sum := -product, 0.0
		for j, x := range v {
			x += float64(a * b[j])
			v[j] = x
			sum += float64(x * next[j])
		}
		product = sum
	}
}

// combine returns the linear combinations of the vectors that the rows of mix give.
func combine(vectors, mix [][]float64) [][]float64 {
	out := make([][]float64, len(mix))
	share(len(mix), func(from, to int) {
		for l := from; l < to; l++ {
			out[l] = make([]float64, len(vectors[0]))
			for i, v := range vectors {
				addMultiple(out[l], mix[l][i], v)
			}
		}
	})
	return out
}

// jacobi diagonalises a symmetric matrix, of which it overwrites the lower triangle and uses no more, by cyclic
// rotations (Jacobi 1846; Golub and Van Loan, "Matrix Computations", chapter 8). It returns the eigenvalues, largest
// first, and the eigenvectors as rows; these are turned while the next rotations of the matrix are found.
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
	type rotation struct {
		p, q int
		c, s float64
	}
	var turning sync.WaitGroup
	for rotated, sweep := true, 0; rotated && sweep < 50; sweep++ {
		rotations := make([]rotation, 0, n*(n-1)/2)
		for p := range n {
			for q := p + 1; q < n; q++ {
				pp, qp, qq := a[p][p], a[q][p], a[q][q]
				if math.Abs(qp) <= float64(1e-17*size) {
					continue
				}
				theta := (qq - pp) / float64(2*qp)
				t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(float64(t*t)+1)
				s := float64(t * c)
				// Rows p and q, then columns p and q; the symmetry makes one turn of two entries that are not crossings.
				rotate(a[p][:p], a[q][:p], c, s)
				for i, row := range a[p+1 : q] {
					x, y := &row[p], &a[q][p+1+i]
					*x, *y = float64(c**x)-float64(s**y), float64(s**x)+float64(c**y)
				}
				for _, row := range a[q+1:] {
					x, y := &row[p], &row[q]
					*x, *y = float64(c**x)-float64(s**y), float64(s**x)+float64(c**y)
				}
				a[p][p] = float64(c*(float64(c*pp)-float64(s*qp))) - float64(s*(float64(c*qp)-float64(s*qq)))
				a[q][q] = float64(s*(float64(s*pp)+float64(c*qp))) + float64(c*(float64(s*qp)+float64(c*qq)))
				a[q][p] = 0
				rotations = append(rotations, rotation{p, q, c, s})
			}
		}
		rotated = len(rotations) > 0
		turning.Wait()
		turning.Go(func() {
			for _, r := range rotations {
				rotate(v[r.p], v[r.q], r.c, r.s)
			}
		})
	}
	turning.Wait()
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

// dots stores the products of x with vectors. It does four at a time, as each term of a sum waits for the one before.
func dots(products, x []float64, vectors [][]float64) {
	for ; len(vectors) >= 4; products, vectors = products[4:], vectors[4:] {
		v0, v1, v2, v3 := vectors[0][:len(x)], vectors[1][:len(x)], vectors[2][:len(x)], vectors[3][:len(x)]
		s0, s1, s2, s3 := 0.0, 0.0, 0.0, 0.0
		for i, xi := range x {
			s0 += float64(xi * v0[i])
			s1 += float64(xi * v1[i])
			s2 += float64(xi * v2[i])
			s3 += float64(xi * v3[i])
		}
		products[0], products[1], products[2], products[3] = s0, s1, s2, s3
	}
	for l, v := range vectors {
		products[l] = dot(x, v)
	}
}

// addMultiple adds a*x to y.
func addMultiple(y []float64, a float64, x []float64) {
	y = y[:len(x)]
	for i, xi := range x {
		y[i] += float64(a * xi)
	}
}
