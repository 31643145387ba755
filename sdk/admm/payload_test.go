package admm

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// onAGrid makes a configuration private, with releases on a grid of step sigma/16.
func onAGrid(i int, c *Config) {
	private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
	c.GridStep = 0.2 / 16
	c.X0 = []float32{0.3, -1, 0, 1e-3, 0.0125}
}

// TestBothEndsHoldTheMessages checks that a release stands for the paper's messages: after each round with data, both
// ends of an edge hold the same z_ij and z_ji, to the bit, and they are what eqs. (9) and (10) give for the messages.
func TestBothEndsHoldTheMessages(t *testing.T) {
	for name, change := range map[string]func(i int, c *Config){
		"non-private": func(int, *Config) {},
		"private":     private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}),
		"on a grid":   onAGrid,
	} {
		net := newNetwork(t, configs(4, kite, change))
		sent := map[[2]int][]float32{} // by sender and receiver: z of the sender after the messages sent so far
		d := len(net.machines[0].x)
		for i, m := range net.machines {
			for e := range m.edges {
				sent[[2]int{i, m.edges[e].peer}] = slices.Clone(m.zOf(e))
			}
		}
		for round := 1; round <= net.machines[0].cfg.Rounds; round++ {
			must(t, net.round())
			messages := map[[2]int][]float32{}
			for i, m := range net.machines {
				for e := range m.edges {
					to := [2]int{i, m.edges[e].peer}
					if !slices.Equal(m.zOf(e), sent[to]) {
						t.Fatalf("%s: z of client %d for %d before release %d is %v, want %v", name, i, to[1], round, m.zOf(e), sent[to])
					}
					if other := net.machines[to[1]]; !slices.Equal(part(other.peerZ, other.edge(i).index, d), sent[to]) {
						t.Fatalf("%s: client %d holds another z of client %d before release %d", name, to[1], i, round)
					}
					messages[to] = slices.Clone(sent[to])
					vec.Axpy(messages[to], -float32(2*m.cfg.Rho), m.x) // eq. (9)
				}
			}
			for to, z := range sent {
				vec.Axpy(z, -1, messages[[2]int{to[1], to[0]}]) // eq. (10)
				vec.Scale(z, 0.5)
			}
		}
		for _, msg := range net.sent {
			grid := name == "on a grid" && msg.Round <= 6 && carries(msg)
			if vector := !grid && carries(msg); (len(msg.Grid) > 0) != grid || (len(msg.Vector) > 0) != vector {
				t.Fatalf("%s: %+v", name, msg)
			}
		}
	}
}

// TestConsensusError checks that a client knows in every round how far its neighbors' releases are from its own.
func TestConsensusError(t *testing.T) {
	for name, change := range map[string]func(int, *Config){
		"on a grid": onAGrid,
		"vectors":   func(int, *Config) {},
	} {
		net := newNetwork(t, configs(4, kite, change))
		models := [][][]float32{make([][]float32, 4)} // by release
		for round := 1; !net.allFinished(); round++ {
			must(t, net.round())
			models = append(models, net.models())
			for i, m := range net.machines {
				st := m.Status()
				if st.Compared != min(round-1, m.last()) {
					t.Fatalf("%s: client %d, round %d: compared up to %d", name, i, round, st.Compared)
				}
				var sum float64
				for _, e := range m.edges {
					for c, x := range models[st.Compared][i] {
						off := float64(models[st.Compared][e.peer][c]) - float64(x)
						sum += float64(off * off)
					}
				}
				if want := sum / float64(len(m.edges)); st.ConsensusError != want || (want == 0) != (round == 1) {
					t.Fatalf("%s: client %d, round %d: %v apart, want %v", name, i, st.Compared, st.ConsensusError, want)
				}
			}
		}
	}
}
