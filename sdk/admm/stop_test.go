package admm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

func stopConfigs(grid bool) []Config {
	return configs(4, kite, func(i int, c *Config) {
		private(dpmech.Gaussian{Clip: 0.2, Sigma: 0.1})(i, c)
		if c.Probe = true; grid {
			c.GridStep = 0.1 / 16
		}
	})
}

// TestStop checks that machines that learn of an early end during the last round with data, or in an earlier round
// (possibly a mixing round), end with the same bits as machines that knew the end from the start.
func TestStop(t *testing.T) {
	for _, grid := range []bool{false, true} {
		for _, mixing := range []int{0, 2} {
			for last := 1; last <= 6; last++ {
				for told := range last*(1+mixing) + 1 {
					name := fmt.Sprintf("grid %v, mixing %d, round %d, told after release %d", grid, mixing, last, told)
					cfgs := stopConfigs(grid)
					for i := range cfgs {
						cfgs[i].Mixing = mixing
					}
					net := newNetwork(t, cfgs)
					tell := func(i int) {
						if got := net.machines[i].Stop(last); got != last {
							t.Errorf("%s: the end is %d", name, got)
						}
					}
					net.released = func(client, round int) {
						if round == told {
							tell(client)
						}
					}
					if told == 0 {
						for i := range cfgs {
							tell(i)
						}
					}
					if err := net.run(); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					for i := range cfgs {
						if cfgs[i].End = last; last == 6 {
							cfgs[i].End = 0
						}
						cfgs[i].Noise = noiseOf(i)
					}
					want := newNetwork(t, cfgs)
					if err := want.run(); err != nil {
						t.Fatal(err)
					}
					if !sameBits(net.models(), want.models()) {
						t.Errorf("%s: other models", name)
					}
					if st := net.machines[0].Status(); st.End != cfgs[0].End || st.Last != last*(1+mixing)+3 || st.Round != st.Last {
						t.Errorf("%s: %+v", name, st)
					}
				}
			}
		}
	}
}

// TestStopIsBounded checks that a stop never postpones the end, abandons a round in progress, or exceeds the plan.
func TestStopIsBounded(t *testing.T) {
	m, err := New(configs(1, nil, nil)[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ last, want int }{{9, 6}, {6, 6}, {5, 5}, {6, 5}, {4, 4}, {0, 1}, {-3, 1}, {3, 1}} {
		if got := m.Stop(c.last); got != c.want {
			t.Errorf("Stop(%d) gives %d, want %d", c.last, got, c.want)
		}
	}
	net := newNetwork(t, configs(1, nil, nil))
	for range 3 {
		if _, err := net.drive(0); err != nil {
			t.Fatal(err)
		}
	}
	r, err := net.machines[0].Ready() // the fourth round's queries
	if err != nil || len(r.Queries) == 0 {
		t.Fatal(r, err)
	}
	if got := net.machines[0].Stop(1); got != 4 {
		t.Errorf("in the fourth round the end is %d", got)
	}
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
	if st := net.machines[0].Status(); st.Round != 7 || st.End != 4 {
		t.Errorf("%+v", st)
	}
}

// TestStopIsRestored checks that a machine restored after any release, before or after it learned of the stop, ends
// with the same bits.
func TestStopIsRestored(t *testing.T) {
	for _, grid := range []bool{false, true} {
		for at := 1; at <= 6; at++ {
			cfgs := stopConfigs(grid)
			net := newNetwork(t, cfgs)
			var states [2]State
			net.released = func(client, round int) {
				m := net.machines[client]
				if client != 0 {
					if round == 2 {
						m.Stop(3)
					}
					return
				}
				if round == 2 {
					m.Stop(3)
				}
				states[0], states[1] = states[1], copied(m.State())
				if round != at {
					return
				}
				var before *State
				if round > 1 {
					before = &states[0]
				}
				again, err := Restore(m.cfg, states[1], before)
				if err != nil {
					t.Fatal(err)
				}
				if round >= 2 && states[1].End != 3 {
					t.Errorf("release %d: the state ends with %d", round, states[1].End)
				}
				again.Stop(3) // the driver has also stored the stop, and passes it on again
				net.machines[0] = again
			}
			for range 30 {
				if err := net.round(); err != nil {
					t.Fatal(err)
				}
				for _, m := range net.machines {
					m.Tick()
				}
			}
			if !net.allFinished() {
				t.Fatalf("grid %v, restored after release %d: not finished", grid, at)
			}
			for i := range cfgs {
				cfgs[i].End, cfgs[i].Noise = 3, noiseOf(i)
			}
			want := newNetwork(t, cfgs)
			if err := want.run(); err != nil {
				t.Fatal(err)
			}
			if !sameBits(net.models(), want.models()) {
				t.Errorf("grid %v, restored after release %d: other models", grid, at)
			}
		}
	}
}

func copied(s State) State {
	s.X, s.Grid, s.Delta = slices.Clone(s.X), slices.Clone(s.Grid), slices.Clone(s.Delta)
	s.Mean, s.Last, s.Edges = slices.Clone(s.Mean), slices.Clone(s.Last), slices.Clone(s.Edges)
	for i := range s.Edges {
		e := &s.Edges[i]
		e.Z, e.PeerZ, e.Base = slices.Clone(e.Z), slices.Clone(e.PeerZ), slices.Clone(e.Base)
	}
	return s
}

// TestLastWordsOfStoppedRuns covers a client that learned of a stop late. It must accept a Done for an earlier round in
// which the stop allows the sender to end, and refuse any other Done that comes too early.
func TestLastWordsOfStoppedRuns(t *testing.T) {
	done := func(stop, round int) error {
		m, err := New(configs(2, [][2]int{{0, 1}}, nil)[0])
		if err != nil {
			t.Fatal(err)
		}
		m.round, m.begun = 5, true
		m.edges[0].probed = true
		if stop > 0 {
			m.Stop(stop)
		}
		return m.Receive(Message{Kind: Done, From: 1, Round: round})
	}
	for _, c := range []struct {
		stop, round int
		ok          bool
	}{
		{0, 5, false}, {0, 8, false}, {2, 5, true}, {2, 4, false}, {2, 6, false}, {1, 4, true}, {1, 3, false}, {5, 5, false},
	} {
		if err := done(c.stop, c.round); (err == nil) != c.ok {
			t.Errorf("stopped after %d, done after %d: %v", c.stop, c.round, err)
		}
	}
}
