package admm

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// flowing returns the Chebyshev schedule of a graph, for mixing and cool-down rounds.
func flowing(n int, edges [][2]int) Consensus {
	g, err := graph.New(n, edges)
	if err != nil {
		panic(err)
	}
	return g.Chebyshev()
}

// TestFlows checks that a round of flows preserves the sum of all models (exactly if they are on the grid), and that
// both ends of an edge hold the same flow with opposite signs. At the start of a round with data, z_ij + z_ji =
// rho*(x_i + x_j) must hold, and the sum of p over all members must be zero. The cool-down must remove all
// disagreement.
func TestFlows(t *testing.T) {
	for name, c := range map[string]struct {
		mixing int
		change func(i int, c *Config)
	}{
		"grid":     {4, onAGrid},
		"odd":      {3, onAGrid},
		"one":      {1, onAGrid},
		"no grid":  {4, private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})},
		"no noise": {5, func(int, *Config) {}},
	} {
		t.Run(name, func(t *testing.T) {
			net := newNetwork(t, configs(4, kite, func(i int, conf *Config) {
				c.change(i, conf)
				conf.Mixing, conf.Cooldown = c.mixing, 40
			}))
			cfg := net.machines[0].cfg
			d := cfg.Estimator.Dim
			var before, z [][]float32 // the models of the release before, and each member's z since the last round with data
			var sum []float64
			var steps []int64
			for r := 1; r <= cfg.Last(); r++ {
				must(t, net.round())
				data, onGrid := cfg.Data(r) > cfg.Data(r-1), cfg.onGrid(r)
				newSum, newSteps, p := make([]float64, d), make([]int64, d), make([]float64, d)
				for i, m := range net.machines {
					for k, x := range m.x {
						newSum[k] += float64(x)
						p[k] += float64(m.p[k])
						if onGrid {
							newSteps[k] += int64(m.grid[k])
						}
					}
					if !data && !slices.Equal(m.z, z[i]) {
						t.Errorf("release %d changes z of member %d", r, i)
					}
					for e := range m.edges {
						j := m.edges[e].peer
						other := net.machines[j]
						back := other.edge(i).index
						for k, f := range m.flow(e) {
							if f != -other.flow(back)[k] {
								t.Errorf("release %d: flow %d of edge %d-%d is %v and %v", r, k, i, j, f, other.flow(back)[k])
							}
							if !data || r == 1 {
								continue
							}
							got, want := float64(m.zOf(e)[k])+float64(other.zOf(back)[k]), cfg.Rho*float64(before[i][k]+before[j][k])
							if math.Abs(got-want) > 1e-5 {
								t.Errorf("release %d: z of edge %d-%d sum to %v in coordinate %d, want %v", r, i, j, got, k, want)
							}
						}
					}
				}
				for k := range d {
					if data && math.Abs(p[k]) > 1e-5 {
						t.Errorf("release %d: p sums to %v in coordinate %d", r, p[k], k)
					}
					if !data && (math.Abs(newSum[k]-sum[k]) > 1e-5 || onGrid && newSteps[k] != steps[k]) {
						t.Errorf("release %d moves the sum of coordinate %d by %v", r, k, newSum[k]-sum[k])
					}
				}
				before, z, sum, steps = net.models(), nil, newSum, newSteps
				for _, m := range net.machines {
					z = append(z, slices.Clone(m.z))
				}
			}
			for i, x := range before {
				for k := range x {
					if apart := math.Abs(float64(x[k] - before[0][k])); apart > 1e-5 {
						t.Errorf("members 0 and %d end %v apart in coordinate %d", i, apart, k)
					}
				}
			}
		})
	}
}

// TestMeanStays checks that the mean of all models does not drift where releases are not on a grid: over a long
// cool-down, each round may move it by at most the rounding of one float32.
func TestMeanStays(t *testing.T) {
	const cooldown = 400
	net := newNetwork(t, configs(4, kite, func(_ int, c *Config) {
		c.Cooldown, c.X0 = cooldown, []float32{100, -3, 1, 1e-3, 0}
	}))
	sum := make([][]float64, net.machines[0].last()+1)
	largest := 0.0
	net.released = func(i, round int) {
		if sum[round] == nil {
			sum[round] = make([]float64, len(net.machines[i].x))
		}
		for c, x := range net.machines[i].x {
			sum[round][c] += float64(x)
			largest = max(largest, math.Abs(float64(x)))
		}
	}
	must(t, net.run())
	first := sum[net.machines[0].cfg.Learning()]
	for round := net.machines[0].cfg.Learning() + 1; round < len(sum); round++ {
		for c, v := range sum[round] {
			if moved := math.Abs(v-sum[round-1][c]) / 4; moved > 0x1p-24*largest {
				t.Errorf("release %d moves the mean of coordinate %d by %v", round, c, moved)
			}
			if moved := math.Abs(v-first[c]) / 4; moved > 0x1p-21*largest {
				t.Errorf("at release %d the mean of coordinate %d has drifted by %v", round, c, moved)
			}
		}
	}
}
