package dpmech

import (
	"math"
	"testing"
)

// TestRoundingVanishes checks a claim in section 5 of part 3 of PROOF.md. Let w be pairwise noise with standard
// deviation s, and g a Gaussian number with standard deviation t. Then g plus the rounded w has nearly the same
// distribution as g plus w plus a uniform number. The test uses s and t so small that the bound is visible; in a
// release, s is at least 2^24 and t at least 2^10.
func TestRoundingVanishes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ s, t float64 }{{0.5, 0.2}, {1, 0.3}, {1, 0.5}, {3, 0.4}, {3, 0.7}} {
		cell := func(x float64) float64 { // the probability of the unit interval around x
			return (math.Erf((x+0.5)/c.s/math.Sqrt2) - math.Erf((x-0.5)/c.s/math.Sqrt2)) / 2
		}
		phi := func(x float64) float64 { return math.Exp(-x*x/(2*c.t*c.t)) / (c.t * math.Sqrt(2*math.Pi)) }
		step := 1. / 16
		if long {
			step /= 4
		}
		var distance, bound float64
		for y := -8 * (c.s + 1); y < 8*(c.s+1); y += step {
			var rounded, smooth float64
			for j := math.Floor(y - 10*c.t); j <= y+10*c.t; j++ {
				rounded += cell(j) * phi(y-j)
			}
			for x := y - 10*c.t; x <= y+10*c.t; x += step {
				smooth += cell(x) * phi(y-x) * step
			}
			distance += math.Abs(rounded-smooth) * step / 2
		}
		v := c.s * c.s * c.t * c.t / (c.s*c.s + c.t*c.t)
		for j := 1.; j < 20; j++ {
			bound += math.Exp(-2 * math.Pi * math.Pi * j * j * v)
		}
		if distance > bound || distance < bound/4 {
			t.Errorf("s = %v, t = %v: the distance is %v, and the bound %v", c.s, c.t, distance, bound)
		}
	}
}
