package admm

import (
	"github.com/spade-dfl/spade-edge/zoest"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// copied returns a deep copy of the state. The copy does not change when the machine of the state continues.
func (s State) copied() State {
	s.X, s.Grid, s.Delta, s.Last = slices.Clone(s.X), slices.Clone(s.Grid), slices.Clone(s.Delta), slices.Clone(s.Last)
	s.Edges = slices.Clone(s.Edges)
	for i, e := range s.Edges {
		s.Edges[i].Z, s.Edges[i].PeerZ, s.Edges[i].Base = slices.Clone(e.Z), slices.Clone(e.PeerZ), slices.Clone(e.Base)
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
	if err != nil {
		t.Fatal(err)
	}
	noise.machine = m
	return m
}

// TestRestoreAfterEveryRelease kills every client after each of its releases and restarts it from its store. After
// every second release the write of the newest state is torn, so the client restarts from the previous state alone. The
// models must be those of the undisturbed run, for every payload.
func TestRestoreAfterEveryRelease(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(i int, c *Config)
	}{
		{"non-private", func(_ int, c *Config) {}},
		{"tracking", func(_ int, c *Config) { c.Estimator.Kind = zoest.Tracking }},
		{"tracking, private", func(i int, c *Config) {
			private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
			c.Estimator.Kind, c.Estimator.Directions = zoest.Tracking, zoest.Walsh
		}},
		{"momentum", func(_ int, c *Config) { c.Estimator.Momentum = 0.8 }},
		{"tracking, momentum, mixing, private", func(i int, c *Config) {
			private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
			c.Estimator.Kind, c.Estimator.Momentum, c.Mixing = zoest.Tracking, 0.8, 1
		}},
		{"walsh", func(_ int, c *Config) { c.Estimator.Directions = zoest.Walsh }},
		{"private", private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})},
		{"grid, releases", onAGrid},
		{"flows, grid", func(i int, c *Config) {
			onAGrid(i, c)
			c.Mixing = 5
		}},
		{"mixing", func(i int, c *Config) { c.Mixing = 4 }},
		{"records", perRecord(dpmech.Gaussian{Clip: 0.01, Sigma: 0.02}, nil)},
		{"records, tracking, walsh", perRecord(dpmech.Gaussian{Clip: 0.01, Sigma: 0.02}, func(_ int, c *Config) {
			c.Estimator.Kind, c.Estimator.Directions = zoest.Tracking, zoest.Walsh
		})},
	} {
		cfgs := configs(4, kite, func(i int, cfg *Config) {
			c.change(i, cfg)
			cfg.Probe = true
		})
		build := func() *network {
			net := &network{loss: lossFunc, finished: make([]bool, len(cfgs))}
			for _, cfg := range cfgs {
				net.machines = append(net.machines, reborn(t, cfg))
			}
			return net
		}
		quiet := build()
		if err := quiet.run(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		net := build()
		kept := make([][]State, len(cfgs))
		deaths, torn := 0, 0
		for step := 0; !net.allFinished(); step++ {
			if step > 1000 {
				t.Fatalf("%s: no end: %+v", c.name, net.machines[0].Status())
			}
			for i := range cfgs {
				before := net.machines[i].round
				sent, err := net.drive(i)
				if err != nil {
					t.Fatal(err)
				}
				if net.machines[i].round > before { // the client dies before it sends anything
					if (step+i)%4 < 2 {
						torn++
						net.machines[i] = reborn(t, cfgs[i], kept[i][:min(len(kept[i]), 1)]...)
					} else {
						deaths++
						kept[i] = append([]State{net.machines[i].State().copied()}, kept[i]...)
						net.machines[i] = reborn(t, cfgs[i], kept[i][:min(len(kept[i]), 2)]...)
					}
					net.finished[i] = false
					continue
				}
				for _, msg := range sent {
					if err := net.machines[msg.To].Receive(msg); err != nil {
						t.Fatalf("%s: %v", c.name, err)
					}
				}
				if step%3 == 2 {
					net.machines[i].Tick()
				}
			}
		}
		if want := len(cfgs) * quiet.machines[0].last(); deaths != want || torn == 0 {
			t.Errorf("%s: %d deaths and %d torn states, want %d and some", c.name, deaths, torn, want)
		}
		if !sameBits(net.models(), quiet.models()) {
			t.Errorf("%s: models differ from the quiet run", c.name)
		}
		for i, m := range net.machines {
			if got, want := m.Status().Queries, quiet.machines[i].Status().Queries; got != want {
				t.Errorf("%s: client %d counts %d queries, want %d", c.name, i, got, want)
			}
		}
	}
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
		if err := net.round(); err != nil {
			t.Fatal(err)
		}
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
		{"short model", func(s *State, _ *Config) { s.X = s.X[:4] }, "the length of the model is 4, want 5 to 5"},
		{"no grid", func(s *State, _ *Config) { s.Grid = nil }, "the length of the model on the grid is 0, want 5 to 5"},
		{"no change", func(s *State, _ *Config) { s.Delta = nil }, "the length of the change on the grid is 0, want 5 to 5"},
		{"momentum", func(_ *State, c *Config) { c.Estimator.Momentum = 0.5 },
			"the length of the estimator's memory is 0, want 5 to 5"},
		{"edges", func(s *State, _ *Config) { s.Edges = s.Edges[1:] }, "the length of the list of neighbors is 2, want 3 to 3"},
		{"other edges", func(s *State, _ *Config) { s.Edges = slices.Clone(s.Edges); s.Edges[0].Peer = 7 },
			"the number of neighbor 0 is 7, want 0 to 0"},
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
