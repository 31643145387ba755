package admm

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// lossy is a configuration whose rounds close after two ticks.
func lossy(_ int, c *Config) { c.Lossy = 2 }

// stalled returns the machine of client 2, all alone after its first release.
func stalled(t testing.TB) (*network, *Machine) {
	t.Helper()
	net := newNetwork(t, configs(4, kite, lossy))
	if net.must(t, 2); net.machines[2].round != 1 {
		t.Fatal("no release")
	}
	return net, net.machines[2]
}

// closeRound lets a machine's round close by ticks alone, and takes it to its next release.
func (net *network) closeRound(t testing.TB, i int) []Message {
	t.Helper()
	net.must(t, i) // what has come in may be enough; if not
	for range net.machines[i].cfg.Lossy {
		net.machines[i].Tick()
	}
	return net.must(t, i)
}

// A client that is silent from the start is waited for, two ticks a round and no more, and the penalty of its edge
// keeps the z of the beginning: against the float64 reference, which hears nothing on that edge either. Who has no such
// neighbor waits for nobody. As a probe it is waited for before the first release, and not again.
func TestLossyKeepsZOfASilentEdge(t *testing.T) {
	for _, probe := range []bool{false, true} {
		cfgs := configs(4, kite, func(i int, c *Config) { c.Lossy, c.Probe = 2, probe })
		net := newNetwork(t, cfgs)
		var refs []*reference
		for _, c := range cfgs[:3] {
			refs = append(refs, newReference(t, c))
		}
		round := 0
		net.loss = func(client int, x []float32, sample int) float64 {
			loss := lossFunc(client, x, sample)
			refs[client].query(round, x, sample, loss)
			return loss
		}
		deliver := func(sent []Message) {
			t.Helper()
			for _, msg := range sent {
				if msg.To < 3 {
					if err := net.machines[msg.To].Receive(msg); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		var sent []Message
		if probe {
			for i := range refs {
				sent = append(sent, net.must(t, i)...)
			}
			deliver(sent)
			sent = sent[:0]
			for i := range refs {
				sent = append(sent, net.must(t, i)...)
			}
			deliver(sent)
		}
		z0 := slices.Clone(net.machines[2].zOf(2))
		for ; round < 9; round++ {
			sent = sent[:0]
			for i := range refs {
				m, ticks := net.machines[i], 0
				for sent = append(sent, net.must(t, i)...); m.round == round; ticks++ {
					if st := m.Status(); !slices.Equal(st.Waiting, []int{3}) {
						t.Fatalf("probe %v, round %d: client %d waits for %v, want 3", probe, round, i, st.Waiting)
					}
					m.Tick()
					sent = append(sent, net.must(t, i)...)
				}
				if want := 2 * b2i(i == 2 && (probe && round == 0 || round == 1)); ticks != want {
					t.Errorf("probe %v, round %d: client %d waited for %d ticks, want %d", probe, round, i, ticks, want)
				}
			}
			messages := make([]map[int][]float64, len(refs))
			for i, r := range refs {
				messages[i] = r.release(round, make([]float64, 5))
			}
			for i, r := range refs {
				for _, j := range r.cfg.Neighbors {
					if j < 3 {
						r.receive(j, messages[j][i])
					}
				}
				r.begin()
				for j, want := range r.x {
					if got := float64(net.machines[i].Model()[j]); math.Abs(got-want) > 2e-5*(1+math.Abs(want)) {
						t.Fatalf("probe %v, round %d, client %d: x[%d] = %v, want %v", probe, round, i, j, got, want)
					}
				}
			}
			deliver(sent)
		}
		if z := net.machines[2].zOf(2); !slices.Equal(z, z0) {
			t.Errorf("probe %v: z of the silent edge is %v, want %v", probe, z, z0)
		}
	}
}

// A message of a round that has been closed is dropped: no answer, no error, and nothing changes.
func TestLossyDropsLateMessages(t *testing.T) {
	net, m := stalled(t)
	net.closeRound(t, 2)
	if m.round != 2 {
		t.Fatalf("in round %d, want 2", m.round)
	}
	late := Message{Kind: EdgeMessage, From: 3, To: 2, Round: 1, Vector: []float32{1, 2, 3, 4, 5}}
	if err := m.Receive(late); err != nil {
		t.Fatal(err)
	}
	if e := m.edges[2]; e.heard != 0 || slices.Contains(e.have[:], 1) {
		t.Errorf("the late message is held: rounds %v, heard %d", e.have, e.heard)
	}
	if r, err := m.Ready(); err != nil || len(r.Send) != 0 {
		t.Errorf("a late message is answered with %+v, %v", r.Send, err)
	}
}

// Of a neighbor that is far ahead the newest message is kept, beside that of this round, and it counts for its own
// round only. What contradicts one of them is noticed.
func TestLossyNeighborAhead(t *testing.T) {
	net, m := stalled(t)
	e := &m.edges[2]
	vector := func(round int) []float32 { return []float32{float32(round), 1, 0, -1, 0.5} }
	for _, c := range []struct {
		round int
		kept  []int
	}{{5, []int{5}}, {7, []int{7}}, {6, []int{7}}, {1, []int{1, 7}}, {4, []int{1, 7}}, {7, []int{1, 7}},
		{1, []int{1, 7}}} {
		if err := m.Receive(Message{Kind: EdgeMessage, From: 3, To: 2, Round: c.round, Vector: vector(c.round)}); err != nil {
			t.Fatalf("round %d: %v", c.round, err)
		}
		var kept []int
		for _, round := range []int{1, 4, 5, 6, 7} {
			if e.at(round) >= 0 {
				kept = append(kept, round)
			}
		}
		if !slices.Equal(kept, c.kept) || e.heard < c.kept[len(c.kept)-1] {
			t.Fatalf("after round %d: rounds %v are kept, heard %d, want %v", c.round, kept, e.heard, c.kept)
		}
	}
	for _, round := range []int{1, 7} {
		if err := m.Receive(Message{Kind: EdgeMessage, From: 3, To: 2, Round: round,
			Vector: vector(99)}); !errors.Is(err, errConflict) {
			t.Errorf("another message of round %d: %v, want a conflict", round, err)
		}
	}
	if err := m.Receive(Message{Kind: EdgeMessage, From: 3, To: 2, Round: 10, Vector: vector(10)}); err == nil {
		t.Error("a message of a round after the last was accepted")
	}
	for m.round < 9 {
		z, round := slices.Clone(m.zOf(2)), m.round
		net.closeRound(t, 2)
		if round == 1 || round == 7 {
			halve(z, vector(round))
		}
		if !slices.Equal(m.zOf(2), z) {
			t.Fatalf("z of round %d is %v, want %v", round, m.zOf(2), z)
		}
	}
}

// One client is dead from the start, and another dies half way: the others make all their releases, at a price of two
// ticks a round, whether they ask for probing or not.
func TestLossyGoesOnWithoutTheDead(t *testing.T) {
	for _, probe := range []bool{false, true} {
		net := newNetwork(t, configs(4, kite, func(i int, c *Config) { c.Lossy, c.Probe = 2, probe }))
		alive := func(i int) bool { return i < 2 || i == 2 && net.machines[2].round < 5 }
		ticks := 0
		for done := false; !done; ticks++ {
			if ticks > 8 { // once the deadline for the dead, and no more
				t.Fatalf("probe %v: no end after %d ticks: %+v", probe, ticks, net.machines[0].Status())
			}
			for moved := true; moved; {
				moved = false
				for i, m := range net.machines {
					if !alive(i) {
						continue
					}
					before := m.round
					for _, msg := range net.must(t, i) {
						if alive(msg.To) {
							if err := net.machines[msg.To].Receive(msg); err != nil {
								t.Fatal(err)
							}
							moved = true
						}
					}
					moved = moved || m.round > before
				}
			}
			done = net.machines[0].Status().Complete && net.machines[1].Status().Complete
			for i, m := range net.machines {
				if alive(i) {
					m.Tick()
				}
			}
		}
		if ticks < 3 {
			t.Errorf("probe %v: %d ticks, nobody was waited for", probe, ticks)
		}
	}
}

// Where nothing is lost and nobody waits long enough, a lossy run is the exact one, bit for bit.
func TestLossyWithoutLossesIsExact(t *testing.T) {
	want := quiet(t, nil)
	net := newNetwork(t, configs(4, kite, func(i int, c *Config) { c.Lossy, c.Probe = 2, true }))
	for range 9 + 4 {
		if err := net.round(); err != nil {
			t.Fatal(err)
		}
		for _, m := range net.machines {
			m.Tick() // once a round
		}
	}
	if !net.allFinished() || !sameBits(net.models(), want) {
		t.Errorf("finished %v, models %v, want %v", net.finished, net.models(), want)
	}
}

// Lossy runs on a bad network with machines that die, before and after a release is kept: all reach the end, and what
// leaves a client of a release is always the same, although a release that is made again goes by other messages.
func TestLossyRestart(t *testing.T) {
	var deaths, torn, closed int
	for seed := range uint64(100) {
		chance := rng.New(seed, rng.Address{Purpose: rng.Fault})
		cfgs := configs(4, kite, func(i int, c *Config) { c.Lossy, c.Probe = 2, true })
		net := newNetwork(t, cfgs)
		kept := make([][]State, 4)
		left := map[[3]int][]float32{} // by client, round and neighbor
		born := func(i int) {
			var err error
			switch len(kept[i]) {
			case 0:
				net.machines[i], err = New(cfgs[i])
			case 1:
				net.machines[i], err = Restore(cfgs[i], kept[i][0], nil)
			default:
				net.machines[i], err = Restore(cfgs[i], kept[i][0], &kept[i][1])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		complete := func() bool {
			return !slices.ContainsFunc(net.machines, func(m *Machine) bool { return !m.Status().Complete })
		}
		for steps := 0; !complete(); steps++ {
			if steps > 20000 {
				t.Fatalf("seed %d: no end: %+v", seed, net.machines[0].Status())
			}
			i := chance.IntN(4)
			m := net.machines[i]
			before := m.round
			if chance.IntN(4) == 0 {
				if st := m.Status(); m.waited == 1 && len(st.Waiting) > 0 && st.Round > 0 {
					closed++
				}
				m.Tick()
			}
			sent := net.must(t, i)
			if m.round > before {
				crash := chance.IntN(8)
				if crash == 0 { // dead before the state is kept, which takes the place of the last but one
					torn++
					kept[i] = kept[i][:min(1, len(kept[i]))]
					born(i)
					continue
				}
				kept[i] = slices.Insert(kept[i], 0, m.State().copied())
				if crash == 1 { // and before it is sent
					deaths++
					born(i)
					continue
				}
			}
			for _, msg := range sent {
				if carries(msg) {
					key := [3]int{i, msg.Round, msg.To}
					if first, ok := left[key]; ok && !slices.Equal(first, msg.Vector) {
						t.Fatalf("seed %d: client %d releases round %d twice", seed, i, msg.Round)
					}
					left[key] = msg.Vector
				}
				if chance.IntN(4) > 0 {
					if err := net.machines[msg.To].Receive(msg); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			}
			if chance.IntN(20) == 0 { // dead, at any other time
				deaths++
				born(i)
			}
		}
	}
	if deaths < 1000 || torn < 100 || closed < 100 {
		t.Errorf("%d deaths, %d torn states, %d rounds closed: nothing was tested", deaths, torn, closed)
	}
	t.Logf("%d deaths, %d torn states, %d rounds closed without a neighbor", deaths, torn, closed)
}
