package trust

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Drop takes note that the driver has dropped the edge to neighbor j. q.Release is the first release without the
// neighbor, and heard is the neighbor's highest release that the machine of package admm has held. Drop adds q to the
// journal, unless the journal has a reason already. The answer is a notice for the neighbor, once the journal is stored:
// see [Machine.Notices].
func (m *Machine) Drop(j int, q state.Quarantine, heard int) {
	p := m.peers[j]
	q.Neighbor = p.name
	p.dropped, p.heard = &q, heard
	if !slices.ContainsFunc(m.Journal.Quarantine, func(k state.Quarantine) bool { return k.Neighbor == p.name }) {
		m.Journal.Quarantine, m.Unstored = append(m.Journal.Quarantine, q), true
	}
}

// Dropped returns why the edge to neighbor j was dropped, or nil if it is in use.
func (m *Machine) Dropped(j int) *state.Quarantine { return m.peers[j].dropped }

// Left returns the number of edges in use.
func (m *Machine) Left() (n int) {
	for _, p := range m.peers {
		if p.dropped == nil {
			n++
		}
	}
	return n
}

// Notices returns a notice for each neighbor whose edge is dropped, and that has had none since the last tick.
func (m *Machine) Notices() []admm.Message {
	for _, j := range m.Neighbors {
		m.sendNotice(m.peers[j])
	}
	return m.take()
}

// sendNotice tells a neighbor that this member continues without it from a release on, and why. It cuts the reason to
// 200 bytes, and the signature does not cover the reason. The notice also shows the neighbor's newest release that this
// member holds: a device that has lost its state must not make this release again with its other neighbors.
func (m *Machine) sendNotice(p *peer) {
	if p.dropped == nil || m.Unstored || !p.first(sayDropped) {
		return
	}
	n := signed.Statement{Kind: signed.Notice, Round: p.dropped.Release, Value: p.scope}
	if m.Signing() {
		n.Sign(m.Key, m.scope)
	}
	why := cmp.Or(p.dropped.Why[:min(len(p.dropped.Why), 200)], "-")
	m.send = append(m.send, admm.Message{Kind: admm.Conflict, To: p.number, Round: n.Round, Held: p.heard,
		Signed: admm.Signed{Own: encoded(p.held.Last()), Proof: n.Append(nil), Other: []byte(why)}})
}

// noticeIn returns the notice in a message, if the message is one.
func noticeIn(msg *admm.Message) (n signed.Statement, ok bool) {
	if msg.Kind != admm.Conflict {
		return n, false
	}
	n, err := signed.Parse(msg.Signed.Proof, signed.Notice)
	return n, err == nil
}

// receiveNotice handles a notice n in which a neighbor states that it has dropped the edge to this member.
func (m *Machine) receiveNotice(p *peer, msg *admm.Message, n *signed.Statement) Verdict {
	var err error
	switch {
	case n.Value != m.scope || n.Round > m.Last+2:
		err = fmt.Errorf("trust: the quarantine notice applies from release %d on, want release %d or earlier, or is for another member",
			n.Round, m.Last+2)
	case m.Signing():
		err = n.Verify(p.scope, m.Keys(p.name))
	}
	if err != nil {
		return refuse(err)
	}
	v := m.lostBefore(p, msg)
	if v.Action == Take {
		v = Verdict{Action: Drop, Told: true, Why: fmt.Errorf("%q continues without this node from release %d on, because: %s",
			p.name, n.Round, strconv.QuoteToASCII(string(msg.Signed.Other)))}
	}
	return v
}

// lostBefore ends the run if a notice shows a release of this member that its state lacks. Without keys, the neighbor's
// claim is enough if this device has no state.
func (m *Machine) lostBefore(p *peer, msg *admm.Message) Verdict {
	switch {
	case !m.Signing() && m.round == 0 && msg.Held > 0:
		return end(LostTo(p.name, msg.Held, 0))
	case !m.Signing() || len(msg.Signed.Own) == 0:
		return Verdict{}
	}
	shown, err := m.parseOwn(msg.Signed.Own)
	if err != nil {
		return refuse(err)
	}
	return m.compare(p, &shown)
}

// receiveDropped handles a message over a dropped edge, which the machine of package admm does not get. It answers with
// a notice, and still checks what the message shows of this member's own statements.
func (m *Machine) receiveDropped(p *peer, msg *admm.Message) Verdict {
	if msg.Kind != admm.Release {
		if v := m.check(p, msg); v.Action == End {
			return v
		}
	}
	if _, notice := noticeIn(msg); !notice { // two nodes would answer each other's notices indefinitely
		m.sendNotice(p)
	} else if v := m.lostBefore(p, msg); v.Action != Take {
		return v
	}
	return Verdict{Action: Discard}
}
