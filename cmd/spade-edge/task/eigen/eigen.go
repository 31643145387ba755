package eigen

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

const (
	spare     = 8     // number of vectors iterated in addition to the requested vectors
	depth     = 6     // blocks of a Krylov basis
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
			if len(images) >= depth*block {
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
		eigenvalues, mix := Jacobi(small)
		start = combine(basis, mix[:min(block, len(mix))])
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
// length. Projecting each vector twice makes it orthogonal to the basis up to rounding.
func extend(basis, vectors [][]float64) [][]float64 {
	for _, v := range vectors {
		v = slices.Clone(v)
		before := norm(v)
		for range 2 {
			for _, b := range basis {
				AddMultiple(v, -Dot(v, b), b)
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

func combine(vectors, mix [][]float64) [][]float64 {
	out := Matrix(len(mix), len(vectors[0]))
	for l, row := range mix {
		for i, v := range vectors {
			AddMultiple(out[l], row[i], v)
		}
	}
	return out
}

// Jacobi diagonalizes a symmetric matrix, which it overwrites, by cyclic rotations (Jacobi 1846; Golub and Van Loan,
// "Matrix Computations", chapter 8). It returns the eigenvalues, largest first, and the eigenvectors as rows.
func Jacobi(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	v := Matrix(n, n)
	size := 0.0
	for i := range v {
		v[i][i] = 1
		for _, x := range a[i] {
			size = max(size, math.Abs(x))
		}
	}
	for rotated, sweep := true, 0; rotated && sweep < 50; sweep++ {
		rotated = false
		for p := range n {
			for q := p + 1; q < n; q++ {
				if math.Abs(a[p][q]) <= float64(1e-17*size) {
					continue
				}
				rotated = true
				theta := (a[q][q] - a[p][p]) / float64(2*a[p][q])
				t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(float64(t*t)+1)
				s := float64(t * c)
				// Rotate rows p and q, then columns p and q. By symmetry only the four entries at the crossings need
				// computing; all other entries are copied.
				rotate(a[p], a[q], c, s)
				for i, row := range a {
					if i == p || i == q {
						row[p], row[q] = float64(c*row[p])-float64(s*row[q]), float64(s*row[p])+float64(c*row[q])
					} else {
						row[p], row[q] = a[p][i], a[q][i]
					}
				}
				a[p][q], a[q][p] = 0, 0
				rotate(v[p], v[q], c, s)
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(a[y][y], a[x][x]) })
	for _, i := range order {
		values = append(values, a[i][i])
		vectors = append(vectors, v[i])
	}
	return values, vectors
}

func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, xi := range x {
		yi := y[i]
		x[i] = float64(c*xi) - float64(s*yi)
		y[i] = float64(s*xi) + float64(c*yi)
	}
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
