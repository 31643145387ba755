package graph

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Limits of the eigenvalue iterations. An eigenvalue's error is of the order of the residual's square over the gap to
// the next one, so it is far below tolerance unless eigenvalues are crowded.
const (
	maxSteps  = 300   // of a run to the end, and the least of a run without a basis
	tolerance = 1e-5  // residual, as a share of the largest eigenvalue, that ends the iteration
	settled   = 1e-12 // the residual below which more steps are of no use
	runWork   = 1e9   // numbers read in a run, a second or two
)

// laplacian is the Laplacian of a graph on the vectors that sum to zero: near[first[i]:first[i+1]] are the neighbors of
// node i, and no eigenvalue is above bound.
type laplacian struct {
	n           int
	first, near []int32
	bound       float64
}

func (g *Graph) laplacian() *laplacian {
	l := &laplacian{g.N(), make([]int32, 1, g.N()+1), make([]int32, 0, 2*len(g.edges)), g.bound()}
	for _, near := range g.neighbors {
		for _, j := range near {
			l.near = append(l.near, int32(j))
		}
		l.first = append(l.first, int32(len(l.near)))
	}
	return l
}

// times stores the product of the Laplacian with x in y. The order of the sums is that of the neighbors.
func (l *laplacian) times(y, x []float64) {
	for i := range y {
		near := l.near[l.first[i]:l.first[i+1]]
		sum := float64(float64(len(near)) * x[i])
		for _, j := range near {
			sum -= x[j]
		}
		y[i] = sum
	}
}

// complete returns the largest (top) or the smallest eigenvalue theta, and the norm of L*y - theta*y for its approximate
// unit eigenvector y: some eigenvalue is that close to theta, and by Rayleigh's principle theta itself is never beyond
// the extreme one. Both are 0 for a single node.
//
// The method is Lanczos's with full reorthogonalisation, run to its end: a tridiagonalisation. With a random start it
// finds the extreme eigenvalue with probability one.
func (l *laplacian) complete(top bool) (theta, residual float64) {
	if l.n == 1 {
		return 0, 0
	}
	basis, a, b := l.lanczos()
	which := 0
	if top {
		which = len(a) - 1
	}
	theta = eigenvalue(a, b, which, l.bound)
	y, r := make([]float64, l.n), make([]float64, l.n)
	for k, w := range eigenvector(a, b, theta) {
		axpy(y, w, basis[k])
	}
	scale(y, 1/norm(y))
	l.times(r, y)
	axpy(r, -theta, y)
	return theta, norm(r)
}

// start returns a random unit vector that sums to zero, always the same.
func start(n int) []float64 {
	s := rng.New(0, rng.Address{Purpose: rng.Spectrum})
	y := make([]float64, n)
	for i := range y {
		y[i] = s.Normal()
	}
	center(y)
	scale(y, 1/norm(y))
	return y
}

// lanczos turns the Laplacian into the tridiagonal matrix with diagonal a and off-diagonal b, one shorter, in an
// orthonormal basis. It stops early where the basis spans an invariant space, and then the matrix's eigenvalues are
// eigenvalues of the Laplacian.
func (l *laplacian) lanczos() (basis [][]float64, a, b []float64) {
	negligible := 1e-13 * l.bound
	v := start(l.n)
	for {
		basis = append(basis, v)
		w := make([]float64, len(v))
		l.times(w, v)
		a = append(a, dot(v, w))
		if len(a) == l.n-1 {
			return basis, a, b
		}
		for range 2 { // the second pass removes what rounding left of the first
			center(w)
			for _, u := range basis {
				axpy(w, -dot(u, w), u)
			}
		}
		beta := norm(w)
		if beta <= negligible {
			return basis, a, b
		}
		b = append(b, beta)
		scale(w, 1/beta)
		v = w
	}
}

// run is complete for large graphs: Lanczos's method without reorthogonalisation, in time proportional to the graph a
// step. Rounding then brings back only what has been found already, as copies, and the residual that the last element of
// the matrix's eigenvector gives holds (Paige, "Accuracy and effectiveness of the Lanczos algorithm", Linear Algebra
// Appl. 34, 1980). So it ends when the eigenvalue wanted is there: at a residual of a share enough of it, after some
// steps at least, or settled, or when it has cost too much.
func (l *laplacian) run(top bool, enough float64) (theta, residual float64) {
	most := max(maxSteps, int(runWork)/(len(l.near)+8*l.n))
	v, before, w := start(l.n), make([]float64, l.n), make([]float64, l.n)
	var a, b []float64
	next, beta := 16, 0.0 // step at which to look
	for {
		l.times(w, v)
		axpy(w, -beta, before)
		alpha := dot(v, w)
		axpy(w, -alpha, v)
		center(w)
		beta = norm(w)
		a = append(a, alpha)
		m, over := len(a), beta <= 1e-13*l.bound
		if over || m == next {
			next += next / 4
			which := 0
			if top {
				which = m - 1
			}
			theta = eigenvalue(a, b, which, l.bound)
			s := eigenvector(a, b, theta)
			residual = beta * math.Abs(s[m-1]) / norm(s)
			share := residual / theta
			if over || share <= settled || share <= enough && m >= maxSteps || m >= most {
				return theta, residual
			}
		}
		b = append(b, beta)
		scale(w, 1/beta)
		before, v, w = v, w, before
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, xi := range x {
		sum += float64(xi * y[i])
	}
	return sum
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

func scale(x []float64, c float64) {
	for i := range x {
		x[i] *= c
	}
}

// axpy adds c*x to y.
func axpy(y []float64, c float64, x []float64) {
	for i, xi := range x {
		y[i] += float64(c * xi)
	}
}

// center subtracts the mean.
func center(x []float64) {
	sum := 0.0
	for _, xi := range x {
		sum += xi
	}
	mean := sum / float64(len(x))
	for i := range x {
		x[i] -= mean
	}
}
