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
			var cfg Config
			net := newNetwork(t, configs(4, kite, func(i int, conf *Config) {
				c.change(i, conf)
				conf.Mixing, conf.Cooldown = c.mixing, 40
				cfg = *conf
			}))
			d := cfg.Estimator.Dim
			sum, steps := make([][]float64, cfg.Last()+1), make([][]int64, cfg.Last()+1)
			flows, z := map[[3]int][]float32{}, map[[3]int][]float32{} // by member, neighbor and release
			before := map[[2]int][]float32{}                           // x at the start of a release, by member and release
			p := make([][]float64, cfg.Last()+1)
			for r := range sum {
				sum[r], steps[r], p[r] = make([]float64, d), make([]int64, d), make([]float64, d)
			}
			resting := map[int][]float32{} // z of a member since the last round with data
			net.released = func(i, round int) {
				m := net.machines[i]
				data := cfg.Data(round) > cfg.Data(round-1)
				if data {
					resting[i] = slices.Clone(m.z)
				} else if !slices.Equal(m.z, resting[i]) {
					t.Errorf("release %d changes z of member %d", round, i)
				}
				for k, x := range m.x {
					sum[round][k] += float64(x)
					if m.grid != nil {
						steps[round][k] += int64(m.grid[k])
					}
					if data {
						p[round][k] += float64(m.p[k])
					}
				}
				before[[2]int{i, round + 1}] = slices.Clone(m.x)
				for e := range m.edges {
					at := [3]int{i, m.edges[e].peer, round}
					flows[at] = slices.Clone(m.flow(e))
					if data && round > 1 {
						z[at] = slices.Clone(part(m.z, e, d))
					}
				}
			}
			if err := net.run(); err != nil {
				t.Fatal(err)
			}
			for r := 2; r <= cfg.Last(); r++ {
				onGrid := cfg.GridStep > 0 && r <= cfg.Learning()
				for k := range d {
					if cfg.Data(r) > cfg.Data(r-1) {
						if math.Abs(p[r][k]) > 1e-5 {
							t.Errorf("release %d: p sums to %v in coordinate %d", r, p[r][k], k)
						}
						continue
					}
					if moved := sum[r][k] - sum[r-1][k]; math.Abs(moved) > 1e-5 || onGrid && steps[r][k] != steps[r-1][k] {
						t.Errorf("release %d moves the sum of coordinate %d by %v", r, k, moved)
					}
				}
			}
			for at, flow := range flows {
				back := flows[[3]int{at[1], at[0], at[2]}]
				for k, f := range flow {
					if f != -back[k] {
						t.Errorf("release %d: flow %d of edge %d-%d is %v and %v", at[2], k, at[0], at[1], f, back[k])
					}
				}
			}
			for at, zij := range z {
				zji, i, j := z[[3]int{at[1], at[0], at[2]}], at[0], at[1]
				for k := range zij {
					want := cfg.Rho * float64(before[[2]int{i, at[2]}][k]+before[[2]int{j, at[2]}][k])
					if got := float64(zij[k]) + float64(zji[k]); math.Abs(got-want) > 1e-5 {
						t.Errorf("release %d: z of edge %d-%d sum to %v in coordinate %d, want %v", at[2], i, j, got, k, want)
					}
				}
			}
			for k := range d {
				for _, m := range net.machines {
					if apart := math.Abs(float64(m.x[k] - net.machines[0].x[k])); apart > 1e-5 {
						t.Errorf("members end %v apart in coordinate %d", apart, k)
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
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
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
