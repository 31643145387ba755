package admm

import (
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/topology"
)

func pathOf(n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{i - 1, i})
	}
	return edges
}

// overlay returns machines that are connected in a path but share noise along the edges of a random regular graph.
func overlay(t *testing.T, n, k int) *network {
	t.Helper()
	g, err := topology.Parse("regular:"+string(rune('0'+k)), n, 3)
	if err != nil {
		t.Fatal(err)
	}
	return newNetwork(t, configs(n, pathOf(n), func(i int, c *Config) {
		asked{}.sharing(gridded)(i, c)
		c.Probe, c.Partners = false, g.Neighbors(i)
	}))
}

// TestPartnersCancel checks that noise between partners cancels exactly. In every round, for each edge of the graph of
// partners, both ends must draw the same vector; one end adds it and the other end subtracts it, whether or not the
// edges between neighbors are in use.
func TestPartnersCancel(t *testing.T) {
	net := overlay(t, 10, 4)
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
