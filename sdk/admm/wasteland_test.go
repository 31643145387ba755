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

// wasteland is a network that loses, repeats and reorders messages. Its members crash, and one member permanently loses
// its device, perhaps twice. The disk of each member holds the member's states at its last two releases.
type wasteland struct {
	t        *testing.T
	chance   *rand.Rand
	cfgs     []Config
	machines []*Machine
	disks    [][]State
	flying   []Message
	lost     int
	story    []string
	made     map[[3]int][]float32 // by member, epoch and round: the release
	looked   int64                // queries of devices that took over
	keys     map[[4]int]int       // by member, peer, release and epoch: how often a device requested the key
	finished []bool
	crashes  int  // crashes still to come
	asked    bool // a device that takes over has asked its neighbors; no time passes until it has the answers
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

func newWasteland(t *testing.T, seed uint64) *wasteland {
	w := &wasteland{t: t, chance: rand.New(rand.NewPCG(seed, 7)), made: map[[3]int][]float32{}, keys: map[[4]int]int{}}
	graphs := [][][2]int{kite, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}, {{0, 1}}, {{0, 1}, {0, 2}, {0, 3}}}
	edges := graphs[w.chance.IntN(len(graphs))]
	n := edges[len(edges)-1][1] + 1
	members := w.chance.IntN(2) * n
	kind, mixing, cooldown, rounds := w.chance.IntN(4), w.chance.IntN(3), w.chance.IntN(4), 2+w.chance.IntN(12)
	w.cfgs = configs(n, edges, func(i int, c *Config) {
		c.Probe, c.Releases, c.Rounds, c.Mixing, c.Cooldown, c.Average = true, true, rounds, mixing, cooldown, true
		c.Members = members
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
			c.PairKey = func(peer, release int) [32]byte {
				w.keys[[4]int{i, peer, release, int(w.cfgs[i].Epoch)}]++
				return [32]byte{byte(min(i, peer)), byte(max(i, peer)), byte(release)}
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

type byChance struct{ *rand.Rand }

func (b *byChance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b.Uint32())
	}
	return len(p), nil
}

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

// deliver delivers, loses or duplicates one message in flight.
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

// lose removes a device with its disk, and lets another device take over.
func (w *wasteland) lose() {
	i := w.lost
	w.tell("%d is lost after release %d", i, w.machines[i].round)
	w.machines[i], w.disks[i] = nil, nil
	for range w.chance.IntN(200) {
		w.step()
	}
	for range w.chance.IntN(3) { // messages in flight may be lost with the device
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
		for range w.chance.IntN(30) { // the other members continue while the new device asks them
			w.step()
		}
	}
	// The new device opens new connections, so messages in flight from or to the lost device no longer arrive.
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
			if m.since[k] == m.round { // the run is over, and the edge is not used again
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

// TestTakeovers checks that all simulated networks finish: no member waits forever, both ends of every edge agree bit
// for bit, no device makes a release twice, and in a private run no replacement device requests a loss. The test
// simulates 300 networks, or 10,000 with SPADE_LONG; SPADE_RECOVERIES overrides this number. The first network has the
// seed SPADE_RECOVERY_SEED.
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
