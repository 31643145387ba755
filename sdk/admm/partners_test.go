package admm

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

func pathOf(n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{i - 1, i})
	}
	return edges
}

// partners makes a client share noise along the edges of a graph. If missing[{i, j}] is true, client i lacks the key of
// j.
func partners(g *graph.Graph, i int, c *Config, missing map[[2]int]bool) {
	c.Partners = g.Neighbors(i)
	whole := c.PairKey
	c.PairKey = func(peer, release int) (key [32]byte, ok bool) {
		if missing[[2]int{i, peer}] {
			return key, false
		}
		return whole(peer, release)
	}
}

// overlay returns machines that are connected in a path but share noise along the edges of a random regular graph.
func overlay(t *testing.T, n, k, absent int, missing map[[2]int]bool) *network {
	t.Helper()
	g, err := graph.Parse("regular:"+string(rune('0'+k)), n, 3)
	if err != nil {
		t.Fatal(err)
	}
	return newNetwork(t, configs(n, pathOf(n), func(i int, c *Config) {
		asked{}.sharing(gridded)(i, c)
		c.Probe, c.Privacy.Shared.Absent = false, absent
		partners(g, i, c, missing)
	}))
}

// TestPartnersCancel checks that noise between partners cancels exactly. In every round, for each edge of the graph of
// partners, both ends must draw the same vector; one end adds it and the other end subtracts it, whether or not the
// edges between neighbors are in use.
func TestPartnersCancel(t *testing.T) {
	net := overlay(t, 10, 4, 0, nil)
	for round := range 3 {
		sign := map[[32]byte][]bool{}
		for i, m := range net.machines {
			if round > 0 {
				m.Quarantine(i - 1)
			}
			m.round = round
			g, pairs := m.noise()
			if g != shared || len(pairs) != 4 {
				t.Fatalf("client %d, round %d: %v and %d pairs", i, round, g, len(pairs))
			}
			for _, p := range pairs {
				sign[p.Key] = append(sign[p.Key], p.Subtract)
			}
		}
		for key, ends := range sign {
			if len(ends) != 2 || ends[0] == ends[1] {
				t.Errorf("round %d: key %v is used with the signs %v, want two that differ", round, key[:3], ends)
			}
		}
		if len(sign) != 20 {
			t.Errorf("round %d: %d vectors, want one for each of 20 edges", round, len(sign))
		}
	}
	if m := net.machines[5]; m.live() != 1 {
		t.Errorf("client 5 has %d edges in use, want 1: the test drops none", m.live())
	}
}

// TestMissingKeysOfPartners checks that a client shares noise with the partners whose keys it has, unless more than
// Absent keys are missing.
func TestMissingKeysOfPartners(t *testing.T) {
	for absent := range 4 {
		missing := map[[2]int]bool{}
		net := overlay(t, 10, 4, absent, missing)
		m := net.machines[2]
		for n, peer := range m.cfg.Partners {
			missing[[2]int{2, peer}] = true
			g, pairs := m.noise()
			want, of := m.cfg.Privacy, 3-n
			if n+1 > absent {
				want, of = want.Alone(), 0
			}
			if g != want || len(pairs) != of {
				t.Errorf("%d keys missing, %d members absent: %v and %d pairs, want %v and %d", n+1, absent, g, len(pairs), want, of)
			}
			for _, p := range m.pairs[len(pairs):] {
				if p != (dpmech.Pair{}) {
					t.Errorf("%d keys missing: a key that is not used is in memory", n+1)
				}
			}
		}
	}
}

// TestFirstReleaseWaitsForKeys checks that the first private release after a start is not reserved before its keys are
// available, and that the run then equals a run that did not have to wait.
func TestFirstReleaseWaitsForKeys(t *testing.T) {
	paired := false
	var asked []int
	make := func(wait bool) *network {
		return newNetwork(t, configs(4, kite, func(i int, c *Config) {
			gridded(i, c)
			if c.Probe = false; wait && i == 0 {
				c.Paired = func(release int) bool {
					asked = append(asked, release)
					return paired
				}
			}
		}))
	}
	net := make(true)
	net.reserved = func(i int) {
		if i == 0 && !paired {
			t.Error("a release is reserved before its keys are there")
		}
	}
	for range 3 {
		if err := net.round(); err != nil {
			t.Fatal(err)
		}
	}
	if at := net.machines[0].round; at != 0 || len(asked) == 0 {
		t.Fatalf("client 0 is at release %d, and was asked for %v", at, asked)
	}
	paired = true
	quiet := make(false)
	for _, n := range []*network{net, quiet} {
		if err := n.run(); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range net.machines {
		if !slices.Equal(m.x, quiet.machines[i].x) {
			t.Errorf("client %d has another model than without the wait", i)
		}
	}
	for _, release := range asked {
		if release != 1 {
			t.Errorf("release %d waits for keys, want the first alone", release)
		}
	}
}
