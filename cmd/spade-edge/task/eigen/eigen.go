package eigen

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

const (
	spare     = 2     // number of vectors iterated in addition to the requested vectors
	depth     = 10    // blocks of a Krylov basis
	most      = 400   // vectors of a basis, unless two blocks have more
	rounds    = 100   // maximum number of restarts
	tolerance = 1e-10 // residual relative to the largest eigenvalue
)

// Top returns unit eigenvectors of the n largest eigenvalues of a symmetric positive semidefinite matrix, and the
// eigenvalues, largest first. mul returns the products of the matrix with the given vectors, each of length dim.
//
// The method is the restarted block Krylov iteration (Musco and Musco, "Randomized block Krylov methods", 2015). Each
// round builds an orthonormal basis of V, AV, A²V, ..., diagonalizes the matrix in that space (Rayleigh and Ritz), and
// takes the best vectors as the next V. It stops when each |Av - λv| is within tolerance of the largest eigenvalue, or
// after rounds; the vectors may then mix eigenvectors with nearly equal eigenvalues. The start vectors are fixed.
func Top(mul func([][]float64) [][]float64, dim, n int) (vectors [][]float64, values []float64) {
	block := min(n+spare, dim)
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
			if len(images) >= max(2*block, min(depth*block, most)) {
				break
			}
			grown := extend(basis, product)
			if len(grown) == len(basis) { // the matrix maps the space into itself
				break
			}
			basis, fresh = grown, grown[len(basis):]
		}

		small := Matrix(len(basis), len(basis))
		Share(len(basis), func(from, to int) {
			for i := from; i < to; i++ {
				for j := range i + 1 {
					small[i][j] = Dot(basis[i], images[j])
					small[j][i] = small[i][j]
				}
			}
		})
		eigenvalues, mix := Symmetric(small, min(block, len(small)))
		start = combine(basis, mix)
		top := combine(images, mix[:n])
		worst := 0.0
		for l, image := range top {
			AddMultiple(image, -eigenvalues[l], start[l])
			worst = max(worst, norm(image))
		}
		if worst <= float64(tolerance*eigenvalues[0]) || round == rounds {
			return start[:n], eigenvalues[:n]
		}
	}
}

// extend appends vectors to an orthonormal basis, each reduced to its component outside the span and scaled to unit
// length. It omits vectors in the span. Projecting each vector twice makes it orthogonal to the basis up to rounding.
func extend(basis, vectors [][]float64) [][]float64 {
	for range 2 {
		outside := make([][]float64, len(vectors))
		Share(len(vectors), func(from, to int) {
			for l := from; l < to; l++ {
				outside[l] = slices.Clone(vectors[l])
				normalize(outside[l])
				project(outside[l], basis)
			}
		})
		vectors = nil
		for _, v := range outside {
			project(v, vectors)
			if norm(v) > 1e-10 {
				normalize(v)
				vectors = append(vectors, v)
			}
		}
	}
	return append(basis, vectors...)
}

// project subtracts from v its components along orthonormal vectors.
func project(v []float64, basis [][]float64) {
	for _, b := range basis {
		AddMultiple(v, -Dot(v, b), b)
	}
}

// normalize scales v to unit length, unless v is zero.
func normalize(v []float64) {
	length := norm(v)
	for j := range v {
		if length > 0 {
			v[j] /= length
		}
	}
}

func combine(vectors, mix [][]float64) [][]float64 {
	out := Matrix(len(mix), len(vectors[0]))
	for l, row := range mix {
		for i, v := range vectors {
			AddMultiple(out[l], row[i], v)
		}
	}
	return out
}

func norm(x []float64) float64 { return math.Sqrt(Dot(x, x)) }

// Dot returns the scalar product of x and y; y is at least as long as x.
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	sum := 0.0
	for i, xi := range x {
		sum += float64(xi * y[i])
	}
	return sum
}

// AddMultiple adds a times x to y.
func AddMultiple(y []float64, a float64, x []float64) {
	y = y[:len(x)]
	for i, xi := range x {
		y[i] += float64(a * xi)
	}
}

// Matrix returns a matrix of zeros.
func Matrix(rows, width int) [][]float64 {
	m, flat := make([][]float64, rows), make([]float64, rows*width)
	for i := range m {
		m[i], flat = flat[:width:width], flat[width:]
	}
	return m
}

// Share divides [0, n) into intervals [from, to), calls f for all of them concurrently, and waits until all calls have
// returned.
func Share(n int, f func(from, to int)) {
	var all sync.WaitGroup
	piece := max(1, (n-1)/runtime.GOMAXPROCS(0)+1)
	for from := 0; from < n; from += piece {
		all.Go(func() { f(from, min(from+piece, n)) })
	}
	all.Wait()
}
