package admm

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// siegeShared is pairwise noise between neighbors.
var siegeShared = dpmech.Gaussian{Clip: 0.3, Sigma: 0.2, Shared: dpmech.Shared{Sigma: 0.8, Effective: 0.5, Colluders: 1}}

// arm gives the members of a besieged world mixing rounds and, sometimes, pairwise noise.
func (w *world) arm(c *Config) {
	c.Mixing, c.Members = int(w.seed/2%4), len(w.cfgs)
	if w.seed%5 == 0 {
		unit := c.Privacy.Unit
		c.Privacy = siegeShared
		c.Privacy.Unit = unit
		c.PairKey = func(peer, release int) [32]byte { return [32]byte{byte(peer), byte(release)} }
	}
}

// besiege plays node 0 against an adversary that controls all its neighbors and every broker between them. It reads the
// node's memory, records what leaves it, and delivers anything in any order. It decides when the process dies, and
// deletes the node's state, but not its ledger. The node has no keys, so it believes every claim about its own releases.
func (w *world) besiege(n *node) {
	c := w.chance
	for steps := 200 + c.IntN(2000); w.now < steps && !n.halted && len(w.ends) == 0; w.now++ {
		switch luck := c.IntN(256); {
		case !n.up:
			w.start(n)
		case n.duty == force && luck < w.odds.tear || luck < w.odds.crash:
			w.kill(n)
		case luck == 255 && c.IntN(8) == 0 && n.stored > 0:
			w.log("the state is deleted")
			w.kill(n)
			n.slots, w.lostSlot = [2]record[*saved]{}, true
			w.tally["set back"]++
		case n.duty == rest && n.m.Alone() && !n.m.Status().Complete:
			n.up = false // as a node ends
		case n.duty == rest && !n.busy:
			w.torment(n)
			n.busy = true
		default:
			n.busy = w.act(n)
			if n.up && !n.busy && n.finished {
				w.tally["finished"]++
				if n.up = false; c.IntN(4) > 0 {
					return
				}
			}
		}
	}
}

// torment lets the adversary do one thing to a node that waits.
func (w *world) torment(n *node) {
	if made := w.cfgs[0].Data(n.most); n.lines.durable > made && !n.spare {
		w.fails(overcharged, "%d rounds are charged, and %d made", n.lines.durable, made)
	}
	switch luck := w.chance.IntN(100); {
	case luck < 1:
		w.drop(n, w.neighbor())
	case luck < 8:
		w.tick(n)
	case luck < 11:
		n.m.Reached(w.neighbor())
	case luck < 26 && len(w.heard) > 0:
		w.tell(n, w.echo(n))
	case luck < 41:
		w.tell(n, w.invent(n))
	default:
		w.help(n)
	}
}

func (w *world) neighbor() int {
	all := w.cfgs[0].Neighbors
	return all[w.chance.IntN(len(all))]
}

// tell delivers a message. If the machine refuses it, the node sometimes drops the edge.
func (w *world) tell(n *node, msg Message) {
	w.log("the adversary sends %+v", msg)
	if err := n.m.Receive(msg); err != nil && w.chance.IntN(8) == 0 && len(n.without) == 0 {
		w.drop(n, msg.From)
	}
}

// drop puts a neighbor in quarantine. The process continues even if the store fails to save the quarantine.
func (w *world) drop(n *node, peer int) {
	w.tally["dropped"]++
	n.m.Quarantine(peer)
	if w.chance.IntN(8) > 0 {
		n.without = append(n.without, peer)
	}
}

// overhear checks a message that leaves, and records it, or lets it replace another one if there are many.
func (w *world) overhear(msg Message, p *packet) {
	if carries(msg) {
		w.leaves(&w.nodes[0], p)
	}
	msg.Vector, msg.Grid = slices.Clone(msg.Vector), slices.Clone(msg.Grid)
	if len(w.heard) < 64 {
		w.heard = append(w.heard, msg)
	} else {
		w.heard[w.chance.IntN(len(w.heard))] = msg
	}
}

// help delivers a message that the machine waits for, if there is one.
func (w *world) help(n *node) {
	m := n.m
	for k := range m.edges {
		e := &m.edges[(k+w.chance.IntN(len(m.edges)))%len(m.edges)]
		if m.dropped(e.index) {
			continue
		}
		msg := Message{From: e.peer, Round: m.round, Incarnation: m.cfg.Incarnation}
		switch {
		case !e.probed:
			msg.Kind, msg.Held = ProbeReply, w.chance.IntN(m.round+1)
		case !m.arrived(e):
			at := w.payload(m.cfg.onGrid(m.round))
			msg.Kind, msg.Vector, msg.Grid = Release, at.Vector, at.Grid
		case m.round == m.last() && !e.done:
			msg.Kind = Done
		default:
			continue
		}
		w.tell(n, msg)
		return
	}
}

func (w *world) payload(grid bool) (p Payload) {
	far := w.chance.IntN(24)
	for range w.cfgs[0].Estimator.Dim {
		if grid {
			n := int32(w.chance.IntN(21) - 10)
			switch far {
			case 0:
				n <<= 27
			case 1:
				n = math.MaxInt32
			}
			p.Grid = append(p.Grid, n)
			continue
		}
		x := float32(w.chance.IntN(21)-10) / 16
		switch far {
		case 0:
			x *= 1e30
		case 1:
			x = float32(math.NaN())
		case 2:
			x *= 1e12
		}
		p.Vector = append(p.Vector, x)
	}
	return p
}

// echo returns to the node one of its own messages as if it came from a neighbor, sometimes with another kind, round or
// incarnation.
func (w *world) echo(n *node) Message {
	m := w.heard[w.chance.IntN(len(w.heard))]
	m.From, m.To = w.neighbor(), 0
	switch w.chance.IntN(6) {
	case 0:
		m.Kind = w.kind()
	case 1:
		m.Round, m.Held = w.round(n), w.round(n)
	case 2:
		m.Incarnation = n.m.cfg.Incarnation
	}
	m.Resent = w.chance.IntN(4) == 0
	return m
}

// kind returns the kind of a message that a machine takes, or of one that it refuses.
func (w *world) kind() Kind {
	return []Kind{Done, Release, Probe, ProbeReply, 99}[w.chance.IntN(5)]
}

func (w *world) invent(n *node) Message {
	m := Message{Kind: w.kind(), From: w.neighbor(), Round: w.round(n), Held: w.round(n),
		Incarnation: n.m.cfg.Incarnation, Resent: w.chance.IntN(4) == 0}
	if w.chance.IntN(8) == 0 {
		m.Incarnation = w.chance.Uint64() >> 16
	}
	if m.Kind == Probe || m.Kind == ProbeReply || m.Kind == Done {
		if w.chance.IntN(2) == 0 { // otherwise few worlds would get far
			m.Round, m.Held = min(m.Round, n.m.round), min(m.Held, n.m.round)
		}
		return m
	}
	at := w.payload(n.m.cfg.onGrid(m.Round) != (w.chance.IntN(16) == 0))
	m.Vector, m.Grid = at.Vector, at.Grid
	return m
}

// round returns the number of a release near the one in progress.
func (w *world) round(n *node) int {
	if w.chance.IntN(8) == 0 {
		return w.chance.IntN(n.m.last() + 2)
	}
	return max(0, n.m.round+w.chance.IntN(5)-2)
}
