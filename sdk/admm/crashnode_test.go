package admm

import (
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// duty is the next action of a node. The constants are listed in the order in which a node performs the duties in a
// round.
type duty int

const (
	rest    duty = iota // call the machine, or give it input
	reserve             // write the ledger entry of a release
	enter               // sync the ledger entry
	keep                // write the state after the release
	force               // sync the state
	mark                // write the mark of the stored state
	settle              // sync the mark
	send                // a message
	query               // ask the oracle
)

// node is a machine with its driver and its disk.
type node struct {
	w           *world
	id          int
	m           *Machine
	up          bool
	gone        bool // the node has left permanently, with its final model
	halted      bool // the node has stopped permanently, with an error
	finished    bool
	busy        bool // the node had a duty when it was last called
	duty        duty
	todo        Ready
	next        int // index in todo.Send
	wake        int // the earliest step of the next start
	incarnation int // number of starts
	waited      int // ticks during the calm in which the node had its final model
	final       []float32
	asked       int64 // queries until final

	granted bool  // the machine knows that its release is reserved, but has not made the release yet
	owed    int   // the release that must be marked before anything is sent
	stored  int   // the newest release that the disk holds
	most    int   // the newest release that it ever held
	spare   bool  // a process died between the charge for a release and its state
	without []int // neighbors whose edges a besieged node has dropped
	device

	x    [2]bitsOf // the last two releases, by number mod 2, as known to this incarnation
	held int       // the highest release of this node that a neighbor held at the start of this incarnation
}

type bitsOf [worldDim]uint32

func bits32(x []float32) (b bitsOf) {
	for i, v := range x {
		b[i] = math.Float32bits(v)
	}
	return b
}

// Read returns the noise of a node's next release. As long as that release has not left its node, the noise is the
// noise of the run without faults, so that the release has the same bits whenever it is made again. After that the
// noise is fresh, as on a device.
func (n *node) Read(p []byte) (int, error) {
	w, a := n.w, rng.Address{Purpose: rng.Noise, Client: uint32(n.id), Round: uint32(n.m.round)}
	if w.left[n.id][n.m.round+1].left {
		w.redraws++
		a.Step = w.redraws
	}
	s := rng.New(w.seed, a)
	return s.Read(p)
}

func (w *world) start(n *node) {
	n.up, n.finished, n.busy, n.duty = true, false, true, mark
	n.todo, n.next, n.granted = Ready{}, 0, false
	n.incarnation++
	cfg := w.cfgs[n.id]
	if w.plant != nameless {
		cfg.Incarnation = uint64(n.incarnation)
	}
	var kept []*saved
	head := 0
	for i := range n.slots {
		if s := n.slots[i].durable; s != nil {
			kept = append(kept, s)
			head = max(head, s.head)
		}
	}
	if len(kept) == 2 && kept[0].Round < kept[1].Round {
		kept[0], kept[1] = kept[1], kept[0]
	}
	n.owed = 0
	if len(kept) > 0 {
		n.owed = kept[0].Round
	}
	n.stored, n.most = n.owed, max(n.most, n.owed)
	err := n.validate(cfg.Data(n.owed), head, w.plant == markFirst)
	if err != nil && !w.lying() && !(w.plant == anew && n.owed == 0) {
		w.log("node %d does not start: %v", n.id, err)
		if !w.losing() && !w.lostSlot {
			w.fails(refused, "node %d: %v", n.id, err)
		}
		w.tally["stopped"]++
		w.stop(n)
		return
	}
	if len(kept) == 0 {
		n.m, err = New(cfg)
	} else {
		var before *State
		if len(kept) == 2 && kept[1].Round == kept[0].Round-1 && w.plant != depthOne {
			before = &kept[1].State
			n.x[before.Round%2] = bits32(before.X)
		}
		n.m, err = Restore(cfg, kept[0].State, before)
		if err == nil {
			n.x[kept[0].Round%2] = bits32(kept[0].X)
		}
	}
	if err != nil {
		w.fails(refused, "node %d: %v", n.id, err)
		w.stop(n)
		return
	}
	w.allowed += 2 * int64(len(n.m.edges)) // probes and Done messages
	w.log("node %d starts with release %d of %d states", n.id, n.m.round, len(kept))
	for _, j := range n.without {
		n.m.Quarantine(j)
	}
	if w.lying() {
		n.held = 0
		for i := range w.nodes {
			if m := w.nodes[i].m; m != nil {
				for k := range m.edges {
					if m.edges[k].peer == n.id {
						n.held = max(n.held, m.edges[k].heard)
					}
				}
			}
		}
	}
}

// kill ends a node's incarnation. Unsynced writes may be lost, complete, or torn.
func (w *world) kill(n *node) {
	w.tally["crashes"]++
	w.log("node %d dies in release %d, duty %d", n.id, n.m.round, n.duty)
	n.crash(w)
	n.spare = n.spare || n.lines.durable > w.cfgs[n.id].Data(n.most)
	if w.losing() && w.chance.IntN(8) == 0 {
		w.lose(n)
	}
	n.up, n.wake = false, w.now+w.chance.IntN(1+w.chance.IntN(80))
	if w.plant == lyingDisk { // connections die with their endpoints
		w.air = slices.DeleteFunc(w.air, func(p packet) bool { return p.msg.To == n.id })
	}
}

func (w *world) act(n *node) bool {
	for {
		switch n.duty {
		case rest:
			if w.plant == skewOfTwo && !w.calm {
				n.goOn()
			}
			r, err := n.m.Ready()
			if err != nil {
				w.halt(n, err)
				return false
			}
			for _, v := range n.m.Verdicts() {
				w.drop(n, v.From)
			}
			if w.besieged() && n.m.Alone() && r.Reserve > 0 {
				n.up = false // as a node ends, before it is charged
				return false
			}
			n.todo, n.next, n.duty, n.finished = r, 0, reserve, r.Finished
			n.granted = n.granted && r.Released == 0 || r.Reserve > 0
			if r.Released > 0 {
				w.released(n, r.Released)
			}
			if len(r.Send) > 0 || r.Reserve > 0 || r.Released > 0 || len(r.Queries) > 0 {
				return true
			}
		case reserve:
			n.duty = enter
			if n.todo.Reserve > 0 && w.plant == markLate && n.owed > 0 {
				n.marks.write(marked{n.lines.durable, n.owed})
				n.marks.sync()
			}
			if w.plant == eager && n.m.round > 0 {
				n.lines.write(max(n.lines.durable, n.m.k()+1))
			}
			if r := n.todo.Reserve; r > n.lines.durable && w.plant != noReserve {
				n.lines.write(r)
				return true
			}
		case enter:
			n.duty = keep
			if n.lines.dirty {
				if w.plant == noSync && !w.calm {
					return true
				}
				n.lines.sync()
				if w.plant == markFirst {
					n.marks.write(marked{n.lines.durable, n.lines.durable})
					n.marks.sync()
				}
				return true
			}
		case keep:
			if w.plant == sendBeforeKeep && n.next < len(n.todo.Send) {
				w.send(n)
				return true
			}
			n.duty = force
			if r := n.todo.Released; r > 0 {
				state := n.m.State()
				if !state.finite() {
					w.fails(unkept, "node %d: %+v", n.id, state)
				}
				n.slots[r%2].write(&saved{state.copied(), n.lines.durable})
				n.owed = r
				return true
			}
		case force:
			n.duty = mark
			if r := n.todo.Released; r > 0 {
				switch {
				case w.plant == noSync && !w.calm:
				case w.lying() && n.id == 0 && !w.calm && w.chance.IntN(4) == 0:
					w.log("node 0 is told that release %d is kept", r)
				default:
					n.slots[r%2].sync()
					n.stored, n.most, n.spare = r, max(n.most, r), false
				}
				return true
			}
		case mark:
			n.duty = settle
			if r := w.cfgs[n.id].Data(n.owed); r > n.marks.durable.round && r <= n.lines.durable && w.plant != markLate && w.plant != unmarked {
				n.marks.write(marked{n.lines.durable, r})
				return true
			}
		case settle:
			n.duty = send
			if n.marks.dirty {
				if w.plant != noSync || w.calm {
					n.marks.sync()
				}
				return true
			}
		case send:
			if n.next < len(n.todo.Send) {
				w.send(n)
				return true
			}
			n.duty = query
		case query:
			n.duty = rest
			if n.todo.Reserve > 0 {
				continue // the release is charged, and is made before the node takes any input
			}
			if len(n.todo.Queries) == 0 {
				return false
			}
			var losses [2]float64
			for i, q := range n.todo.Queries {
				losses[i] = lossFunc(n.id, q.Point, q.Sample)
			}
			if err := n.m.Answer(losses[:len(n.todo.Queries)]...); err != nil {
				w.halt(n, err)
			}
			return true
		}
	}
}

// goOn makes a node continue without a neighbor's message, using the neighbor's previous message in its place. The two
// nodes are then two rounds apart.
func (n *node) goOn() {
	m := n.m
	if m.work.local || m.work.due || m.round < 2 || m.cfg.onGrid(m.round) != m.cfg.onGrid(m.round-1) {
		return
	}
	for i := range m.edges {
		if e := &m.edges[i]; !e.holds(m.round) && e.holds(m.round-1) {
			m.hold(e, m.round%2, m.round, m.held(e, (m.round-1)%2))
		}
	}
}

// stop ends a node permanently. It also makes the world end soon, because the other nodes wait for this node
// indefinitely.
func (w *world) stop(n *node) {
	n.up, n.halted = false, true
	w.odds.span = min(w.odds.span, w.now+3000)
}

func (w *world) halt(n *node, err error) {
	if w.besieged() { // an adversary may end a process, which may start again
		n.up = false
	} else {
		w.stop(n)
	}
	w.log("node %d: %v", n.id, err)
	if n.granted {
		w.fails(deadAfterDraw, "node %d: %v", n.id, err)
	}
	_, held := n.m.Ahead()
	switch {
	case (w.lying() || w.losing() || w.besieged()) && strings.Contains(err.Error(), "and this client's stored state of that release is damaged"):
		// This error is expected if the disk also lost the previous slot.
	case held == 0:
		w.fails(refused, "node %d: %v", n.id, err)
	case w.lying(), w.losing(), w.besieged():
		w.tally["rollbacks"]++
	default:
		w.fails(rollback, "node %d: %v", n.id, err)
	}
}

// released records a release that a node has made but not yet sent.
func (w *world) released(n *node, r int) {
	w.tally["releases"]++
	w.allowed += int64(len(n.m.edges))
	n.x[r%2] = bits32(n.m.x)
	if w.trace != nil {
		w.log("node %d makes release %d: %v", n.id, r, n.m.x)
	}
	if w.cfgs[n.id].Data(r) > n.lines.durable {
		w.fails(unreserved, "node %d, release %d", n.id, r)
	}
}
