package dpmech

import (
	"math"
	"math/rand/v2"
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
		step := 1. / 32
		if long {
			step /= 2
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

// TestConductanceOnlyGrows checks the claims in section 2 of part 3 of PROOF.md. If the two ends of an edge draw
// different noise or both add the same noise, the conductance is no lower than if the noise cancels. A missing edge
// does not increase the conductance.
func TestConductanceOnlyGrows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		n, ratio := 2+r.IntN(8), math.Exp(3*r.Float64()-1)
		edges := complete(n, func(i, j int) bool { return j == i-1 || r.IntN(3) == 0 })
		i, out := r.IntN(n), r.IntN(len(edges))
		whole := rest{n: n, edges: edges, gone: -1}
		conductance := func(g rest, ratio float64) float64 { return 1 / g.direction(i, ratio)[i] }
		k := conductance(whole, ratio)
		if k < 1 || k > float64(n)*(1+1e-9) || k > conductance(whole, 2*ratio)*(1+1e-9) {
			t.Errorf("%d members, %v: conductance %v", n, edges, k)
		}
		if far := conductance(whole, 1e4); far < float64(n)*(1-1e-3) {
			t.Errorf("with nearly all noise shared, %d members have conductance %v", n, far)
		}
		fewer := whole
		fewer.edges = append(append([][2]int{}, edges[:out]...), edges[out+1:]...)
		if without := conductance(fewer, ratio); without > k*(1+1e-9) {
			t.Errorf("without an edge: %v, with it %v", without, k)
		}
		if whole.gone = (i + 1) % n; conductance(whole, ratio) > k*(1+1e-9) {
			t.Errorf("without a member: %v, with it %v", conductance(whole, ratio), k)
		}
		e := edges[out]
		for name, change := range map[string][4]float64{"both add": {1, 1, 1, 1}, "keys differ": {1, 0, 0, 1}} {
			// The covariance is I + ratio^2 (L' + C), where L' is the Laplacian without the edge. C is zero except
			// where the rows and columns of the edge's two ends meet; there it is the 2x2 matrix change.
			m := make([][]float64, n)
			for v := range m {
				m[v] = make([]float64, n+1)
				m[v][v] = 1
			}
			m[i][n] = 1
			for at, edge := range edges {
				w := [4]float64{1, -1, -1, 1}
				if at == out {
					w = change
				}
				for c, x := range w {
					m[edge[c/2]][edge[c%2]] += ratio * ratio * x
				}
			}
			if got := 1 / solve(m)[i]; got < k*(1-1e-9) {
				t.Errorf("%s on %v: conductance %v of %d, and %v of the sound graph", name, e, got, i, k)
			}
		}
	}
}
