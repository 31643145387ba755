package admm

import (
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// copied returns a deep copy of the state. The copy does not change when the machine of the state continues.
func (s State) copied() State {
	s.X, s.Grid, s.Delta, s.Last = slices.Clone(s.X), slices.Clone(s.Grid), slices.Clone(s.Delta), slices.Clone(s.Last)
	s.Edges = slices.Clone(s.Edges)
	for i, e := range s.Edges {
		s.Edges[i].Z, s.Edges[i].PeerZ = slices.Clone(e.Z), slices.Clone(e.PeerZ)
		s.Edges[i].Base, s.Edges[i].Flow = slices.Clone(e.Base), slices.Clone(e.Flow)
	}
	return s
}

// byRound is a source of noise that depends only on client and round, so that a release that is made again has the same
// bits.
type byRound struct {
	client  int
	machine *Machine
}

func (b *byRound) Read(p []byte) (int, error) {
	s := rng.New(5, rng.Address{Purpose: rng.Noise, Client: uint32(b.client), Round: uint32(b.machine.round)})
	return s.Read(p)
}

// reborn returns a machine restored from stored states, or a new machine if there are none. Its noise depends only on
// client and round.
func reborn(t testing.TB, cfg Config, kept ...State) *Machine {
	t.Helper()
	noise := &byRound{client: int(cfg.Estimator.Client)}
	if !cfg.NonPrivate {
		cfg.Noise = noise
	}
	m, err := New(cfg)
	if len(kept) > 0 {
		var before *State
		if len(kept) > 1 {
			before = &kept[1]
		}
		m, err = Restore(cfg, kept[0], before)
	}
	must(t, err)
	noise.machine = m
	return m
}

func TestRestoreRefuses(t *testing.T) {
	net := newNetwork(t, configs(4, kite, onAGrid))
	var states []State
	net.released = func(client, round int) {
		if client == 2 && len(states) < 3 {
			states = append(states, net.machines[2].State().copied())
		}
	}
	for range 3 {
		must(t, net.round())
	}
	cfg := configs(4, kite, onAGrid)[2]
	if _, err := Restore(cfg, states[2], &states[1]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(s *State, cfg *Config)
		want   string
	}{
		{"round 0", func(s *State, _ *Config) { s.Round = 0 }, "the release is 0, want 1 to 9"},
		{"round 10", func(s *State, _ *Config) { s.Round = 10 }, "the release is 10, want 1 to 9"},
		{"short model", func(s *State, _ *Config) { s.X = s.X[:4] }, "the length of the model is 4, want 5"},
		{"no grid", func(s *State, _ *Config) { s.Grid = nil }, "the length of the model on the grid is 0, want 5"},
		{"no change", func(s *State, _ *Config) { s.Delta = nil }, "the length of the change on the grid is 0, want 5"},
		{"momentum", func(_ *State, c *Config) { c.Estimator.Momentum = 0.5 },
			"the length of the estimator's memory is 0, want 5"},
		{"edges", func(s *State, _ *Config) { s.Edges = s.Edges[1:] }, "the length of the list of neighbors is 2, want 3"},
		{"other edges", func(s *State, _ *Config) { s.Edges = slices.Clone(s.Edges); s.Edges[0].Peer = 7 },
			"the client number of neighbor 0 is 7, want 0"},
	} {
		s, cfg := states[2], cfg
		c.change(&s, &cfg)
		if _, err := Restore(cfg, s, nil); err == nil || !strings.Contains(err.Error(), "admm: stored state: "+c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Restore(cfg, states[2], &states[0]); err == nil || !strings.Contains(err.Error(), "releases 1 and 3") {
		t.Errorf("states two releases apart: %v", err)
	}
}
