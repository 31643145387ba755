package admm

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

var shapes = map[string]int{"ring": 12, "complete": 9, "star": 10, "grid:3x4": 12, "er:0.4": 12}

func laplacian(g *graph.Graph) [][]float64 {
	l := make([][]float64, g.N())
	for i := range l {
		l[i] = make([]float64, g.N())
		l[i][i] = float64(len(g.Neighbors(i)))
		for _, j := range g.Neighbors(i) {
			l[i][j] = -1
		}
	}
	return l
}

// eigen returns all eigenvalues of a symmetric matrix in ascending order, with their orthonormal eigenvectors, by
// Jacobi rotations. It overwrites the matrix.
func eigen(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	v := make([][]float64, n) // the rows become the eigenvectors
	for i := range v {
		v[i] = make([]float64, n)
		v[i][i] = 1
	}
	for range 30 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if math.Abs(a[p][q]) < 1e-300 {
					continue
				}
				theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
				t := math.Copysign(1/(math.Abs(theta)+math.Hypot(theta, 1)), theta)
				c := 1 / math.Hypot(t, 1)
				s := t * c
				for k := range n {
					a[k][p], a[k][q] = c*a[k][p]-s*a[k][q], s*a[k][p]+c*a[k][q]
				}
				for k := range n {
					a[p][k], a[q][k] = c*a[p][k]-s*a[q][k], s*a[p][k]+c*a[q][k]
					v[p][k], v[q][k] = c*v[p][k]-s*v[q][k], s*v[p][k]+c*v[q][k]
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(math.Copysign(1, a[i][i]-a[j][j])) })
	for _, i := range order {
		values, vectors = append(values, a[i][i]), append(vectors, v[i])
	}
	return values, vectors
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
	if err := net.round(); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		values, vectors := eigen(laplacian(g))
		for _, share := range []float64{0.3, 0.7, 0.95, 1.05} {
			t.Run(spec+" at "+strconv.FormatFloat(share, 'g', -1, 64), func(t *testing.T) {
				a := g.Gain(share, kickedRho)
				slow := 1 // index of the slowest mode: the first or the last one, except the mode of the mean
				if topology.Contraction(a, kickedRho, values[n-1]) > topology.Contraction(a, kickedRho, values[1]) {
					slow = n - 1
				}
				want := topology.Contraction(a, kickedRho, values[slow])
				rounds := 24
				if want < 1 { // so that the remaining amplitude is far above float32 rounding
					rounds = min(rounds, int(math.Log(1e-3)/math.Log(want)))
				}
				if (want < 1) != (share < 1) {
					t.Errorf("the spectral radius is %v", want)
				}
				net := kicked(t, g, a, rounds+4, vectors[slow])
				var x []float64 // the models' coordinate along the mode
				for range rounds + 4 {
					var sum float64
					for i, m := range net.machines {
						sum += vectors[slow][i] * float64(m.x[0])
					}
					x = append(x, sum)
					if err := net.round(); err != nil {
						t.Fatal(err)
					}
				}
				rate := math.Abs(x[rounds] / x[rounds-1])
				if a*kickedRho*values[slow] < 2 {
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
