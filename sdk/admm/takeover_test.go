package admm

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// replaceable is a private fleet with releases on a grid.
func replaceable(i int, c *Config) {
	private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
	c.Probe, c.Average, c.Releases, c.GridStep, c.Rounds, c.Members = true, true, true, 0.2/16, 9, 4
}

// answerTo returns a machine's answers to a message, without its other messages.
func answerTo(t *testing.T, m *Machine, msg Message) []Message {
	t.Helper()
	if _, err := m.Ready(); err != nil {
		t.Fatal(err)
	}
	if err := m.Receive(msg); err != nil {
		t.Fatal(err)
	}
	r, err := m.Ready()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(r.Send)
}

// TestReplacedDeviceIsStopped restarts a lost device after a neighbor has learned of the replacement device. The
// neighbor must tell the lost device of a release that the lost device does not know. The lost device must then stop,
// and must not have sent anything but probes. The neighbor must store its knowledge of the replacement with its next
// release.
func TestReplacedDeviceIsStopped(t *testing.T) {
	net, kept := afterRounds(t, 4, replaceable)
	old := configs(4, kite, replaceable)[2]
	old.Incarnation = 5
	j := net.machines[3]
	probe := func(round int, epoch uint16, incarnation uint64) Message {
		return Message{From: 2, To: 3, Kind: Probe, Round: round, Epoch: epoch, Incarnation: incarnation}
	}
	if got := answerTo(t, j, probe(4, 0, 5)); len(got) == 0 || got[0].Held != 4 {
		t.Errorf("before: %+v, want an answer that release 4 is held", got)
	}
	if got := answerTo(t, j, probe(6, 1, 77)); len(got) == 0 || got[0].Held != 4 || j.Epoch(2) != 1 {
		t.Errorf("the replacement is answered with %+v", got)
	}
	for round, held := range map[int]int{0: 4, 3: 4, 4: 5, 5: 6, 6: 7, 11: 12, 12: 12} {
		got := answerTo(t, j, probe(round, 0, 5))
		if len(got) != 1 || got[0].Kind != ProbeReply || got[0].Held != held || got[0].Incarnation != 5 {
			t.Errorf("the lost device is in release %d and is answered with %+v, want that %d is held", round, got, held)
		}
	}
	if err := j.Receive(probe(6, MaxTakeovers+1, 9)); err == nil || j.Epoch(2) != 1 {
		t.Errorf("epoch %d is known after a probe of %d", j.Epoch(2), MaxTakeovers+1)
	}

	m := reborn(t, old, kept[2][:2]...)
	m.Tick()
	r, err := m.Ready()
	if err != nil || len(withoutProbes(r.Send)) > 0 {
		t.Errorf("before anybody has answered: %+v, %v", r.Send, err)
	}
	if err := m.Receive(Message{From: 3, To: 2, Kind: ProbeReply, Round: 4, Held: 5, Incarnation: 5}); err != nil {
		t.Fatal(err)
	}
	var back *RollbackError
	if _, err := m.Ready(); !errors.As(err, &back) || back.Held != 5 || back.Round != 4 {
		t.Errorf("after the answer: %v", err)
	}
	s := j.State()
	if k := slices.IndexFunc(s.Edges, func(e EdgeState) bool { return e.Peer == 2 }); s.Edges[k].Epoch != 1 {
		t.Errorf("kept: %+v", s.Edges[k])
	}
	if again := reborn(t, configs(4, kite, replaceable)[3], s.copied()); again.Epoch(2) != 1 ||
		again.Epoch(0) != 0 {
		t.Error("the neighbor has forgotten the replacement")
	}
}

func TestWrongStarts(t *testing.T) {
	start := func(change func(*Message)) Message {
		m := Message{From: 2, To: 3, Kind: Start, Round: 6, Epoch: 1, Grid: make([]int32, 5)}
		change(&m)
		return m
	}
	for name, msg := range map[string]Message{
		"a third replacement":     start(func(m *Message) { m.Epoch = MaxTakeovers + 1 }),
		"no replacement":          start(func(m *Message) { m.Epoch = 0 }),
		"before the first round":  start(func(m *Message) { m.Round = 0 }),
		"after the last round":    start(func(m *Message) { m.Round = 13 }),
		"too few coordinates":     start(func(m *Message) { m.Grid = m.Grid[:4] }),
		"the form of a cool-down": start(func(m *Message) { m.Grid, m.Vector = nil, make([]float32, 5) }),
		"off the grid":            start(func(m *Message) { m.Grid[3] = math.MaxInt32 }),
		"too far":                 start(func(m *Message) { m.Grid[3] = 1 << 20 }),
		"a release that is made":  start(func(m *Message) { m.Round = 3 }),
	} {
		net, _ := afterRounds(t, 4, replaceable)
		j := net.machines[3]
		err := j.Receive(msg)
		late := (*LateError)(nil)
		if err == nil || errors.As(err, &late) != (name == "a release that is made") {
			t.Errorf("%s: %v", name, err)
		}
		if j.since[0] != 0 || j.Epoch(2) != 0 {
			t.Errorf("%s: the edge begins anew after release %d, epoch %d", name, j.since[0], j.Epoch(2))
		}
	}
}

// TestStandingHolds checks that a client accepts no release of the lost device after it has answered the replacement
// device, until a device of that name starts, a connection opens, or some time passes.
func TestStandingHolds(t *testing.T) {
	for name, again := range map[string]func(m *Machine) error{
		"a connection opens": func(m *Machine) error { m.Reached(2); return nil },
		"time passes": func(m *Machine) error {
			for range 3 {
				m.Tick()
			}
			return nil
		},
		"a device starts": func(m *Machine) error {
			return m.Receive(Message{From: 2, To: 3, Kind: Probe, Round: 4, Incarnation: 5})
		},
	} {
		net, _ := afterRounds(t, 4, replaceable)
		j := net.machines[3]
		if s := j.Standing(2); s.Round != 4 || s.Held != 4 || len(s.Grid) != 5 {
			t.Errorf("%s: it stands at %+v", name, s)
		}
		release := Message{From: 2, To: 3, Kind: Release, Round: 5, Grid: make([]int32, 5)}
		if err := j.Receive(release); err != nil || j.Heard(2) != 4 {
			t.Errorf("%s: release %d is taken, %v", name, j.Heard(2), err)
		}
		if err := again(j); err != nil {
			t.Fatal(err)
		}
		if err := j.Receive(release); err != nil || j.Heard(2) != 5 {
			t.Errorf("%s: release %d is held after that, %v", name, j.Heard(2), err)
		}
	}
}

func replacement(t *testing.T, cfg Config, net *network, member int) *Machine {
	t.Helper()
	var list []Message
	for _, j := range cfg.Neighbors {
		list = append(list, net.machines[j].Standing(member))
	}
	m, err := TakeOver(cfg, list)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReplacedDevice checks that the mean of a replacement device's models begins at the device's starting point. The
// device must make every remaining release without a query, and use the pairwise noise of its keys.
func TestReplacedDevice(t *testing.T) {
	keys := asked{}
	net, _ := afterRounds(t, 4, keys.sharing(replaceable))
	clear(keys)
	cfg := configs(4, kite, keys.sharing(replaceable))[2]
	cfg.Epoch, cfg.Incarnation = 1, 77
	m := replacement(t, cfg, net, 2)
	if m.round != 5 || m.Status().Complete {
		t.Fatalf("it takes over after release %d, want 5", m.round)
	}
	net.machines[2] = m
	sum := make([]float64, len(m.x))
	for i, x := range m.x {
		sum[i] = float64(x)
	}
	made := 0
	net.released = func(client, round int) {
		if client != 2 {
			return
		}
		made++
		if s := m.State(); s.Recovered != 5 {
			t.Errorf("release %d: %+v", round, s)
		}
		for i, x := range m.x {
			sum[i] += float64(x)
			if want := sum[i] / float64(round-4); math.Abs(float64(m.mean[i])-want) > 1e-6 {
				t.Errorf("release %d: the mean is %v, want %v", round, m.mean[i], want)
			}
		}
	}
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
	if queries := m.Status().Queries; made != 7 || queries != 0 {
		t.Errorf("%d releases and %d queries, want 7 and 0", made, queries)
	}
	for release := 6; release <= 9; release++ {
		for _, j := range cfg.Neighbors {
			if keys[[3]int{2, j, release}] != 1 || keys[[3]int{j, 2, release}] != 1 {
				t.Errorf("release %d shares noise with %d %d and %d times", release, j, keys[[3]int{2, j, release}],
					keys[[3]int{j, 2, release}])
			}
		}
	}
}
