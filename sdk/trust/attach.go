package trust

import (
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// once is a set of messages that a member sends to a neighbor at most once between two ticks.
type once uint8

const (
	sayEvidence once = 1 << iota // evidence against the neighbor
	sayDropped                   // the edge to the neighbor is dropped
	sayHeld                      // what another device of the neighbor's name signed
	askHeld                      // which release of this member the neighbor holds
)

// first reports whether a message has not been sent since the last tick, and marks it as sent.
func (p *peer) first(what once) bool {
	first := p.said&what == 0
	p.said |= what
	return first
}

// Attach adds to an outgoing message the signed statements that prove what it says.
func (m *Machine) Attach(msg *admm.Message) {
	p := m.peers[msg.To]
	if !m.Signing() || p == nil {
		return
	}
	switch msg.Kind {
	case admm.Release:
		msg.Signed.Own = encoded(m.own.Of(msg.Round))
		return
	case admm.Probe:
		msg.Signed.Own = encoded(m.own.Last())
		msg.Signed.Other = m.ownCheckpoint()
	case admm.ProbeReply:
		msg.Signed.Other = m.earlier(p)
	}
	if r := p.held.Proving(msg.Held); r != nil {
		msg.Signed.Proof = r.Append(nil)
		if msg.Kind == admm.Done {
			msg.Signed.Countersign = r.Countersign(m.Key, p.scope)
		}
	}
}

// probe shows a neighbor the newest of its releases that this member holds, and asks which of this member's releases
// the neighbor holds. Receive handles the answer.
func (m *Machine) probe(p *peer) {
	msg := admm.Message{Kind: admm.Probe, From: m.Self, To: p.number, Round: m.round, Held: p.held.Last().Round, Incarnation: m.Incarnation}
	m.Attach(&msg)
	m.send = append(m.send, msg)
}

// Tick takes note that some time has passed: messages that a member sends once between two ticks may be sent again. It
// returns the evidence for the neighbors against which there is any.
func (m *Machine) Tick() []admm.Message {
	for _, j := range m.Neighbors {
		p := m.peers[j]
		p.said = 0
		m.showEvidence(p)
	}
	return m.take()
}

// Reached returns the messages that neighbor j may lack. Call it when a connection to the neighbor opens.
func (m *Machine) Reached(j int) []admm.Message {
	if p := m.peers[j]; p != nil {
		p.said &^= sayEvidence | sayHeld
		m.showEvidence(p)
		m.sendNotice(p)
	}
	return m.take()
}

// evidence returns the newest evidence against a neighbor, or nil.
func (m *Machine) evidence(p *peer) *signed.Evidence {
	for i := range slices.Backward(m.Public.Evidence) {
		if e := &m.Public.Evidence[i]; e.Member == p.name {
			return e
		}
	}
	return nil
}

// showEvidence shows a neighbor the evidence against it. Each device with the neighbor's key ends when it sees that.
func (m *Machine) showEvidence(p *peer) {
	if e := m.evidence(p); e != nil && p.first(sayEvidence) {
		m.send = append(m.send, admm.Message{Kind: admm.Conflict, To: p.number, Round: e.Round,
			Signed: admm.Signed{Proof: e.First.Append(nil), Other: e.Second.Append(nil)}})
	}
}
