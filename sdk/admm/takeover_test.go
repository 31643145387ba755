package admm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// replaceable is a private fleet with releases on a grid.
func replaceable(i int, c *Config) {
	private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
	c.Probe, c.Average, c.Releases, c.GridStep, c.Rounds, c.Members = true, true, true, 0.2/16, 9, 4
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

// Once a neighbor has heard of a replacement, the lost device that starts again is told of a release that it does not
// know of, whichever it had made, and stops; nothing but probes leaves it before. The neighbor keeps that with its next
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

// What a start may not say is refused, and leaves the edge as it was.
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

// A client that has said where it stands takes no release of the lost device, until a device of that name starts, a
// connection opens, or a while has passed.
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

// wasteland is a network that loses, repeats and reorders messages, whose members crash, and one of whose devices is lost
// for good, perhaps twice. What a member has on its disk are the states of its last two releases.
type wasteland struct {
	t        *testing.T
	chance   *rand.Rand
	cfgs     []Config
	machines []*Machine
	disks    [][]State
	flying   []Message
	lost     int
	story    []string
	made     map[[3]int][]float32 // release by member, epoch and round
	looked   int64                // queries of devices that have taken over
	keys     map[[4]int]int       // how often a device asked for a key: member, peer, release, epoch
	finished []bool
	crashes  int  // to come
	asked    bool // a device that takes over has asked, and no time passes meanwhile
}

func (w *wasteland) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *wasteland) failf(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.story {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

// newWasteland returns a random network.
func newWasteland(t *testing.T, seed uint64) *wasteland {
	w := &wasteland{t: t, chance: rand.New(rand.NewPCG(seed, 7)), made: map[[3]int][]float32{}, keys: map[[4]int]int{}}
	graphs := [][][2]int{kite, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}, {{0, 1}}, {{0, 1}, {0, 2}, {0, 3}}}
	edges := graphs[w.chance.IntN(len(graphs))]
	n := edges[len(edges)-1][1] + 1
	members := w.chance.IntN(2) * n
	kind, mixing, cooldown, rounds := w.chance.IntN(4), w.chance.IntN(3), w.chance.IntN(4), 2+w.chance.IntN(12)
	w.cfgs = configs(n, edges, func(i int, c *Config) {
		c.Probe, c.Releases, c.Rounds, c.Mixing, c.Cooldown, c.Average = true, true, rounds, mixing, cooldown, true
		c.Members, c.Quarantine = members, members > 0
		if kind > 0 {
			private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
		}
		if seed%2 == 0 {
			c.Consensus = flowing(n, edges)
		}
		if kind > 1 {
			c.GridStep = 0.2 / 16
		}
		if kind == 3 {
			c.Privacy = shared
			c.PairKey = func(peer, release int) (key [32]byte, ok bool) {
				w.keys[[4]int{i, peer, release, int(w.cfgs[i].Epoch)}]++
				return [32]byte{byte(min(i, peer)), byte(max(i, peer)), byte(release)}, true
			}
		}
	})
	w.tell("seed %d: %v, kind %d, %d rounds, mixing %d, cool-down %d", seed, edges, kind, rounds, mixing, cooldown)
	w.machines, w.disks, w.finished = make([]*Machine, n), make([][]State, n), make([]bool, n)
	w.lost, w.crashes = w.chance.IntN(n), w.chance.IntN(8)
	for i := range w.cfgs {
		w.start(i)
	}
	return w
}

// start makes a member's machine from its disk.
func (w *wasteland) start(i int) {
	w.cfgs[i].Incarnation++
	if !w.cfgs[i].NonPrivate {
		w.cfgs[i].Noise = &byChance{w.chance}
	}
	m, err := New(w.cfgs[i])
	if kept := w.disks[i]; len(kept) > 0 {
		var before *State
		if len(kept) > 1 {
			before = &kept[1]
		}
		m, err = Restore(w.cfgs[i], kept[0], before)
	}
	if err != nil {
		w.failf("%d: %v", i, err)
	}
	w.machines[i], w.finished[i] = m, false
}

// byChance is noise.
type byChance struct{ *rand.Rand }

func (b *byChance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b.Uint32())
	}
	return len(p), nil
}

// keep puts a state on the disk.
func (w *wasteland) keep(i int, s State) {
	s = s.copied()
	at := [3]int{i, int(w.cfgs[i].Epoch), s.Round}
	if before, there := w.made[at]; there && !slices.Equal(before, s.X) && w.cfgs[i].NonPrivate {
		w.failf("%d makes release %d twice: %v and %v", i, s.Round, before, s.X)
	} else if there && !slices.Equal(before, s.X) {
		w.failf("%d draws noise for release %d twice", i, s.Round)
	}
	w.made[at] = s.X
	w.disks[i] = append([]State{s}, w.disks[i]...)
	w.disks[i] = w.disks[i][:min(2, len(w.disks[i]))]
}

// drive lets a member do one thing.
func (w *wasteland) drive(i int) {
	m := w.machines[i]
	if m == nil {
		return
	}
	r, err := m.Ready()
	if err != nil {
		w.failf("%d: %v", i, err)
	}
	w.finished[i] = r.Finished
	if r.Released > 0 {
		w.keep(i, m.State())
	}
	for _, msg := range r.Send {
		msg.Vector, msg.Grid = slices.Clone(msg.Vector), slices.Clone(msg.Grid)
		w.flying = append(w.flying, msg)
	}
	if n := len(r.Queries); n > 0 {
		if w.cfgs[i].Epoch > 0 {
			w.looked += int64(n)
		}
		losses := make([]float64, n)
		for k, q := range r.Queries {
			losses[k] = lossFunc(i, q.Point, q.Sample)
		}
		if err := m.Answer(losses...); err != nil {
			w.failf("%d: %v", i, err)
		}
	}
}

// deliver lets one of the messages on their way arrive, or get lost, or come twice.
func (w *wasteland) deliver() {
	if len(w.flying) == 0 {
		return
	}
	at := 0
	if w.chance.IntN(4) == 0 {
		at = w.chance.IntN(len(w.flying))
	}
	msg := w.flying[at]
	luck := w.chance.IntN(20)
	if luck != 0 {
		w.flying = slices.Delete(w.flying, at, at+1)
	}
	to := w.machines[msg.To]
	if luck == 1 || to == nil {
		return
	}
	if err := to.Receive(msg); err != nil {
		w.tell("%d refuses: %v", msg.To, err)
		if errors.Is(err, errConflict) || errors.As(err, new(*ImpossibleError)) || errors.As(err, new(*LateError)) {
			w.failf("%d refuses %v of %d: %v", msg.To, msg.Kind, msg.Round, err)
		}
	}
}

// lose takes a device away with its disk, and lets another one take over.
func (w *wasteland) lose() {
	i := w.lost
	w.tell("%d is lost after release %d", i, w.machines[i].round)
	w.machines[i], w.disks[i] = nil, nil
	for range w.chance.IntN(200) {
		w.step()
	}
	for range w.chance.IntN(3) { // what is on its way may be lost with it
		w.flying = slices.DeleteFunc(w.flying, func(msg Message) bool { return msg.From == i })
	}
	var list []Message
	w.asked = true
	defer func() { w.asked = false }()
	for _, j := range w.cfgs[i].Neighbors {
		m := w.machines[j]
		s := m.Standing(i)
		s.Vector, s.Grid = slices.Clone(s.Vector), slices.Clone(s.Grid)
		list = append(list, s)
		for range w.chance.IntN(30) { // the others go on while they are asked
			w.step()
		}
	}
	// A new connection: nothing of the lost device arrives after it.
	w.flying = slices.DeleteFunc(w.flying, func(msg Message) bool { return msg.From == i || msg.To == i })
	w.cfgs[i].Epoch++
	w.cfgs[i].Incarnation++
	m, err := TakeOver(w.cfgs[i], list)
	if err != nil {
		w.failf("takeover: %v", err)
	}
	w.machines[i], w.finished[i] = m, false
	w.keep(i, m.State())
	w.tell("%d takes over after release %d: %+v", i, m.round, list)
	if m.round < m.cfg.Learning() && m.round%(1+m.cfg.Mixing) != 0 {
		w.failf("release %d is within a block of mixing", m.round)
	}
}

// step lets something happen.
func (w *wasteland) step() {
	i := w.chance.IntN(len(w.machines))
	switch luck := w.chance.IntN(400); {
	case luck < 200:
		w.deliver()
	case luck < 390:
		w.drive(i)
	case luck < 399:
		if w.machines[i] != nil && !w.asked {
			w.machines[i].Tick()
		}
	case w.machines[i] != nil && w.crashes > 0 && (i != w.lost || w.cfgs[i].Epoch == 0 || len(w.disks[i]) > 0):
		w.crashes--
		w.tell("%d crashes after release %d", i, w.machines[i].round)
		w.start(i)
	}
}

// check compares the ends.
func (w *wasteland) check() {
	d := w.cfgs[0].Estimator.Dim
	for i, m := range w.machines {
		if m.round != m.last() {
			w.failf("%d ends with release %d of %d", i, m.round, m.last())
		}
		for k := range m.edges {
			e := &m.edges[k]
			other := w.machines[e.peer]
			back := other.edge(i).index
			if m.since[k] == m.round { // the run is over, and nothing of the edge is used again
				continue
			}
			for c, z := range part(m.z, k, d) {
				if peer := part(other.peerZ, back, d)[c]; math.Float32bits(z) != math.Float32bits(peer) {
					w.failf("z of %d and %d: %v and %v", i, e.peer, z, peer)
				}
			}
		}
	}
	if !w.cfgs[0].NonPrivate && w.looked > 0 {
		w.failf("%d queries after a takeover", w.looked)
	}
}

// Worlds are played until all have finished: nobody waits, both ends of every edge agree to the bit, no release is made
// twice by one device, and no device that took over asks for a loss in a private run. 300 of them, 10,000 with
// SPADE_LONG, or as many as SPADE_RECOVERIES says, from SPADE_RECOVERY_SEED on.
func TestTakeovers(t *testing.T) {
	count, first := 300, 0
	if os.Getenv("SPADE_LONG") != "" && !testing.Short() {
		count = 10_000
	}
	for name, to := range map[string]*int{"SPADE_RECOVERIES": &count, "SPADE_RECOVERY_SEED": &first} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			*to = n
		}
	}
	entered := map[string]int{}
	for seed := first; seed < first+count; seed++ {
		w := newWasteland(t, uint64(seed))
		for range w.chance.IntN(900) {
			w.step()
		}
		for range 1 + w.chance.IntN(2) {
			w.lose()
			switch m := w.machines[w.lost]; {
			case m.round == m.last():
				entered["at the end"]++
			case m.round > m.cfg.Learning():
				entered["in the cool-down"]++
			default:
				entered["in the middle"]++
			}
			for range w.chance.IntN(400) {
				w.step()
			}
		}
		for n := 0; slices.Contains(w.finished, false); n++ {
			if n > 60_000 {
				for i, m := range w.machines {
					w.tell("%d: %+v", i, m.Status())
				}
				w.failf("nobody goes on: %v", w.finished)
			}
			w.step()
		}
		w.check()
	}
	t.Logf("%d worlds: a device took over %v", count, entered)
	if count >= 300 && len(entered) < 3 {
		t.Error("some of it never happened: nothing was tested")
	}
}

// replacement returns the machine of a device that takes the place of a member's, by what all of its neighbors say.
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

// The mean of a replaced device's models begins where it started; it makes every release that is left, without a query,
// and shares noise by the keys that it is given.
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
