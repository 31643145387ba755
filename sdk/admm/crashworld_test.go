package admm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
)

// world is a few machines with tiny disks and an unreliable network, all drawn from one seed. The world advances by one
// duty of one node at a time. A node may die at any of these points:
//
//	before and after a reservation, while a slot is written, before and after its fsync, between two messages, between
//	two queries, while waiting, while finished and lingering.
//
// After a while the faults stop, and the remaining nodes must finish. The world records everything that ever left a
// node and checks for failures; the constants of the type [ending] list them.
type world struct {
	seed   uint64
	plant  plant
	chance *rand.Rand
	cfgs   []Config
	nodes  []node
	air    []packet // in flight, unordered
	now    int
	calm   bool // faults never started, or have stopped
	odds   odds

	heard    []Message                             // of a besieged node: what it has sent, or a sample
	left     [worldNodes][worldRounds + 1]departed // what has left its node, by client and release
	newest   [worldNodes][worldNodes]int64         // by sender and receiver: the serial number of the last packet that was not overtaken
	redraws  uint32
	lostSlot bool // a slot was rolled back: a node may lack a cool-down release, which no ledger records
	tally    tally
	arrived  struct{ probe, repeat, answer int64 } // probes, other messages, answers to probes
	sent     struct{ probe, answer, other int64 }  // answers to probes, other answers, all other messages
	allowed  int64                                 // upper bound on sent.other
	ends     map[ending]string
	trace    testing.TB // logs every event; may be nil
}

const (
	worldNodes  = 6
	worldRounds = 18
	worldDim    = 3
)

// odds holds the probabilities of faults, in units of 1/256, and the duration of the world.
type odds struct {
	crash, tear, rare int  // of dying while busy, while writing a slot, and while waiting
	tick, deliver     int  // of a tick and of a delivery in a step
	lose, twice, late int  // of the loss, the repetition and the delay of a message
	leave             bool // finished nodes leave at their own time; otherwise all nodes stay until the calm
	span, after       int  // number of steps before the calm, and after all nodes are finished
}

// plant is a mutation: a deliberate error in a world.
type plant int

const (
	sound           plant = iota
	sendBeforeKeep        // store after send
	depthOne              // only the newest state is readable
	noSync                // writes are not synced
	freshNoise            // a resent message gets fresh noise
	skewOfTwo             // a node starts a round with a neighbor's message of the previous round
	answerAnswers         // the Resent flag, and the limit of one answer per tick, are ignored
	leaveEarly            // a node leaves with its last release, before it holds those of its neighbors
	noReserve             // a release is not charged
	lyingDisk             // node 0's disk confirms an fsync that did not happen
	lyingDiskQueues       // as lyingDisk, and messages to a dead node reach its next incarnation
	nameless              // as lyingDiskQueues, and all incarnations have the same number

	losing    // every disk may lose confirmed writes of one of its files
	markFirst // as losing, and a release is marked when it is reserved, with one round of grace at the start
	markLate  // as losing, and a release is marked when the next one is reserved

	besieged // an adversary that controls everybody else and every link; see [world.besiege]
	anew     // as besieged, and a node that has lost its state starts anew
	unmarked // as besieged, and no release is marked
	eager    // as besieged, and the next release is charged with a state
)

// ending is a kind of failure that must not happen.
type ending string

const (
	doubleRelease ending = "double release"
	deadlock      ending = "deadlock"
	otherModel    ending = "another model"
	storm         ending = "resend storm"
	rollback      ending = "rollback"
	refused       ending = "refused message or state"
	unreserved    ending = "release without reservation"
	skew          ending = "neighbors more than one round apart"
	deadAfterDraw ending = "dead between draw and send"
	unkept        ending = "a state that cannot be kept"
	early         ending = "a release that leaves before it is stored, charged and marked"
	overcharged   ending = "a charge for a release that is not made"
)

// tally counts what happens in a world, by name.
type tally map[string]int64

func newWorld(seed uint64, p plant) *world {
	w := &world{seed: seed, plant: p, tally: tally{}, chance: rand.New(rand.NewPCG(seed, 0))}
	c := w.chance
	flip := func() bool { return c.IntN(2) == 0 }
	n, d := 2+c.IntN(worldNodes-1), 2+c.IntN(worldDim-1)
	if w.besieged() {
		n = 2 + c.IntN(2)
	}
	var edges [][2]int
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{c.IntN(i), i})
	}
	for range c.IntN(n) {
		if i, j := c.IntN(n), c.IntN(n); i < j && !slices.Contains(edges, [2]int{i, j}) {
			edges = append(edges, [2]int{i, j})
		}
	}
	rounds, cooldown := 2+c.IntN(3), c.IntN(3)
	payload, tracking, x0 := c.IntN(4), flip(), flip()
	w.cfgs = configs(n, edges, func(i int, cfg *Config) {
		cfg.Estimator.Dim, cfg.Estimator.Samples = d, 1+c.IntN(2)
		cfg.Estimator.Batch = 1 + c.IntN(cfg.Estimator.Samples)
		cfg.Estimator.Window = c.IntN(3)
		cfg.Estimator.Directions = zoest.Distribution(seed % 2)
		if tracking {
			cfg.Estimator.Kind = zoest.Tracking
		}
		cfg.Rounds, cfg.Cooldown, cfg.Tau = rounds, cooldown, 1
		cfg.NonPrivate, cfg.Privacy = false, dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}
		cfg.Probe = true
		if payload >= 2 {
			cfg.GridStep = 0.2 / 16
		}
		cfg.Mixing = int(seed / 4 % 3)
		switch seed / 2 % 4 {
		case 1:
			cfg.Estimator.Momentum = 0.8
		case 2:
			cfg.Privacy.Unit, cfg.Estimator.Batch, cfg.Estimator.Records = dpmech.Record, 0, true
			cfg.Records, cfg.GridStep = Records{Mean: 1.5, Most: 2}, 0.2/16
		}
		if w.besieged() {
			w.arm(cfg)
		}
		if x0 {
			cfg.X0 = []float32{0.3, -1, 1e-3}[:d]
		}
	})
	w.odds = odds{
		crash: 2 + c.IntN(30), tear: 40 + c.IntN(120), rare: c.IntN(5),
		tick: 4 + c.IntN(20), deliver: 60 + c.IntN(60),
		lose: c.IntN(100), twice: c.IntN(80), late: c.IntN(40),
		leave: flip(), span: n * (2000 + c.IntN(6000)), after: n * c.IntN(200),
	}
	w.birth()
	return w
}

func (w *world) birth() {
	w.nodes = make([]node, len(w.cfgs))
	for i := range w.nodes {
		n := &w.nodes[i]
		n.w, n.id = w, i
		n.frail = file((w.seed + uint64(i)) % uint64(files))
		w.cfgs[i].Noise = n
		if i == 0 || !w.besieged() {
			w.start(n)
		}
	}
	clear(w.left[:])
	clear(w.newest[:])
	w.air = w.air[:0]
}

// fails records the first failure of each kind.
func (w *world) fails(e ending, format string, args ...any) {
	if w.ends == nil {
		w.ends = map[ending]string{}
	}
	if _, ok := w.ends[e]; !ok {
		w.ends[e] = fmt.Sprintf("step %d: ", w.now) + fmt.Sprintf(format, args...)
	}
	w.log("FAILURE %s: "+format, append([]any{e}, args...)...)
}

func (w *world) log(format string, args ...any) {
	if w.trace != nil {
		w.trace.Logf("%6d  "+format, append([]any{w.now}, args...)...)
	}
}

// lying reports whether node 0 has a lying disk. In such a world no other node dies.
func (w *world) lying() bool {
	return w.plant == lyingDisk || w.plant == lyingDiskQueues || w.plant == nameless
}

func (w *world) losing() bool {
	return w.plant == losing || w.plant == markFirst || w.plant == markLate
}

func (w *world) besieged() bool { return w.plant >= besieged }

func (w *world) tick(n *node) {
	if n.duty == rest {
		if w.calm && n.m.round == n.m.last() {
			n.waited++
		}
		w.allowed += 3 * int64(len(n.m.edges)) // a probe, the last message and Done
		n.m.Tick()
	}
}

func (w *world) leave(n *node) {
	w.log("node %d leaves", n.id)
	n.up, n.gone, n.final, n.asked = false, true, n.m.Model(), n.m.Status().Queries
}

func (w *world) over() bool {
	return !slices.ContainsFunc(w.nodes, func(n node) bool { return !n.gone && !n.halted })
}

func (w *world) rage() {
	for ; w.now < w.odds.span && !w.over(); w.now++ {
		if w.now%64 == 0 && !slices.ContainsFunc(w.nodes, func(n node) bool { return !n.finished }) {
			w.odds.span = min(w.odds.span, w.now+w.odds.after)
			w.odds.after = 0
		}
		n := &w.nodes[w.chance.IntN(len(w.nodes))]
		if n.gone || n.halted {
			continue
		}
		if !n.up {
			if w.now >= n.wake {
				w.start(n)
			}
			continue
		}
		crash := w.odds.crash
		switch {
		case w.lying() && n.id > 0:
			crash = 0
		case n.duty == force && n.todo.Released > 0:
			crash = w.odds.tear
		case n.duty == rest && !n.busy:
			crash = w.odds.rare
		}
		switch r := w.chance.IntN(256); {
		case r < crash:
			w.kill(n)
			if w.chance.IntN(100) == 0 && !w.lying() { // a blackout: all nodes die
				for i := range w.nodes {
					if w.nodes[i].up {
						w.kill(&w.nodes[i])
					}
				}
			}
		case r < crash+w.odds.tick:
			w.tick(n)
		case r < crash+w.odds.tick+w.odds.deliver:
			if len(w.air) > 0 {
				w.deliver(w.chance.IntN(len(w.air)))
			}
		default:
			n.busy = w.act(n)
			early := w.plant == leaveEarly && n.m.round == n.m.last()
			if !n.busy && n.up && (early || n.finished && w.odds.leave && w.chance.IntN(8) == 0) {
				w.leave(n)
			}
		}
	}
}

// linger is the number of ticks that a node with its final model waits for a neighbor that still needs a message, in a
// world that another node has already left.
const linger = 10

// calmDown runs a world without further faults to its end. Every node must leave once it has a Done from each neighbor.
// If another node left before the faults stopped, a node with its final model may also leave after linger ticks,
// without a Done from each neighbor.
func (w *world) calmDown() {
	w.calm = true
	someLeft := slices.ContainsFunc(w.nodes, func(n node) bool { return n.gone })
	for i := range w.nodes {
		if n := &w.nodes[i]; !n.up && !n.gone && !n.halted {
			w.start(n)
		}
	}
	// A round takes one iteration of this loop, or three if a tick must request the round's messages. The other
	// iterations are for probes, Done messages and the wait. A tick with its repeats and answers may also take three
	// iterations.
	for range 3*(w.cfgs[0].Rounds+w.cfgs[0].Cooldown) + 10 + 3*(linger+1) {
		w.now++
		for i := range w.nodes {
			for n := &w.nodes[i]; n.up && w.act(n); {
			}
		}
		if len(w.air) == 0 {
			for i := range w.nodes {
				if n := &w.nodes[i]; n.up {
					w.tick(n)
				}
			}
		}
		for flying := len(w.air); flying > 0; flying-- {
			w.deliver(0)
		}
		if !someLeft && slices.ContainsFunc(w.nodes, func(n node) bool { return !n.finished }) {
			continue
		}
		for i := range w.nodes {
			if n := &w.nodes[i]; n.up && n.duty == rest && (n.finished || n.waited > linger) {
				w.leave(n)
			}
		}
		if w.over() {
			return
		}
	}
	for i := range w.nodes {
		if n := &w.nodes[i]; n.up {
			w.fails(deadlock, "node %d: %+v", n.id, n.m.Status())
		}
	}
}

// run simulates a world twice: without faults, to compute the expected models, and then with faults.
func (w *world) run() {
	if w.besieged() {
		w.besiege(&w.nodes[0])
		return
	}
	w.calmDown()
	if len(w.ends) > 0 {
		return
	}
	want := w.nodes
	w.tally, w.calm, w.now = tally{}, false, 0
	w.birth()
	w.rage()
	if w.lying() || w.lostSlot || slices.ContainsFunc(w.nodes, func(n node) bool { return n.halted }) &&
		w.losing() {
		return
	}
	w.calmDown()
	for i := range w.nodes {
		if n := &w.nodes[i]; n.gone && (bits32(n.final) != bits32(want[i].final) || n.asked != want[i].asked) {
			w.fails(otherModel, "node %d ends with %v after %d queries, want %v after %d", i, n.final, n.asked, want[i].final, want[i].asked)
		}
	}
	// Without being asked, a node sends each neighbor at most two messages and its releases per incarnation, and three
	// messages per tick. A probe causes at most one probe and two messages. Each answer to a probe, and each other
	// message that is not an answer, causes at most one message.
	if w.sent.other > w.allowed || w.sent.probe > w.arrived.probe ||
		w.sent.answer > 2*w.arrived.probe+w.arrived.repeat+w.arrived.answer {
		w.fails(storm, "%d messages of their own accord, at most %d; %d probes answered of %d, %d other answers to %d "+
			"messages and %d answers of probes",
			w.sent.other, w.allowed, w.sent.probe, w.arrived.probe, w.sent.answer, w.arrived.repeat, w.arrived.answer)
	}
}
