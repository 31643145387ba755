package graph

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Limits of the eigenvalue iterations. An eigenvalue's error is of the order of the residual's square over the gap to
// the next one, so it is far below tolerance unless eigenvalues are crowded.
const (
	maxSteps  = 300     // before a restart
	maxBasis  = 1 << 22 // numbers in the basis: 32 MiB
	maxRounds = 12      // of steps
	tolerance = 1e-5    // residual, as a share of the eigenvalue, that ends the iteration
	near      = 1e-2    // residual at which more of them are worth their time
	settled   = 1e-12   // the residual below which more steps of a run without a basis are of no use
	// inverseSteps is maxSteps for the inverse, whose largest eigenvalues are far apart.
	inverseSteps = 16
	runWork      = 3e8 // numbers read in such a run, a fraction of a second
)

// operator is a symmetric linear map of the vectors that sum to zero, with eigenvalues in [0, bound].
type operator struct {
	n     int
	times func(y, x []float64) // stores the product with x in y
	bound float64
}

// extreme returns the largest (top) or the smallest eigenvalue theta of the operator, and the norm of A*y - theta*y for
// its approximate unit eigenvector y: some eigenvalue is that close to theta, and by Rayleigh's principle theta itself
// is never beyond the extreme one. Both are 0 for a single node.
//
// The method is Lanczos's with full reorthogonalisation, restarted from y. With a random start it finds the extreme
// eigenvalue with probability one; on up to most+1 nodes it runs to the end and is a full tridiagonalisation, on
// more it takes at most that many steps before it restarts.
func (o operator) extreme(top bool, most int, tolerance float64) (theta, residual float64) {
	if o.n == 1 {
		return 0, 0
	}
	steps := min(o.n-1, most, max(maxBasis/o.n, 2))
	y := start(o.n)
	r := make([]float64, o.n)
	for range maxRounds {
		basis, a, b := o.lanczos(y, steps)
		which := 0
		if top {
			which = len(a) - 1
		}
		theta = eigenvalue(a, b, which, o.bound)
		clear(y)
		for k, w := range eigenvector(a, b, theta) {
			axpy(y, w, basis[k])
		}
		scale(y, 1/norm(y))
		o.times(r, y)
		axpy(r, -theta, y)
		residual = norm(r)
		complete := len(a) < steps || steps == o.n-1 // nothing is left outside the basis
		if complete || residual <= tolerance*theta || (top && o.bound-theta <= tolerance*theta) {
			break
		}
	}
	return theta, residual
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

// lanczos turns the operator into the tridiagonal matrix with diagonal a and off-diagonal b, one shorter, in an
// orthonormal basis whose first vector is start, a unit vector that sums to zero. It stops early where the basis spans
// an invariant space, and then the matrix's eigenvalues are eigenvalues of the operator.
func (o operator) lanczos(start []float64, steps int) (basis [][]float64, a, b []float64) {
	negligible := 1e-13 * o.bound
	v := slices.Clone(start)
	for {
		basis = append(basis, v)
		w := make([]float64, len(v))
		o.times(w, v)
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

// run is extreme for large graphs: Lanczos's method without reorthogonalisation, in time proportional to the graph a
// step and without restarts. Rounding then brings back only what has been found already, as copies (Paige, "Accuracy
// and effectiveness of the Lanczos algorithm", Linear Algebra Appl. 34, 1980), so it ends when the eigenvalue wanted is
// there: at a residual of a share enough of it, after some steps at least, or settled, or when it has cost too much.
func (g *Graph) run(top bool, enough float64) (theta, residual float64) {
	l := g.laplacian()
	o := operator{g.N(), l.fold, g.bound()}
	most := max(maxSteps, int(runWork)/(len(l.near)+8*o.n))
	last := most // step, if the end is near then
	if !top {    // there is another way
		most, last = max(maxSteps, most/2), 2*most
	}
	var (
		a, b, s []float64 // the matrix, and its eigenvector
		kept    [][]float64
		next    = 16 // step at which to look
	)
	o.chain(func(v []float64, alpha, beta float64) bool {
		if (len(kept)+1)*o.n <= maxBasis {
			kept = append(kept, slices.Clone(v))
		}
		a = append(a, alpha)
		m, over := len(a), beta <= 1e-13*o.bound
		if over || m == next {
			next += next / 4
			which := 0
			if top {
				which = m - 1
			}
			theta = eigenvalue(a, b, which, o.bound)
			s = eigenvector(a, b, theta)
			share := beta * math.Abs(s[m-1]) / norm(s) / theta
			over = over || share <= settled || share <= enough && m >= maxSteps || m >= most && share > near || m >= last
		}
		b = append(b, beta)
		return !over
	})
	y := make([]float64, o.n)
	for k, v := range kept {
		axpy(y, s[k], v)
	}
	if k := 0; len(kept) < len(s) { // the others once more
		o.chain(func(v []float64, _, _ float64) bool {
			if k >= len(kept) {
				axpy(y, s[k], v)
			}
			k++
			return k < len(s)
		})
	}
	center(y)
	scale(y, 1/norm(y))
	r := make([]float64, o.n)
	o.times(r, y)
	theta = inner(r, y)
	axpy(r, -theta, y)
	return theta, norm(r)
}

// chain calls visit with each vector of a run, which is its own, and the elements alpha and beta of the matrix that
// belong to it, until visit says false.
func (o operator) chain(visit func(v []float64, alpha, beta float64) bool) {
	v, before, w := start(o.n), make([]float64, o.n), make([]float64, o.n)
	beta := 0.0
	for {
		o.times(w, v)
		axpy(w, -beta, before)
		alpha := inner(v, w)
		axpy(w, -alpha, v)
		center(w)
		beta = math.Sqrt(inner(w, w))
		if !visit(v, alpha, beta) {
			return
		}
		scale(w, 1/beta)
		before, v, w = v, w, before
	}
}

// laplacian is the Laplacian of a graph: near[first[i]:first[i+1]] are the neighbors of node i.
type laplacian struct {
	first, near []int32
}

func (g *Graph) laplacian() *laplacian {
	l := &laplacian{make([]int32, 1, g.N()+1), make([]int32, 0, 2*len(g.edges))}
	for _, near := range g.neighbors {
		for _, j := range near {
			l.near = append(l.near, int32(j))
		}
		l.first = append(l.first, int32(len(l.near)))
	}
	return l
}

// extreme returns an extreme eigenvalue of the Laplacian, and its residual.
func (g *Graph) extreme(top bool, most int) (theta, residual float64) {
	l := g.laplacian()
	return operator{n: g.N(), times: l.times, bound: g.bound()}.extreme(top, most, tolerance)
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

// fold is times with four sums a node, which a processor adds at once.
func (l *laplacian) fold(y, x []float64) {
	for i := range y {
		near := l.near[l.first[i]:l.first[i+1]]
		a, b, c, d := float64(float64(len(near))*x[i]), 0.0, 0.0, 0.0
		for ; len(near) >= 4; near = near[4:] {
			a, b, c, d = a-x[near[0]], b-x[near[1]], c-x[near[2]], d-x[near[3]]
		}
		for _, j := range near {
			a -= x[j]
		}
		y[i] = (a + b) + (c + d)
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, xi := range x {
		sum += float64(xi * y[i])
	}
	return sum
}

// inner is dot with four sums.
func inner(x, y []float64) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
		a += float64(x[0] * y[0])
		b += float64(x[1] * y[1])
		c += float64(x[2] * y[2])
		d += float64(x[3] * y[3])
	}
	return (a + b) + (c + d) + dot(x, y)
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
