package topology

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// TestContractionOfMatrix checks that Contraction agrees with the eigenvalues of the matrix, and is below 1 within the
// stability limit only.
func TestContractionOfMatrix(t *testing.T) {
	for _, c := range []struct{ a, rho float64 }{{1, 1}, {0.3, 2}, {1e-3, 50}} {
		for _, g := range []float64{-0.5, 0, 0.01, 0.5, 1, 1.9, 2, 2.1, 2.6, 8.0 / 3, 2.7, 4} {
			lambda := g / (c.a * c.rho)
			if got, want := Contraction(c.a, c.rho, lambda), spectralRadius(c.a, c.rho, lambda); math.Abs(got-want) > 1e-7 {
				t.Errorf("a = %v, rho = %v, g = %v: Contraction is %v, want %v", c.a, c.rho, g, got, want)
			} else if g != 8.0/3 && (got < 1) != (g > 0 && g < graph.StabilityLimit) {
				t.Errorf("g = %v: Contraction is %v", g, got)
			}
		}
	}
}

// spectralRadius returns the spectral radius of [[1-a*rho*lambda, -a], [rho*lambda/2, 1]].
func spectralRadius(a, rho, lambda float64) float64 {
	tr := 2 - a*rho*lambda
	det := 1 - a*rho*lambda + a*rho*lambda/2
	root := cmplx.Sqrt(complex(tr*tr-4*det, 0))
	return max(cmplx.Abs((complex(tr, 0)+root)/2), cmplx.Abs((complex(tr, 0)-root)/2))
}
