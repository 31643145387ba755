package admm

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// lyapunov returns the solution P of M'PM - P = -I, the equation labeled lyapunov, for M = M_lambda. It computes P as a
// series (label P-series) by doubling: if S is the sum of the terms below n and A = M^n, the sum of the terms below 2n
// is S + A'SA.
func lyapunov(a, rho, lambda float64) [2][2]float64 {
	p, m := [2][2]float64{{1, 0}, {0, 1}}, [2][2]float64{{1 - a*rho*lambda, -a}, {rho * lambda / 2, 1}}
	mul := func(x, y [2][2]float64) (z [2][2]float64) {
		for i := range 2 {
			for j := range 2 {
				z[i][j] = x[i][0]*y[0][j] + x[i][1]*y[1][j]
			}
		}
		return z
	}
	for range 30 {
		more := mul(mul([2][2]float64{{m[0][0], m[1][0]}, {m[0][1], m[1][1]}}, p), m)
		for i := range 2 {
			for j := range 2 {
				p[i][j] += more[i][j]
			}
		}
		m = mul(m, m)
	}
	return p
}

// energy computes the Lyapunov energy of a network and the quantities that the paper derives from it.
type energy struct {
	g         *graph.Graph
	a, rho    float64
	values    []float64
	vectors   [][]float64
	p         [][2][2]float64 // by mode; unused for the mode of the mean
	low, high float64         // the extreme eigenvalues of all p
}

func newEnergy(g *graph.Graph, a, rho float64) *energy {
	e := &energy{g: g, a: a, rho: rho, low: math.Inf(1)}
	e.values, e.vectors = eigen(laplacian(g))
	for _, lambda := range e.values {
		p := lyapunov(a, rho, lambda)
		e.p = append(e.p, p)
	}
	for _, p := range e.p[1:] {
		half, root := (p[0][0]+p[1][1])/2, math.Hypot((p[0][0]-p[1][1])/2, p[0][1])
		e.low, e.high = min(e.low, half-root), max(e.high, half+root)
	}
	return e
}

func (e *energy) chi() float64 { return 1 / (2 * e.high) }
func (e *energy) cw() float64  { return e.high * (2*e.high - 1) }

// of returns V, (1/N)|xi|^2 and (1/N)|Pi x|^2 of a state. The state is x and lambda, both indexed by client, then by
// coordinate.
func (e *energy) of(x, lambda [][]float64) (v, xi, disagreement float64) {
	n := float64(len(x))
	for l := 1; l < len(x); l++ {
		for c := range x[0] {
			var hx, hl float64
			for i := range x {
				hx += e.vectors[l][i] * x[i][c]
				hl += e.vectors[l][i] * lambda[i][c]
			}
			p := e.p[l]
			v += (p[0][0]*hx*hx + 2*p[0][1]*hx*hl + p[1][1]*hl*hl) / n
			xi += (hx*hx + hl*hl) / n
			disagreement += hx * hx / n
		}
	}
	return v, xi, disagreement
}

// TestEnergyRecursion checks the bound of the paper's stability lemma along 150 runs on one network, with different
// directions, batches and noise. It checks the following equations:
//
//   - eq. (forced-contraction), the inequality behind the lemma, for V in each round of each run with the actual w_k;
//   - eq. (unforced-contraction) in each later round without losses and noise, where w_k = 0: V falls by exactly (1/N)|xi|^2.
//     This is the sharpest check, because only the correct recursion of x and lambda passes;
//   - eq. (V-recursion) itself in the mean over runs, with Q^2 = d*M_2 and M_2 = 1 for losses in [0, 1), and with the
//     measured E_cl;
//   - eqs. (C-by-V) and (p-by-V): C_k <= V_k/p_low and (1/N)|p|^2 <= 2(rho^2 lambda_N^2 + 1)/p_low V_k;
//   - V_0 = 0.
func TestEnergyRecursion(t *testing.T) {
	const n, d, rounds, quiet, tau, runs = 7, 5, 10, 6, 2, 150
	const eta, mu, rho = 0.5, 0.4, 1.5
	g, err := graph.Parse("er:0.4", n, 2)
	if err != nil {
		t.Fatal(err)
	}
	noise := dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}
	for name, private := range map[string]bool{"non-private": false, "private": true} {
		t.Run(name, func(t *testing.T) {
			a := g.Gain(0.7, rho)
			e := newEnergy(g, a, rho)
			var meanV, clipped [rounds + quiet + 1]float64
			for run := range runs {
				net := newNetwork(t, configs(n, g.Edges(), func(i int, c *Config) {
					c.Rounds, c.Cooldown, c.Tau, c.Rho = rounds+quiet+2, 0, tau, rho
					c.Eta, c.Mu, c.Beta = Schedule{eta}, Schedule{mu}, a/(tau*eta*mu)
					c.Estimator.Seed = uint64(run)
					if private {
						s := rng.New(uint64(run), rng.Address{Purpose: rng.Noise, Client: uint32(i)})
						c.NonPrivate, c.Privacy, c.Noise = false, noise, &s
					}
				}))
				k := 0
				net.reserved = func(client int) {
					var norm float64
					for _, v := range net.machines[client].s {
						norm += float64(v) * float64(v)
					}
					if over := math.Sqrt(norm) - noise.Clip; over > 0 {
						clipped[k] += over * over / (n * runs)
					}
				}
				var last, lastXi, forced float64
				for ; k <= rounds+quiet; k++ {
					if k == rounds {
						net.loss = func(int, []float32, int) float64 { return 0 }
					}
					x := before(net)
					if k < rounds+quiet {
						if err := net.round(); err != nil {
							t.Fatal(err)
						}
					} else { // after the last round no machine freezes p, so the test does
						for _, m := range net.machines {
							m.updateZ()
							m.penalty()
						}
					}
					lambda, pSquare := make([][]float64, n), 0.0
					for i := range lambda {
						lambda[i] = make([]float64, d)
					}
					for c := range d {
						for i, lap := range laplacianOf(g, x, c) {
							p := float64(net.machines[i].p[c])
							lambda[i][c] = p - rho*lap
							pSquare += p * p / n
						}
					}
					v, xi, disagreement := e.of(x, lambda)
					meanV[k] += v / runs
					switch {
					case k == 0 && v > 1e-12:
						t.Fatalf("V_0 is %v", v)
					case !private && k > rounds && math.Abs(last-v-lastXi) > 1e-3*lastXi+1e-9:
						t.Fatalf("run %d, round %d: V falls from %v to %v, want by %v", run, k, last, v, lastXi)
					case k > 0 && v > (1-e.chi())*last+e.cw()*forced+1e-9:
						t.Fatalf("run %d, round %d: V goes from %v to %v, the bound is %v", run, k, last, v,
							(1-e.chi())*last+e.cw()*forced)
					case disagreement > v/e.low*(1+1e-5):
						t.Fatalf("run %d, round %d: disagreement %v, the bound is %v", run, k, disagreement, v/e.low)
					}
					if top := e.values[n-1]; pSquare > 2*(rho*rho*top*top+1)/e.low*v*(1+1e-5)+1e-9 {
						t.Fatalf("run %d, round %d: |p|^2/N is %v beyond its bound, V is %v", run, k, pSquare, v)
					}
					last, lastXi, forced = v, xi, 0
					if k < rounds+quiet {
						for c := range d { // w_k = x_(k+1) - x_k + a*p_k, minus its mean
							var w [n]float64
							var mean float64
							for i, m := range net.machines {
								w[i] = float64(m.x[c]) - x[i][c] + a*float64(m.p[c])
								mean += w[i] / n
							}
							for i := range w {
								forced += (w[i] - mean) * (w[i] - mean) / n
							}
						}
						if !private && k >= rounds && forced > 1e-9 {
							t.Fatalf("run %d, round %d without losses: something moves the models (%v)", run, k, forced)
						}
					}
				}
			}
			for k := range rounds {
				input := 18*eta*eta*tau*tau*d + 2*clipped[k]
				if private {
					input += (1 - 1.0/n) * d * noise.Sigma * noise.Sigma
				}
				if bound := (1-e.chi())*meanV[k] + e.cw()*input; meanV[k+1] > bound {
					t.Errorf("round %d: E V goes from %v to %v, the bound is %v", k, meanV[k], meanV[k+1], bound)
				}
			}
			if private && clipped[1] == 0 || meanV[rounds] == 0 {
				t.Error("nothing was clipped, or nothing ever moved: nothing was tested")
			}
		})
	}
}
