package admm

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// shared is the noise of a fleet with pairwise noise. A release without pairwise noise has 4 times as much local noise.
var shared = dpmech.Gaussian{Clip: 0.3, Sigma: 0.2,
	Shared: dpmech.Shared{Sigma: 0.8, Effective: 0.5, Colluders: 1}}

// asked records which keys each client has requested.
type asked map[[3]int]int // client, neighbor and release

// sharing returns a function that makes a fleet private, with pairwise noise whose keys anyone can compute.
func (a asked) sharing(change func(i int, c *Config)) func(i int, c *Config) {
	return func(i int, c *Config) {
		change(i, c)
		c.Privacy = shared
		c.PairKey = func(peer, release int) [32]byte {
			a[[3]int{i, peer, release}]++
			return [32]byte{byte(min(i, peer)), byte(max(i, peer)), byte(release)}
		}
	}
}

// TestSharedNoiseLeavesTheSum checks that pairwise noise cancels, between neighbors and between partners: in every round
// the sum of all releases equals the sum in a network without pairwise noise, up to rounding to the grid. Per member,
// rounding may add half a step for the center and half a step for the release. The nodes do not learn in this test,
// because otherwise the two networks would make their next queries at different points. For each noisy release, each end
// of a pair must request exactly one key.
func TestSharedNoiseLeavesTheSum(t *testing.T) {
	for name, c := range map[string]struct {
		mixing int
		pairs  [][2]int
	}{"neighbors": {0, kite}, "mixing": {2, kite}, "partners": {1, [][2]int{{0, 1}, {0, 3}, {1, 3}, {2, 3}}}} {
		run := func(change func(i int, c *Config)) (sums [][]float64, apart float64) {
			net := newNetwork(t, configs(4, kite, func(i int, cfg *Config) {
				change(i, cfg)
				cfg.Mixing = c.mixing
				for _, e := range c.pairs {
					if at := slices.Index(e[:], i); at >= 0 && name == "partners" && cfg.PairKey != nil {
						cfg.Partners = append(cfg.Partners, e[1-at])
					}
				}
			}))
			net.loss = func(int, []float32, int) float64 { return 1 }
			for range net.machines[0].cfg.Learning() {
				must(t, net.round())
				sum := make([]float64, 5)
				for _, m := range net.machines {
					for c, n := range m.grid {
						sum[c] += float64(n)
						apart = max(apart, math.Abs(float64(n)-float64(net.machines[0].grid[c])))
					}
				}
				sums = append(sums, sum)
			}
			return sums, apart
		}
		plain := func(i int, c *Config) { gridded(i, c); c.Probe = false }
		keys := asked{}
		want, near := run(plain)
		got, far := run(keys.sharing(plain))
		for k := range want {
			for i := range want[k] {
				if off := math.Abs(got[k][i] - want[k][i]); off > 2*4*float64(k+1) {
					t.Errorf("%s, release %d, coordinate %d: the sum is off by %v steps", name, k+1, i, off)
				}
			}
		}
		if far < 2*near {
			t.Errorf("%s: releases are up to %v steps apart, and %v without pairwise noise", name, far, near)
		}
		all := asked{}
		for _, e := range c.pairs {
			for release := 1; release <= 9*(1+c.mixing); release += 1 + c.mixing {
				all[[3]int{e[0], e[1], release}], all[[3]int{e[1], e[0], release}] = 1, 1
			}
		}
		if !maps.Equal(keys, all) {
			t.Errorf("%s: members ask for the keys %v, want %v", name, keys, all)
		}
	}
}

// TestKeysOfSharedNoiseAreForgotten checks that a key is erased from memory after its release, with and without a grid.
func TestKeysOfSharedNoiseAreForgotten(t *testing.T) {
	for _, step := range []float64{0, 0.2 / 16} {
		keys := asked{}
		net := newNetwork(t, configs(4, kite, func(i int, c *Config) {
			keys.sharing(gridded)(i, c)
			c.Probe, c.GridStep = false, step
		}))
		net.released = func(client, round int) {
			m := net.machines[client]
			if len(m.pairs) != len(m.edges) {
				t.Errorf("client %d has used %d keys in release %d, want %d", client, len(m.pairs), round, len(m.edges))
			}
			for _, p := range m.pairs {
				if p != (dpmech.Pair{}) {
					t.Errorf("client %d has a key in memory after release %d", client, round)
				}
			}
		}
		must(t, net.round())
	}
}
