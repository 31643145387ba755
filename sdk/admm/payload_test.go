package admm

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// onAGrid returns a function that makes a configuration private, with releases on a grid of step sigma/16.
func onAGrid(releases bool) func(i int, c *Config) {
	return func(i int, c *Config) {
		private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
		c.GridStep, c.Releases = 0.2/16, releases
		c.X0 = []float32{0.3, -1, 0, 1e-3, 0.0125}
	}
}

// TestReleasesGiveTheBitsOfMessages checks that the models and the running means have the same bits whether members
// send the paper's messages or their releases. With releases, both ends of an edge store z_ij and z_ji.
func TestReleasesGiveTheBitsOfMessages(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(releases bool) func(i int, c *Config)
	}{
		{"non-private", func(releases bool) func(int, *Config) {
			return func(_ int, c *Config) { c.Releases = releases }
		}},
		{"private", func(releases bool) func(int, *Config) {
			return func(i int, c *Config) {
				private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
				c.Releases = releases
			}
		}},
		{"on a grid", onAGrid},
	} {
		run := func(releases bool) *network {
			net := newNetwork(t, configs(4, kite, func(i int, cfg *Config) {
				c.change(releases)(i, cfg)
				cfg.Average = true
			}))
			if err := net.run(); err != nil {
				t.Fatal(err)
			}
			return net
		}
		messages, releases := run(false), run(true)
		if !sameBits(messages.models(), releases.models()) {
			t.Errorf("%s: models differ between the two payloads", c.name)
		}
		for i, m := range messages.machines {
			if got := releases.machines[i].Averaged(); !slices.Equal(got, m.Averaged()) || slices.Equal(got, m.Model()) {
				t.Errorf("%s: running mean of client %d is %v and %v", c.name, i, got, m.Averaged())
			}
			for j, e := range m.edges {
				if !slices.Equal(m.zOf(j), releases.machines[i].zOf(j)) {
					t.Errorf("%s: z of edge %d-%d differs", c.name, i, e.peer)
				}
			}
		}
		for _, msg := range releases.sent {
			grid := c.name == "on a grid" && msg.Round <= 6 && carries(msg)
			if vector := !grid && carries(msg); (len(msg.Grid) > 0) != grid || (len(msg.Vector) > 0) != vector {
				t.Fatalf("%s: %+v", c.name, msg)
			}
		}
	}
}

// TestReleasesLieOnTheGrid checks that every private release is a grid point, and that some cool-down releases are not.
func TestReleasesLieOnTheGrid(t *testing.T) {
	net := newNetwork(t, configs(4, kite, onAGrid(true)))
	off := 0
	net.released = func(client, round int) {
		for _, x := range net.machines[client].Model() {
			n := float64(x) / (0.2 / 16)
			whole := float32(float64(int64(n+0.5*sign(n)))*(0.2/16)) == x
			if !whole && round <= 6 {
				t.Fatalf("client %d, round %d: %v is not on the grid", client, round, x)
			}
			if !whole {
				off++
			}
		}
	}
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
	if off == 0 {
		t.Error("cool-down releases lie on the grid too: it would freeze disagreement")
	}
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// TestConsensusError checks that if neighbors send their releases, a client knows in every round how far these releases
// are from its own. With the paper's messages it does not know this distance.
func TestConsensusError(t *testing.T) {
	for name, change := range map[string]func(int, *Config){
		"on a grid": onAGrid(true),
		"messages":  onAGrid(false),
		"vectors":   func(_ int, c *Config) { c.Releases = true },
	} {
		net := newNetwork(t, configs(4, kite, change))
		models := map[int]map[int][]float32{}
		compared := 0
		check := func() {
			for i, m := range net.machines {
				st := m.Status()
				if st.Compared == 0 {
					continue
				}
				if name == "messages" {
					t.Fatalf("client %d has compared round %d", i, st.Compared)
				}
				compared++
				var sum float64
				for _, e := range m.edges {
					for c, x := range models[st.Compared][i] {
						off := float64(models[st.Compared][e.peer][c]) - float64(x)
						sum += float64(off * off)
					}
				}
				if want := sum / float64(len(m.edges)); st.ConsensusError != want || want == 0 {
					t.Fatalf("%s: client %d, round %d: %v apart, want %v", name, i, st.Compared, st.ConsensusError, want)
				}
			}
		}
		net.released = func(client, round int) {
			if models[round] == nil {
				models[round] = map[int][]float32{}
			}
			models[round][client] = net.machines[client].Model()
			check()
		}
		if err := net.run(); err != nil {
			t.Fatal(err)
		}
		check()
		for i, m := range net.machines {
			if st := m.Status(); name != "messages" && st.Compared != st.Round {
				t.Errorf("%s: client %d has compared up to round %d of %d", name, i, st.Compared, st.Round)
			}
		}
		if name != "messages" && compared < 20 {
			t.Errorf("%s: %d comparisons", name, compared)
		}
	}
}
