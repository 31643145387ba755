package admm

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// before returns x_k, the models of all machines before a round. It does not return p_k, because the machines still
// hold p_k after the round.
func before(net *network) [][]float64 {
	var x [][]float64
	for _, m := range net.machines {
		x = append(x, make([]float64, len(m.x)))
		for c, v := range m.x {
			x[len(x)-1][c] = float64(v)
		}
	}
	return x
}

func laplacianOf(g *graph.Graph, x [][]float64, c int) []float64 {
	out := make([]float64, g.N())
	for _, e := range g.Edges() {
		diff := x[e[0]][c] - x[e[1]][c]
		out[e[0]] += diff
		out[e[1]] -= diff
	}
	return out
}

// TestPenaltyRecursions checks Lemma 2 (message): along the whole run, the penalty that each machine freezes equals the
// results of two recursions over the whole network, without messages:
//
//	p_k = rho*L*x_k - B*omega_(k-1),   omega_k = omega_(k-1) - (rho/2)*B'*x_k        eq. (omega-update), (p-omega)
//	p_k = rho*L*x_k + lambda_k,        lambda_(k+1) = lambda_k + (rho/2)*L*x_k        eq. (p-lambda), (lambda-update)
//
// lambda, which in a machine is p - rho*L*x, is in the range of B, so it sums to zero over the clients. The
// test runs with and without noise, with different numbers of steps, and into
// rounds in which all losses are zero. The tolerance grows with the rounds, because omega accumulates one float32 rounding per round.
func TestPenaltyRecursions(t *testing.T) {
	g, err := graph.Parse("er:0.4", 9, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(i int, c *Config){
		"non-private": func(int, *Config) {},
		"private":     private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.5}),
		"unequal tau": func(i int, c *Config) { c.Tau = 1 + i%4 },
	} {
		t.Run(name, func(t *testing.T) {
			const rounds, quiet = 60, 20
			net := newNetwork(t, configs(g.N(), g.Edges(), func(i int, c *Config) {
				c.Rounds, c.Cooldown, c.Beta = rounds+quiet, 0, 0.05
				c.X0 = []float32{3, -1, 0.1, 0, 1e-3}
				change(i, c)
			}))
			rho, d := net.machines[0].cfg.Rho, len(net.machines[0].x)
			omega := make([][]float64, len(g.Edges()))
			for e := range omega {
				omega[e] = make([]float64, d)
			}
			lambda := make([][]float64, d)
			for c := range lambda {
				lambda[c] = make([]float64, g.N())
			}
			largest := 0.0
			for k := range rounds + quiet {
				if k == rounds {
					net.loss = func(int, []float32, int) float64 { return 0 }
				}
				x := before(net)
				if err := net.round(); err != nil {
					t.Fatal(err)
				}
				scale := 0.0
				for i, m := range net.machines {
					for _, v := range x[i] {
						scale = max(scale, rho*float64(len(m.edges))*math.Abs(v))
					}
				}
				tolerance := 4 * float64(k+1) * eps * scale
				for c := range d {
					lap := laplacianOf(g, x, c)
					byOmega := make([]float64, g.N()) // -B*omega
					for e, ends := range g.Edges() {
						byOmega[ends[0]] -= omega[e][c]
						byOmega[ends[1]] += omega[e][c]
					}
					var sum float64
					for i, m := range net.machines {
						p := float64(m.p[c])
						a, b := rho*lap[i]+byOmega[i], rho*lap[i]+lambda[c][i]
						if math.Abs(p-a) > tolerance || math.Abs(p-b) > tolerance {
							t.Fatalf("round %d, client %d: p = %v, want %v (by omega) and %v (by lambda), up to %.1g", k, i, p, a, b,
								tolerance)
						}
						sum += p - rho*lap[i]
						largest = max(largest, math.Abs(lambda[c][i])/scale)
					}
					if math.Abs(sum) > float64(g.N())*tolerance {
						t.Fatalf("round %d: lambda sums to %v, so it is not in the range of B", k, sum)
					}
					for e, ends := range g.Edges() {
						omega[e][c] -= rho / 2 * (x[ends[0]][c] - x[ends[1]][c])
					}
					for i := range lap {
						lambda[c][i] += rho / 2 * lap[i]
					}
				}
			}
			if largest < 1e-3 {
				t.Errorf("lambda is never more than %.1g of the numbers around it: nothing was tested", largest)
			}
		})
	}
}
