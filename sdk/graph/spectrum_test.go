package graph

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"
)

// TestTridiagonal checks that the functions eigenvalue and eigenvector are correct for a matrix with known eigenvalues
// and eigenvectors: 2 on the diagonal, -1 next to the diagonal.
func TestTridiagonal(t *testing.T) {
	const m = 25
	a, b := make([]float64, m), make([]float64, m-1)
	for i := range a {
		a[i] = 2
	}
	for i := range b {
		b[i] = -1
	}
	for k := range m {
		want := 2 - 2*math.Cos(math.Pi*float64(k+1)/(m+1))
		got := eigenvalue(a, b, k, 4)
		if math.Abs(got-want) > 1e-14 {
			t.Errorf("eigenvalue %d = %.17g, want %.17g", k, got, want)
		}
		s := eigenvector(a, b, got)
		scale(s, 1/norm(s))
		sign := math.Copysign(1, s[0])
		for i := range s {
			want := math.Sqrt(2.0/(m+1)) * math.Sin(math.Pi*float64((i+1)*(k+1))/(m+1))
			if math.Abs(sign*s[i]-want) > 1e-12 {
				t.Errorf("eigenvector %d, component %d = %.15g, want %.15g", k, i, sign*s[i], want)
			}
		}
	}
	if got := eigenvalue([]float64{3}, nil, 0, 4); math.Abs(got-3) > 1e-15 {
		t.Errorf("1x1: %v", got)
	}
}

// TestStabilityLimit checks that with the gain at 99.9 % of the limit every mode's matrix has spectral radius below 1;
// at 100.1 % the matrix of some mode has a radius above 1.
func TestStabilityLimit(t *testing.T) {
	for _, spec := range []string{"ring", "complete", "star", "path", "grid:3x3", "er:0.5"} {
		for _, rho := range []float64{0.1, 1, 7} {
			g := mustParse(t, spec, 9, 1)
			modes := jacobi(g)[1:]
			radius := func(share float64) float64 {
				r := 0.0
				for _, lambda := range modes {
					r = max(r, spectralRadius(g.Gain(share, rho), rho, lambda))
				}
				return r
			}
			for _, share := range []float64{0.001, 0.4, 0.999} {
				if r := radius(share); r >= 1 {
					t.Errorf("%s, rho = %g: radius %v at share %g", spec, rho, r, share)
				}
			}
			if r := radius(1.001); r <= 1 {
				t.Errorf("%s, rho = %g: radius %v beyond the limit", spec, rho, r)
			}
		}
	}
	if a := mustParse(t, "ring", 1, 0).Gain(0.4, 1); a != 0 {
		t.Errorf("gain of a single node = %v, want 0", a)
	}
}

// spectralRadius returns the spectral radius of [[1-a*rho*lambda, -a], [rho*lambda/2, 1]].
func spectralRadius(a, rho, lambda float64) float64 {
	tr := 2 - a*rho*lambda
	det := 1 - a*rho*lambda + a*rho*lambda/2
	root := cmplx.Sqrt(complex(tr*tr-4*det, 0))
	return max(cmplx.Abs((complex(tr, 0)+root)/2), cmplx.Abs((complex(tr, 0)-root)/2))
}

// jacobi returns all eigenvalues of the Laplacian in ascending order, by plain cyclic rotations.
func jacobi(g *Graph) []float64 {
	n := g.N()
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
		m[i][i] = float64(len(g.Neighbors(i)))
		for _, j := range g.Neighbors(i) {
			m[i][j] = -1
		}
	}
	for range 30 {
		off := 0.0
		for p := range n {
			for q := p + 1; q < n; q++ {
				off += m[p][q] * m[p][q]
				if m[p][q] == 0 {
					continue
				}
				theta := (m[q][q] - m[p][p]) / (2 * m[p][q])
				t := math.Copysign(1/(math.Abs(theta)+math.Hypot(theta, 1)), theta)
				c := 1 / math.Hypot(t, 1)
				s := t * c
				for k := range n {
					m[p][k], m[q][k] = c*m[p][k]-s*m[q][k], s*m[p][k]+c*m[q][k]
				}
				for k := range n {
					m[k][p], m[k][q] = c*m[k][p]-s*m[k][q], s*m[k][p]+c*m[k][q]
				}
			}
		}
		if off < 1e-26 {
			break
		}
	}
	lambda := make([]float64, n)
	for i := range lambda {
		lambda[i] = m[i][i]
	}
	slices.Sort(lambda)
	return lambda
}
