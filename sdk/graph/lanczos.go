package graph

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Limits of the eigenvalue iterations. An eigenvalue's error is of the order of the residual's square divided by the
// gap to the next eigenvalue, far below tolerance unless eigenvalues are crowded.
const (
	maxSteps  = 300   // maximum steps of a complete run; minimum steps of a run without a basis
	tolerance = 1e-5  // residual, as a share of the largest eigenvalue, that ends the iteration
	settled   = 1e-12 // residual below which further steps have no effect
	runWork   = 1e9   // numbers that a run may read, which takes a second or two
)

// times sets y to the product of the Laplacian and x. It adds in the order of the neighbors.
func (g *Graph) times(y, x []float64) {
	for i, near := range g.neighbors {
		sum := float64(float64(len(near)) * x[i])
		for _, j := range near {
			sum -= x[j]
		}
		y[i] = sum
	}
}

// extreme returns theta, the largest eigenvalue (if top is true) or the second-smallest, and the residual: the norm of
// L*y - theta*y for the approximate unit eigenvector y. Some eigenvalue differs from theta by at most the residual. By
// Rayleigh's principle theta is never above the largest or below the second-smallest eigenvalue. Both results are 0 for
// a single node. extreme runs Lanczos's method to its end, with full reorthogonalization and a random start that is
// orthogonal to the constant vector.
func (g *Graph) extreme(top bool) (theta, residual float64) {
	if g.N() == 1 {
		return 0, 0
	}
	basis, a, b := g.lanczos()
	which := 0
	if top {
		which = len(a) - 1
	}
	theta = eigenvalue(a, b, which, g.bound())
	y, r := make([]float64, g.N()), make([]float64, g.N())
	for k, w := range eigenvector(a, b, theta) {
		axpy(y, w, basis[k])
	}
	scale(y, 1/norm(y))
	g.times(r, y)
	axpy(r, -theta, y)
	return theta, norm(r)
}

// start returns a fixed pseudorandom unit vector that sums to zero.
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

// lanczos reduces the Laplacian, in an orthonormal basis, to the tridiagonal matrix with diagonal a and off-diagonal b;
// b is one shorter than a. It stops early if the basis spans an invariant space; the matrix's eigenvalues are then
// eigenvalues of the Laplacian.
func (g *Graph) lanczos() (basis [][]float64, a, b []float64) {
	negligible := 1e-13 * g.bound()
	v := start(g.N())
	for {
		basis = append(basis, v)
		w := make([]float64, len(v))
		g.times(w, v)
		a = append(a, dot(v, w))
		if len(a) == g.N()-1 {
			return basis, a, b
		}
		for range 2 { // the second pass removes the rounding error of the first
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

// approach computes the results of extreme for large graphs. It uses Lanczos's method without reorthogonalization,
// whose steps take time proportional to the number of nodes and edges. Without reorthogonalization, rounding only adds
// copies of eigenvalues, and the residual from the last element of the matrix's eigenvector remains valid (Paige,
// "Accuracy and effectiveness of the Lanczos algorithm", Linear Algebra Appl. 34, 1980).
//
// approach stops when the residual, as a share of theta, is at most the constant settled. After maxSteps steps it also
// stops when this share is at most the argument enough. It always stops after the steps that runWork allows.
func (g *Graph) approach(top bool, enough float64) (theta, residual float64) {
	bound := g.bound()
	most := max(maxSteps, int(runWork)/(2*len(g.edges)+8*g.N()))
	v, before, w := start(g.N()), make([]float64, g.N()), make([]float64, g.N())
	var a, b []float64
	next, beta := 16, 0.0 // step of the next check
	for {
		g.times(w, v)
		axpy(w, -beta, before)
		alpha := dot(v, w)
		axpy(w, -alpha, v)
		center(w)
		beta = norm(w)
		a = append(a, alpha)
		m, over := len(a), beta <= 1e-13*bound
		if over || m == next {
			next += next / 4
			which := 0
			if top {
				which = m - 1
			}
			theta = eigenvalue(a, b, which, bound)
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

func axpy(y []float64, c float64, x []float64) {
	y = y[:len(x)]
	for i, xi := range x {
		y[i] += float64(c * xi)
	}
}

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
