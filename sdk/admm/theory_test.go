package admm

import (
	"math"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// eps is the distance from 1 to the next float32.
const eps = 0x1p-23

// TestEdgeIdentityAndZeroSumPenalty checks the invariants of Lemma 2 after every round of a run with noise and of a run
// without noise:
//
//	z_ij + z_ji = rho*(x_i + x_j) on every edge,   sum_i p_i = 0.
//
// In float32 each identity holds up to the rounding of one round, because the z-update forgets older errors. On an edge
// the error is at most 4 ulp of the largest number involved; in the sum it is at most that bound times the number of
// edges. The test also fails if no error occurs at all, because it would then say nothing about the bound.
func TestEdgeIdentityAndZeroSumPenalty(t *testing.T) {
	for name, change := range map[string]func(i int, c *Config){
		"non-private": nil,
		"private":     private(dpmech.Gaussian{Clip: 0.3, Sigma: 2}),
	} {
		t.Run(name, func(t *testing.T) {
			net := newNetwork(t, configs(4, kite, func(i int, c *Config) {
				c.Rounds, c.Cooldown = 200, 0
				c.X0 = []float32{3, -1, 0.1, 0, 1e-3}
				if change != nil {
					change(i, c)
				}
			}))
			var worst float64
			for range 199 {
				if err := net.round(); err != nil {
					t.Fatal(err)
				}
				for _, m := range net.machines { // updates z, freezes p, and makes its first query
					if r, err := m.Ready(); err != nil || len(r.Queries) == 0 {
						t.Fatalf("no question in round %d: %v", m.round, err)
					}
				}
				var scale float64
				for _, m := range net.machines {
					for i := range m.x {
						scale = max(scale, m.cfg.Rho*math.Abs(float64(m.x[i])))
						for _, e := range m.edges {
							scale = max(scale, math.Abs(float64(m.zOf(e.index)[i])), math.Abs(float64(m.held(&e, m.round%2).Vector[i])))
						}
					}
				}
				for i, m := range net.machines {
					for _, e := range m.edges {
						back := net.machines[e.peer].edgeTo(i)
						for c := range m.x {
							want := m.cfg.Rho * (float64(m.x[c]) + float64(net.machines[e.peer].x[c]))
							err := math.Abs(float64(m.zOf(e.index)[c])+float64(net.machines[e.peer].zOf(back.index)[c])-want) / (eps * scale)
							if worst = max(worst, err); err > 4 {
								t.Fatalf("round %d, edge %d-%d: identity is off by %.1f ulp", m.round, i, e.peer, err)
							}
						}
					}
				}
				for c := range net.machines[0].x {
					var sum float64
					for _, m := range net.machines {
						sum += float64(m.p[c])
					}
					if math.Abs(sum) > 4*2*float64(len(kite))*eps*scale {
						t.Fatalf("round %d: penalties add up to %v at scale %v", net.machines[0].round, sum, scale)
					}
				}
			}
			if worst == 0 {
				t.Error("no rounding error at all: the test looks at the wrong numbers")
			}
		})
	}
}

func (m *Machine) edgeTo(peer int) *edge {
	for i := range m.edges {
		if m.edges[i].peer == peer {
			return &m.edges[i]
		}
	}
	return nil
}

// TestStabilityThreshold checks the paper's stability theorem: disagreement decays exactly when
// tau*beta*eta*mu*rho*lambda_N < 8/3. All members start with the same model, so the test chooses losses for round 0
// that move the models along the mode of the largest eigenvalue. A hundred rounds follow in which all losses are zero. In the long
// run each of them multiplies the size of the mode by the spectral radius of M_lambda: 0.848 at 0.95 of the limit, and
// 1.148 at 1.05 of the limit.
func TestStabilityThreshold(t *testing.T) {
	for _, spec := range []string{"ring", "er:0.4"} {
		g, err := graph.Parse(spec, 12, 3)
		if err != nil {
			t.Fatal(err)
		}
		mode := topMode(g)
		for _, share := range []float64{0.95, 1.05} {
			t.Run(spec+" at "+strconv.FormatFloat(share, 'g', -1, 64), func(t *testing.T) {
				const rho, eta, mu, tau = 2.0, 0.5, 0.25, 3
				net := newNetwork(t, configs(g.N(), g.Edges(), func(_ int, c *Config) {
					c.Estimator.Dim, c.Rounds, c.Cooldown, c.Tau = 1, 101, 0, tau
					c.Rho, c.Eta, c.Mu = rho, Schedule{eta}, Schedule{mu}
					c.Beta = share * 8 / 3 / (rho * g.LambdaMax()) / (tau * eta * mu)
				}))
				// The sign of a query's displacement from the iterate is the direction u, and a loss of u*kick makes
				// every estimate equal to kick. The penalty is zero in round 0, so an iterate moves by -eta*kick per
				// step.
				asked := make([]int, g.N())
				net.loss = func(i int, x []float32, _ int) float64 {
					m := net.machines[i]
					asked[i]++
					if m.round > 0 {
						return 0
					}
					return math.Copysign(mode[i], float64(x[0]-m.phi[0]))
				}
				if err := net.round(); err != nil {
					t.Fatal(err)
				}
				start := disagreement(net)
				for range 100 {
					if err := net.round(); err != nil {
						t.Fatal(err)
					}
				}
				// Except for rounding, only this mode is excited. M_lambda has two eigenvalues for this mode, so the
				// growth of the mode varies from round to round. The test therefore allows the total growth to be off
				// by a factor of ten.
				want := math.Pow(spectralRadius(share*8/3), 100)
				if got := disagreement(net) / start; got > 10*want || got < want/10 {
					t.Errorf("disagreement changed by a factor of %.3g, want about %.3g", got, want)
				}
			})
		}
	}
}

// spectralRadius returns the spectral radius of the matrix M_lambda for g = a*rho*lambda. The matrix has trace 2-g and
// determinant 1-g/2.
func spectralRadius(g float64) float64 {
	trace, det := 2-g, 1-g/2
	root := math.Sqrt(trace*trace/4 - det)
	return max(math.Abs(trace/2-root), math.Abs(trace/2+root))
}

// topMode returns the unit eigenvector of the Laplacian's largest eigenvalue by plain power iteration.
func topMode(g *graph.Graph) []float64 {
	x := make([]float64, g.N())
	for i := range x {
		x[i] = math.Cos(float64(3*i*i + 1))
	}
	for range 20000 {
		y := make([]float64, len(x))
		var norm float64
		for i := range x {
			for _, j := range g.Neighbors(i) {
				y[i] += x[i] - x[j]
			}
			norm += y[i] * y[i]
		}
		for i := range x {
			x[i] = y[i] / math.Sqrt(norm)
		}
	}
	return x
}

// disagreement returns sqrt(sum_i (x_i - xbar)^2) for d = 1.
func disagreement(net *network) float64 {
	var mean, sum float64
	for _, m := range net.machines {
		mean += float64(m.x[0]) / float64(len(net.machines))
	}
	for _, m := range net.machines {
		sum += (float64(m.x[0]) - mean) * (float64(m.x[0]) - mean)
	}
	return math.Sqrt(sum)
}

// TestSingleClient checks that a run with N = 1 is plain zeroth-order descent: it has no graph terms and no messages,
// and its cool-down rounds change nothing.
func TestSingleClient(t *testing.T) {
	net := newNetwork(t, configs(1, nil, func(_ int, c *Config) {
		c.Rounds, c.Cooldown, c.Estimator.Samples, c.Estimator.Batch = 200, 5, 64, 64
		c.Eta = Schedule{0.2}
		c.X0 = []float32{1, 1, 1, 1, 1}
	}))
	var rounds []int
	var models [][]float32
	net.released = func(_, round int) {
		rounds = append(rounds, round)
		models = append(models, net.machines[0].Model())
	}
	before := meanLoss(net)
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
	if len(net.sent) != 0 {
		t.Errorf("%d messages of a client without neighbors", len(net.sent))
	}
	if len(rounds) != 205 || rounds[204] != 205 {
		t.Errorf("releases %v, want 1 to 205 one by one", rounds)
	}
	if !sameBits([][]float32{models[199]}, [][]float32{models[204]}) {
		t.Error("the cool-down moved a model that has nobody to agree with")
	}
	if after := meanLoss(net); !(after < 0.8*before) {
		t.Errorf("mean loss %v after the run, %v before: nothing was learned", after, before)
	}
}

func meanLoss(net *network) float64 {
	var sum float64
	m := net.machines[0].cfg.Estimator.Samples
	for h := range m {
		sum += lossFunc(0, net.machines[0].Model(), h) / float64(m)
	}
	return sum
}
