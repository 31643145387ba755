package admm

import (
	"math"
	"slices"
)

// send sends the frames of the device one at a time. The adversary keeps up to 64 frames; a further frame replaces a
// random one.
func (d *device) send(msgs []Message) error {
	for i := range msgs {
		if err := d.alive(); err != nil {
			return err
		}
		m := msgs[i]
		m.Vector, m.Grid = slices.Clone(m.Vector), slices.Clone(m.Grid)
		d.leave(m)
		if w := d.w; len(w.sent) < 64 {
			w.sent = append(w.sent, m)
		} else {
			w.sent[w.chance.IntN(len(w.sent))] = m
		}
	}
	return nil
}

func (d *device) leave(m Message) {
	w := d.w
	newest, _ := d.newest()
	saved := 0
	if newest != nil {
		saved = newest.Round
	}
	if m.Round > saved {
		w.breaks("%v of release %d leaves a device that has stored release %d", m.Kind, m.Round, saved)
	}
	at := place{m.Round, toAll}
	switch m.Kind {
	case Release:
	default:
		return
	}
	if d.shown == nil {
		d.shown = map[place]content{}
	}
	c := bitsOfPayload(m.Payload())
	if before, there := d.shown[at]; there && before != c {
		w.breaks("%v of release %d has %v, and had %v before", m.Kind, m.Round, c, before)
	}
	d.shown[at] = c
	if !d.looked[m.Round] {
		w.ends["release without data"]++
		return
	}
	w.ends["release with data"]++
	w.data[m.Round] = true
	round := (m.Round + w.cfg.Mixing) / (1 + w.cfg.Mixing)
	if d.ledger.reserved < round || d.ledger.marked < round {
		w.breaks("release %d leaves with %d lines and a mark at %d", m.Round, d.ledger.reserved, d.ledger.marked)
	}
}

// play lets the adversary perform one action on a device, and lets the device respond.
func (w *siege) play(d *device) {
	luck := w.chance.IntN(100)
	switch {
	case luck < 1 && !d.fresh():
		w.ends["lost state"]++
		d.die()
		d.slots, d.looked = [2]stored{}, nil
		return
	case d.m == nil:
		if d.start(); d.m == nil {
			return
		}
	case luck < 7:
		w.ends["crash"]++
		d.die()
		return
	case luck < 11:
		d.drop(w.neighbor())
	case luck < 14:
		d.m.Tick()
	case luck < 16:
		d.m.Reached(w.neighbor())
	case luck < 30 && len(w.sent) > 0:
		w.deliver(d, w.echo(d))
	case luck < 45:
		w.deliver(d, w.invent(d))
	default:
		w.help(d)
	}
	d.duties()
}

func (w *siege) neighbor() int { return w.cfg.Neighbors[w.chance.IntN(len(w.cfg.Neighbors))] }

// deliver gives a message to a machine. If the machine refuses it, the node sometimes drops the edge.
func (w *siege) deliver(d *device, m Message) {
	err := d.m.Receive(m)
	if err != nil && w.chance.IntN(8) == 0 && len(d.without) == 0 {
		d.drop(m.From)
	}
}

// help delivers a message that the machine waits for, if there is one.
func (w *siege) help(d *device) {
	m := d.m
	for k := range m.edges {
		e := &m.edges[(k+w.chance.IntN(len(m.edges)))%len(m.edges)]
		if m.dropped(e.index) {
			continue
		}
		msg := Message{From: e.peer, To: 1, Round: m.round, Incarnation: m.cfg.Incarnation}
		switch {
		case !e.probed:
			msg.Kind, msg.Held = ProbeReply, w.chance.IntN(m.round+1)
		case !m.arrived(e):
			at := w.payload(d, m.onGrid(m.round))
			msg.Kind, msg.Vector, msg.Grid = Release, at.Vector, at.Grid
		case m.round == m.last() && !e.done:
			msg.Kind = Done
		default:
			continue
		}
		w.deliver(d, msg)
		return
	}
}

func (w *siege) payload(d *device, grid bool) (p Payload) {
	far := w.chance.IntN(24)
	for range w.cfg.Estimator.Dim {
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

// echo returns to the member one of its own messages as if it came from a neighbor, sometimes with another kind, round
// or incarnation.
func (w *siege) echo(d *device) Message {
	m := w.sent[w.chance.IntN(len(w.sent))]
	m.From, m.To = w.neighbor(), 1
	switch w.chance.IntN(6) {
	case 0:
		m.Kind = w.kind()
	case 1:
		m.Round, m.Held = w.round(d), w.round(d)
	case 2:
		m.Incarnation = d.m.cfg.Incarnation
	}
	m.Resent = w.chance.IntN(4) == 0
	return m
}

// kind returns the kind of a message that a machine takes, or of one that it refuses.
func (w *siege) kind() Kind {
	return []Kind{Done, Release, Probe, ProbeReply, 99}[w.chance.IntN(5)]
}

func (w *siege) invent(d *device) Message {
	m := Message{Kind: w.kind(), From: w.neighbor(), To: 1, Round: w.round(d), Held: w.round(d),
		Incarnation: d.m.cfg.Incarnation, Resent: w.chance.IntN(4) == 0}
	if w.chance.IntN(8) == 0 {
		m.Incarnation = w.chance.Uint64() >> 16
	}
	if m.Kind == Probe || m.Kind == ProbeReply || m.Kind == Done {
		if w.chance.IntN(2) == 0 { // otherwise few worlds would get far
			m.Round, m.Held = min(m.Round, d.m.round), min(m.Held, d.m.round)
		}
		return m
	}
	at := w.payload(d, d.m.onGrid(m.Round) != (w.chance.IntN(16) == 0))
	m.Vector, m.Grid = at.Vector, at.Grid
	return m
}

// round returns the number of a release near the one in progress.
func (w *siege) round(d *device) int {
	if w.chance.IntN(8) == 0 {
		return w.chance.IntN(d.m.last() + 2)
	}
	return max(0, d.m.round+w.chance.IntN(5)-2)
}
