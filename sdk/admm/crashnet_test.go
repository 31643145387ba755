package admm

// packet is a message in flight.
type packet struct {
	msg           Message // without Vector and Grid, whose content is below
	vector        [worldDim]float32
	grid          [worldDim]int32
	nv, ng        int
	due           int // the earliest step of delivery
	serial        int64
	incarnation   int // of the sender
	toIncarnation int // of the receiver, when the packet was sent
}

// departed is a release that has left its node: its content, and what the node sent to each neighbor.
type departed struct {
	left bool
	x    bitsOf
	to   [worldNodes]struct {
		left   bool
		vector bitsOf
		grid   [worldDim]int32
	}
}

func (w *world) send(n *node) {
	msg := n.todo.Send[n.next]
	n.next++
	w.tally["sent"]++
	p := packet{msg: msg, nv: len(msg.Vector), ng: len(msg.Grid), due: w.now,
		serial: w.tally["sent"], incarnation: n.incarnation, toIncarnation: w.nodes[msg.To].incarnation}
	copy(p.vector[:], msg.Vector)
	copy(p.grid[:], msg.Grid)
	p.msg.Vector, p.msg.Grid = nil, nil
	switch {
	case msg.Kind == ProbeReply:
		w.sent.probe++
	case msg.Resent:
		w.sent.answer++
	default:
		w.sent.other++
	}
	if carries(msg) {
		w.leaves(n, &p)
	}
	if w.trace != nil {
		w.log("node %d sends %+v", n.id, msg)
	}
	if w.besieged() {
		w.overhear(msg, &p)
		return
	}
	if w.calm {
		w.air = append(w.air, p)
		return
	}
	if w.chance.IntN(256) < w.odds.lose {
		w.tally["lost"]++
		return
	}
	if w.chance.IntN(256) < w.odds.late {
		p.due += 1 + w.chance.IntN(300)
	}
	w.air = append(w.air, p)
	if w.chance.IntN(256) < w.odds.twice {
		w.tally["duplicated"]++
		p.due += w.chance.IntN(300)
		w.air = append(w.air, p)
	}
}

// leaves checks a departing release against earlier departures and against the neighbors' rounds.
func (w *world) leaves(n *node, p *packet) {
	r := p.msg.Round
	gone := &w.left[n.id][r]
	to := &gone.to[p.msg.To]
	if w.plant == freshNoise && to.left && !w.calm {
		p.vector[0] += 0.125
		p.grid[0]++
	}
	x, vector := n.x[r%2], bits32(p.vector[:])
	round := w.cfgs[n.id].Data(r)
	if !w.lying() && !w.losing() && w.plant != sendBeforeKeep && (r > n.stored || round > n.lines.durable || round > n.marks.durable.round) {
		w.fails(early, "node %d, release %d: %d is stored, round %d charged, %d marked", n.id, r, n.stored, n.lines.durable,
			n.marks.durable.round)
	}
	switch {
	case !gone.left:
		gone.left, gone.x = true, x
		for _, j := range w.cfgs[n.id].Neighbors {
			if r > 1 && !w.left[j][r-1].left && !w.besieged() {
				w.fails(skew, "release %d of node %d leaves, %d of neighbor %d has not", r, n.id, r-1, j)
			}
		}
	case gone.x == x && (!to.left || to.vector == vector && to.grid == p.grid):
	case w.lying() && r > n.held:
		w.tally["unseen"]++ // nobody held the release when this incarnation began, so no probe could reveal it
		*gone = departed{left: true, x: x}
	default:
		w.fails(doubleRelease, "node %d, release %d to %d: %v %v %v, and before %v %v %v", n.id, r, p.msg.To,
			x, vector, p.grid, gone.x, to.vector, to.grid)
	}
	to.left, to.vector, to.grid = true, vector, p.grid
}

// deliver delivers packet i if its receiver can accept a packet now.
func (w *world) deliver(i int) {
	n := &w.nodes[w.air[i].msg.To]
	if w.air[i].due > w.now && !w.calm || n.up && n.duty != rest {
		return
	}
	if !n.up && !n.gone && !n.halted && w.chance.IntN(4) > 0 {
		return // the packet may wait or get lost
	}
	p := w.air[i]
	w.air[i] = w.air[len(w.air)-1]
	w.air = w.air[:len(w.air)-1]
	if n.up {
		w.receive(n, &p)
	}
}

func (w *world) receive(n *node, p *packet) {
	msg := p.msg
	msg.Vector, msg.Grid = p.vector[:p.nv], p.grid[:p.ng]
	if w.trace != nil {
		w.log("node %d receives %+v", n.id, msg)
	}
	if last := &w.newest[msg.From][msg.To]; p.serial < *last {
		w.tally["overtaken"]++
	} else {
		*last = p.serial
	}
	if p.incarnation != w.nodes[msg.From].incarnation {
		w.tally["stale"]++
	}
	switch {
	case msg.Kind == ProbeReply:
		w.arrived.answer++
	case msg.Kind == Probe:
		w.arrived.probe++
	case !msg.Resent:
		w.arrived.repeat++
	}
	if w.plant == answerAnswers && (msg.Resent || msg.Kind == ProbeReply) {
		if err := n.m.Receive(msg); err != nil {
			w.log("node %d: %v", n.id, err)
		}
		if msg.Resent = false; msg.Kind == ProbeReply {
			msg.Kind = Probe
		}
		for i := range n.m.edges {
			n.m.edges[i].answered = 0
		}
	}
	// A probe reply that was meant for an earlier incarnation may lead to a false report of a damaged state.
	if err := n.m.Receive(msg); err != nil && !w.lying() && !w.lostSlot &&
		!(msg.Kind == ProbeReply && p.toIncarnation != n.incarnation) {
		w.fails(refused, "node %d: %v", n.id, err)
	}
}
