package admm

import (
	"math"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

var shapes = map[string]int{"ring": 12, "complete": 9, "star": 10, "grid:3x4": 12, "er:0.4": 12}

// mode returns the Laplacian's largest eigenvalue (first false) or its smallest but that of the mean, with a unit
// eigenvector, by power iteration.
func mode(g *graph.Graph, first bool) (value float64, x []float64) {
	x = make([]float64, g.N())
	for i := range x {
		x[i] = math.Sin(float64(i*i + 1))
	}
	for range 3000 {
		y, mean, norm := make([]float64, len(x)), 0.0, 0.0
		for i := range x {
			for _, j := range g.Neighbors(i) {
				y[i] += x[i] - x[j]
			}
			if first {
				y[i] = 2*float64(g.N())*x[i] - y[i]
			}
			mean += y[i] / float64(len(x))
		}
		for i := range y {
			y[i] -= mean
			norm += y[i] * y[i]
		}
		for i := range y {
			x[i] = y[i] / math.Sqrt(norm)
		}
		value = math.Sqrt(norm)
	}
	if first {
		value = 2*float64(g.N()) - value
	}
	return value, x
}

// kicked returns a network of one-dimensional models that all start at zero. In the first round, the losses
// are chosen to move client i by kick[i]: in one dimension the sign of a query's displacement from the iterate is its
// direction u, and a loss of u*w makes every estimate equal to w. In all later rounds the losses are zero, so that only the
// penalty moves client i, with the gain a.
func kicked(t *testing.T, g *graph.Graph, a float64, later int, kick []float64) *network {
	t.Helper()
	const rho, eta, mu = 2.0, 0.5, 0.25
	net := newNetwork(t, configs(g.N(), g.Edges(), func(i int, c *Config) {
		c.Estimator.Dim, c.Rounds, c.Cooldown, c.Tau = 1, 1+later, 0, 1
		c.Rho, c.Eta, c.Mu, c.Beta = rho, Schedule{eta}, Schedule{mu}, a/(eta*mu)
	}))
	net.loss = func(i int, x []float32, _ int) float64 {
		m := net.machines[i]
		if m.round > 0 {
			return 0
		}
		return math.Copysign(1, float64(x[0]-m.phi[0])) * -kick[i] / (eta * float64(m.cfg.Tau))
	}
	must(t, net.round())
	for i, m := range net.machines {
		if math.Abs(float64(m.x[0])-kick[i]) > 1e-6 {
			t.Fatalf("client %d moved to %v, want %v", i, m.x[0], kick[i])
		}
	}
	return net
}

const kickedRho = 2.0

// TestDecayRate checks that the slowest mode decays at the rate given by the spectral radius of its M_lambda. If the
// gain of the mode is at least 2, the eigenvalues are real, and the ratio of two successive amplitudes x_k is the rate.
// Below 2 the eigenvalues are complex and the mode oscillates. The test then uses x_(k+1)^2 - x_k*x_(k+2), in which the
// oscillation cancels: it falls by a factor of det(M_lambda), the square of the radius, per round. Above the stability
// limit of the paper's theorem, 8/3, the mode grows.
func TestDecayRate(t *testing.T) {
	for spec, n := range shapes {
		g, err := topology.Parse(spec, n, 3)
		must(t, err)
		for _, share := range []float64{0.3, 0.7, 0.95, 1.05} {
			t.Run(spec+" at "+strconv.FormatFloat(share, 'g', -1, 64), func(t *testing.T) {
				a := g.Gain(share, kickedRho)
				value, x0 := mode(g, true) // the slowest mode is the first or the last one
				if last, x := mode(g, false); topology.Contraction(a, kickedRho, last) > topology.Contraction(a, kickedRho, value) {
					value, x0 = last, x
				}
				want := topology.Contraction(a, kickedRho, value)
				rounds := 24
				if want < 1 { // so that the remaining amplitude is far above float32 rounding
					rounds = min(rounds, int(math.Log(1e-3)/math.Log(want)))
				}
				if (want < 1) != (share < 1) {
					t.Errorf("the spectral radius is %v", want)
				}
				net := kicked(t, g, a, rounds+4, x0)
				var x []float64 // the models' coordinate along the mode
				for range rounds + 4 {
					var sum float64
					for i, m := range net.machines {
						sum += x0[i] * float64(m.x[0])
					}
					x = append(x, sum)
					must(t, net.round())
				}
				rate := math.Abs(x[rounds] / x[rounds-1])
				if a*kickedRho*value < 2 {
					swing := func(k int) float64 { return x[k+1]*x[k+1] - x[k]*x[k+2] }
					rate = math.Pow(swing(rounds)/swing(0), 0.5/float64(rounds))
				}
				if math.Abs(rate-want) > 1e-3*want {
					t.Errorf("the mode shrinks by %.5f a round, the spectral radius is %.5f", rate, want)
				}
			})
		}
	}
}
