package admm

import "fmt"

// Ahead returns a neighbor and the release of this client that it holds, if that is why the machine has ended: it is a
// later release than the machine knows of. Otherwise held is 0. The machine's state was rolled back: a disk lost
// confirmed writes, a backup was restored, or a second device uses the same name. If the machine continued, it would
// make a release of the same round a second time, and use the data of that round again. All releases up to held count as
// spent.
func (m *Machine) Ahead() (peer, held int) { return m.ahead.peer, m.ahead.held }

// probe asks a neighbor which release of this client the neighbor holds, and states the highest release of the neighbor
// that this client ever held.
func (m *Machine) probe(e *edge) {
	m.send = append(m.send, Message{Kind: Probe, From: m.client(), To: e.peer, Round: m.round, Held: e.heard,
		Incarnation: m.cfg.Incarnation})
}

// receiveProbe handles the probe that a neighbor sends when it starts, and a neighbor's answer to this client's probe.
func (m *Machine) receiveProbe(e *edge, msg Message) error {
	if last := m.last(); msg.Round < 0 || msg.Round > last || msg.Held < 0 || msg.Held > last {
		return fmt.Errorf("admm: the probe from neighbor %d reports release %d of the neighbor and release %d "+
			"of this client, want 0..%d for each", msg.From, msg.Round, msg.Held, last)
	}
	if msg.Kind == ProbeReply {
		return m.takeReply(e, msg)
	}
	return m.takeProbe(e, msg)
}

// takeProbe answers a neighbor that has just started. The neighbor has only the releases in its stored state, so it may
// lack this client's release of its last round and of the next one.
func (m *Machine) takeProbe(e *edge, msg Message) error {
	if msg.Held > m.round {
		return m.rolledBack(e, msg.Held)
	}
	m.send = append(m.send, Message{Kind: ProbeReply, From: m.client(), To: e.peer, Round: m.round, Held: e.heard,
		Incarnation: msg.Incarnation})
	for _, r := range []int{msg.Round, msg.Round + 1} {
		if r >= 1 && r >= m.round-1 && r <= m.round && r != m.lost {
			m.post(e, r, true)
		}
	}
	return nil
}

// takeReply handles the answer to this client's probe. From then on, the neighbor gets releases.
func (m *Machine) takeReply(e *edge, msg Message) error {
	switch {
	case msg.Incarnation != m.cfg.Incarnation:
		return nil // meant for an earlier incarnation: the neighbor may hold more by now
	case msg.Held > m.round:
		return m.rolledBack(e, msg.Held)
	case msg.Round <= m.lost && msg.Held < m.lost:
		return m.endUnless(e.probed, fmt.Errorf("admm: neighbor %d lacks release %d, and this client's stored state "+
			"of that release is damaged: neither client can continue", msg.From, m.lost))
	}
	first := !e.probed
	e.probed = true
	if before := m.round - 1; first && msg.Held < before && before != m.lost { // not sent when the neighbor's probe arrived
		m.post(e, before, true)
	}
	if msg.Held < m.round {
		m.answer(e, m.round)
	}
	return nil
}

// rolledBack ends the machine because a neighbor holds a release of this client that the client does not know of.
func (m *Machine) rolledBack(e *edge, held int) error {
	if !e.probed {
		m.ahead.peer, m.ahead.held = e.peer, held
	}
	return m.endUnless(e.probed, fmt.Errorf("admm: neighbor %d holds release %d of client %d, but the state of that client ends with "+
		"release %d: the state was rolled back, and continuing would release a round twice", e.peer, held, m.client(), m.round))
}

// endUnless ends the machine with err unless probed is true, which means that the neighbor has already answered a
// probe. A message that contradicts this answer must not end the machine, so endUnless returns err to refuse only the
// message.
func (m *Machine) endUnless(probed bool, err error) error {
	if probed {
		return err
	}
	m.err = err
	return nil
}
