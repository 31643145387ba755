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
	c.Probe, c.Average, c.Releases, c.GridStep, c.Rounds = true, true, true, 0.2/16, 9
}

// successor returns the machine of the device that takes the place of client 2's after release 4, and its
// configuration.
func successor(t *testing.T, kept [][]State) (*Machine, Config) {
	t.Helper()
	cfg := configs(4, kite, replaceable)[2]
	cfg.Generation, cfg.Incarnation = 1, 77
	s := kept[2][0].copied()
	s.Recovered, s.Mean, s.Queries = s.Round, slices.Clone(s.X), 0
	return reborn(t, cfg, s), cfg
}

// answerTo returns what a machine answers to a message, without what it has to say besides.
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

// Once a neighbor has heard of a successor, the lost device that starts again is told of a release that it does not
// know of, whichever it had made, and stops; nothing but probes leaves it before. The neighbor keeps that with its next
// release.
func TestReplacedDeviceIsStopped(t *testing.T) {
	net, kept := afterRounds(t, 4, replaceable)
	old := configs(4, kite, replaceable)[2]
	old.Incarnation = 5
	j := net.machines[3]
	probe := func(round int, generation uint16, incarnation uint64) Message {
		return Message{From: 2, To: 3, Kind: Probe, Round: round, Generation: generation, Incarnation: incarnation}
	}
	if got := answerTo(t, j, probe(4, 0, 5)); len(got) == 0 || got[0].Held != 4 {
		t.Errorf("before: %+v, want an answer that release 4 is held", got)
	}
	if got := answerTo(t, j, probe(4, 1, 77)); len(got) == 0 || got[0].Held != 4 || j.Generation(2) != 1 {
		t.Errorf("the successor is answered with %+v", got)
	}
	for round, held := range map[int]int{0: 4, 3: 4, 4: 5, 5: 6, 6: 7, 11: 12, 12: 12} {
		got := answerTo(t, j, probe(round, 0, 5))
		if len(got) != 1 || got[0].Kind != ProbeReply || got[0].Held != held || got[0].Incarnation != 5 {
			t.Errorf("the lost device is in release %d and is answered with %+v, want that %d is held", round, got, held)
		}
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
	if k := slices.IndexFunc(s.Edges, func(e EdgeState) bool { return e.Peer == 2 }); s.Edges[k].Generation != 1 {
		t.Errorf("kept: %+v", s.Edges[k])
	}
	if again := reborn(t, configs(4, kite, replaceable)[3], s.copied()); again.Generation(2) != 1 ||
		again.Generation(0) != 0 {
		t.Error("the neighbor has forgotten the successor")
	}
}

// A neighbor forgets what it had of the lost device beyond the release that its successor goes on from, and the
// successor does not take such a claim for a rollback; a later one it does.
func TestInheritedReleases(t *testing.T) {
	net, kept := afterRounds(t, 4, replaceable)
	j := net.machines[3]
	j.edges[0].heard = 5
	if got := answerTo(t, j, Message{From: 2, To: 3, Kind: Probe, Round: 4, Generation: 1}); len(got) == 0 ||
		got[0].Held != 4 {
		t.Errorf("the successor is answered with %+v", got)
	}
	for held, stops := range map[int]bool{4: false, 5: false, 6: false, 7: true} {
		m, cfg := successor(t, kept)
		if err := m.Receive(Message{From: 3, To: 2, Kind: ProbeReply, Round: 4, Held: held, Generation: cfg.Generation,
			Incarnation: cfg.Incarnation}); err != nil {
			t.Fatal(err)
		}
		var back *RollbackError
		if _, err := m.Ready(); errors.As(err, &back) != stops {
			t.Errorf("release %d is held: %v", held, err)
		}
	}
}

// The successor makes two releases without its data and then goes on as others do; its mean begins with the release
// that it has taken over. A neighbor that has started again is told which device this is until it answers.
func TestSuccessor(t *testing.T) {
	net, kept := afterRounds(t, 4, replaceable)
	m, cfg := successor(t, kept)
	net.machines[2] = m
	probes := 0
	for range 3 {
		m.Tick()
		for _, msg := range answerTo(t, m, Message{From: 3, To: 2, Kind: Probe, Round: 4, Incarnation: 9}) {
			if msg.To == 3 && msg.Kind == Probe && msg.Generation == cfg.Generation && msg.Incarnation == cfg.Incarnation {
				probes++
			}
		}
	}
	if probes < 3 {
		t.Errorf("the neighbor was told %d times", probes)
	}
	sum := make([]float64, len(m.x))
	for i, x := range m.x {
		sum[i] = float64(x)
	}
	queries := map[int]int64{}
	net.released = func(client, round int) {
		if client != 2 {
			return
		}
		queries[round] = m.Status().Queries
		if s := m.State(); s.Recovered != 4 {
			t.Errorf("release %d: %+v", round, s)
		}
		for i, x := range m.x {
			sum[i] += float64(x)
			if want := sum[i] / float64(round-3); math.Abs(float64(m.mean[i])-want) > 1e-6 {
				t.Errorf("release %d: the mean is %v, want %v", round, m.mean[i], want)
			}
		}
	}
	m.start()
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
	for round := 5; round <= 12; round++ {
		// 6 samples, and two steps of 3.
		if want := int64(12 * min(3, max(0, round-6))); queries[round] != want {
			t.Errorf("after release %d: %d queries, want %d", round, queries[round], want)
		}
	}
}

// The number of a neighbor's device rises by 16 at most until this client has made another release: no frame, and no
// number of them, uses the numbers up.
func TestGenerationRisesSlowly(t *testing.T) {
	net, _ := afterRounds(t, 4, replaceable)
	j := net.machines[3]
	say := func(generation uint16) error {
		if _, err := j.Ready(); err != nil {
			t.Fatal(err)
		}
		return j.Receive(Message{From: 2, To: 3, Kind: Probe, Round: 4, Generation: generation, Incarnation: 1})
	}
	for _, generation := range []uint16{65535, MaxRise + 1} {
		if err := say(generation); err == nil || j.Generation(2) != 0 {
			t.Errorf("generation %d is known after a probe of %d: %v", j.Generation(2), generation, err)
		}
	}
	for generation := uint16(1); generation <= MaxRise; generation++ {
		if err := say(generation); err != nil || j.Generation(2) != generation {
			t.Errorf("generation %d is known after a probe of %d: %v", j.Generation(2), generation, err)
		}
	}
	if say(MaxRise+1) == nil {
		t.Error("a seventeenth device since the last release is believed")
	}
	j.commit()
	if err := say(2 * MaxRise); err != nil {
		t.Errorf("after another release: %v", err)
	}
}
