package graph

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// StabilityLimit bounds the round gain. With a = tau*beta*eta*mu, the disagreement of the network along a Laplacian
// mode with eigenvalue lambda follows the matrix
//
//	M = [[1 - a*rho*lambda, -a], [rho*lambda/2, 1]]
//
// and all modes die out (every M is Schur stable) exactly when 0 < a*rho*LambdaMax < StabilityLimit: eq. (stability)
// and lemma (stability) of the paper.
const StabilityLimit = 8.0 / 3

// Limits of the eigenvalue iteration. An eigenvalue's error is of the order of the residual's square over the gap to
// the next one, so it is far below tolerance unless eigenvalues are crowded.
const (
	maxSteps  = 300     // before a restart
	maxBasis  = 1 << 22 // numbers in the basis: 32 MiB
	maxRounds = 12      // of steps
	tolerance = 1e-5    // residual, as a share of the eigenvalue, that ends the iteration
)

// Gain returns the round gain a = share*StabilityLimit/(rho*LambdaMax), for a share in (0, 1) and rho > 0, which are
// the caller's to check. On a single node, where nothing is to be corrected, it returns 0.
func (g *Graph) Gain(share, rho float64) float64 {
	if g.N() == 1 {
		return 0
	}
	return share * StabilityLimit / (rho * g.LambdaMax())
}

// Contraction returns the spectral radius of the matrix M of [StabilityLimit] for an eigenvalue lambda: by which factor
// the disagreement along that mode shrinks (below 1) or grows (above) in a round, in the long run. With
// g = a*rho*lambda, M has trace 2-g and determinant 1-g/2, eq. (trace-det) of the paper: its eigenvalues are a complex
// pair of size sqrt(1-g/2) for 0 < g < 2, and real otherwise. Contraction falls from 1 at g = 0 up to g = 2
// and rises from there, so that over all modes of a graph it is largest at [Graph.Lambda2] or at [Graph.LambdaMax].
func Contraction(a, rho, lambda float64) float64 {
	t := 1 - a*rho*lambda/2 // the determinant, and half the trace
	if t >= 0 && t <= 1 {
		return math.Sqrt(t)
	}
	return math.Abs(t) + math.Sqrt(float64(t*t)-t)
}

// Contraction returns the largest contraction of all modes of the graph, 0 for a single node.
func (g *Graph) Contraction(a, rho float64) float64 {
	if g.N() == 1 {
		return 0
	}
	return max(Contraction(a, rho, g.Lambda2()), Contraction(a, rho, g.LambdaMax()))
}

// LambdaMax returns the largest eigenvalue of the Laplacian; 0 for a single node. As it decides on stability, an error
// is on the safe side: up to rounding, the result is not below the eigenvalue. It is above by less than 1e-9 of it for
// N <= 301, and by at most 1e-5 on larger graphs, except for crowded spectra of tens of thousands of nodes; it is never
// more than the largest sum of degrees over an edge. It is computed once, on the first call, which for a thousand nodes
// takes some tenths of a second.
func (g *Graph) LambdaMax() float64 { return g.lambdaMax() }

// Lambda2 returns the smallest eigenvalue of the Laplacian above zero, the algebraic connectivity; 0 for a single node.
// The error is below 1e-9 for N <= 301 and usually below 1e-6, relative, up to a thousand nodes; on larger graphs that
// are hardly connected, such as long paths, the result is an upper estimate. It is computed once, on the first call.
func (g *Graph) Lambda2() float64 { return g.lambda2() }

// bound returns an upper bound of the largest eigenvalue, at times the eigenvalue itself: the largest sum of degrees
// over an edge (Anderson and Morley, "Eigenvalues of the Laplacian of a graph", 1985), or the number of nodes if
// that is less.
func (g *Graph) bound() float64 {
	b := 0
	for _, e := range g.edges {
		b = max(b, len(g.neighbors[e[0]])+len(g.neighbors[e[1]]))
	}
	return float64(min(b, g.N()))
}

// extreme returns the largest (top) or the smallest eigenvalue theta of the Laplacian on the vectors that sum to
// zero, and the norm of L*y - theta*y for its approximate unit eigenvector y: some eigenvalue is that close to
// theta, and by Rayleigh's principle theta itself is never beyond the extreme one. Both are 0 for a single node.
//
// The method is Lanczos's with full reorthogonalisation, restarted from y. With a random start it finds the extreme
// eigenvalue with probability one; on up to most+1 nodes it runs to the end and is a full tridiagonalisation, on
// more it takes at most that many steps before it restarts.
func (g *Graph) extreme(top bool, most int) (theta, residual float64) {
	n := g.N()
	if n == 1 {
		return 0, 0
	}
	bound := g.bound()
	steps := min(n-1, most, max(maxBasis/n, 2))
	s := rng.New(0, rng.Address{Purpose: rng.Spectrum})
	y := make([]float64, n)
	for i := range y {
		y[i] = s.Normal()
	}
	center(y)
	scale(y, 1/norm(y))
	r := make([]float64, n)
	for range maxRounds {
		basis, a, b := g.lanczos(y, steps)
		which := 0
		if top {
			which = len(a) - 1
		}
		theta = eigenvalue(a, b, which, bound)
		clear(y)
		for k, w := range eigenvector(a, b, theta) {
			axpy(y, w, basis[k])
		}
		scale(y, 1/norm(y))
		g.laplacian(r, y)
		axpy(r, -theta, y)
		residual = norm(r)
		complete := len(a) < steps || steps == n-1 // nothing is left outside the basis
		if complete || residual <= tolerance*theta || (top && bound-theta <= tolerance*theta) {
			break
		}
	}
	return theta, residual
}

// lanczos turns the Laplacian into the tridiagonal matrix with diagonal a and off-diagonal b, one shorter, in an
// orthonormal basis whose first vector is start, a unit vector that sums to zero. It stops early where the basis spans
// an invariant space, and then the matrix's eigenvalues are eigenvalues of the Laplacian.
func (g *Graph) lanczos(start []float64, steps int) (basis [][]float64, a, b []float64) {
	negligible := 1e-13 * g.bound()
	v := slices.Clone(start)
	for {
		basis = append(basis, v)
		w := make([]float64, len(v))
		g.laplacian(w, v)
		a = append(a, dot(v, w))
		if len(a) == steps {
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

// laplacian stores the product of the Laplacian with x in y.
func (g *Graph) laplacian(y, x []float64) {
	for i, near := range g.neighbors {
		sum := float64(float64(len(near)) * x[i])
		for _, j := range near {
			sum -= x[j]
		}
		y[i] = sum
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

// pivots returns the pivots of the factorisation of the symmetric tridiagonal matrix with diagonal a and off-diagonal b
// less x on the diagonal. As many of them are negative as there are eigenvalues below x (Sturm; Golub and Van Loan,
// "Matrix Computations", 8.4). Where one is zero, a number too small to matter is in its place.
func pivots(a, b []float64, x float64) []float64 {
	d := make([]float64, len(a))
	for i, ai := range a {
		d[i] = ai - x
		if i > 0 {
			d[i] -= float64(b[i-1]*b[i-1]) / d[i-1]
		}
		if d[i] == 0 {
			d[i] = 1e-100
		}
	}
	return d
}

// eigenvalue returns the eigenvalue with k smaller ones of the symmetric tridiagonal matrix with diagonal a and
// off-diagonal b, by bisection to the last bit. All eigenvalues must lie in [0, bound] up to rounding.
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

// eigenvector returns an eigenvector, of no particular length, for an eigenvalue of the symmetric tridiagonal matrix
// with diagonal a and off-diagonal b. The matrix less the eigenvalue is factored from both ends; where the two meet
// with the smallest remainder the component is set to 1 and the others follow (Parlett and Dhillon, "Fernando's
// solution to Wilkinson's problem", Linear Algebra Appl. 267, 1997).
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
