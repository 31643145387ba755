package trust

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Receive returns what to do with a message of the neighbor with the number msg.From. It keeps no reference to msg.
func (m *Machine) Receive(msg *admm.Message) Verdict {
	p := m.peers[msg.From]
	switch {
	case p == nil:
		return refusef("the sender is not a neighbor")
	case p.dropped != nil:
		return m.finish(m.receiveDropped(p, msg))
	}
	if n, ok := noticeIn(msg); ok {
		return m.finish(m.receiveNotice(p, msg, &n))
	}
	return m.finish(m.check(p, msg))
}

// Taken completes the verdict Take with the error with which the machine of package admm has refused the message, or nil.
// A signed release that no honest member sends is a reason to drop the edge; without keys it proves nothing.
func (m *Machine) Taken(v Verdict, refused error) Verdict {
	last := refuse(refused)
	if m.Signing() && errors.Is(refused, admm.ErrImpossible) {
		last.Action = Drop
	}
	last.Notes, last.Send = v.Notes, v.Send
	return last
}

// Prove adds the neighbor's signature to a release that the machine of package admm has found impossible.
func (m *Machine) Prove(found *admm.Verdict) {
	found.Signed.Own = encoded(m.peers[found.From].held.Of(found.Round))
}

// check refuses a message about releases that are not signed by the member that made them.
func (m *Machine) check(p *peer, msg *admm.Message) Verdict {
	switch kind := msg.Kind; {
	case !m.Signing() && kind == admm.Conflict:
		return Verdict{Action: Ignore}
	case !m.Signing():
	case kind == admm.Release:
		return m.checkRelease(p, msg)
	case kind == admm.Probe:
		return m.checkProbe(p, msg)
	case kind == admm.ProbeReply && msg.Incarnation == m.Incarnation: // the machine ignores answers to an earlier process
		return m.checkReply(p, msg)
	case kind == admm.Done:
		return m.checkDone(p, msg)
	case kind == admm.Conflict:
		return m.checkEvidence(p, msg)
	}
	return Verdict{}
}

// checkRelease checks the signature of a release. If the release depends on one that this member has not made, then
// another device uses this member's name, or the neighbor lies: the answer to a probe shows which.
func (m *Machine) checkRelease(p *peer, msg *admm.Message) Verdict {
	if len(msg.Signed.Own) == 0 {
		return refusef("release %d is not signed, want the signature of %q", msg.Round, p.name)
	}
	r, err := signed.Parse(msg.Signed.Own, signed.Release)
	if err != nil {
		return refuse(err)
	}
	if r.Round != msg.Round || signed.Digest(msg.Vector, msg.Grid) != r.Value {
		return refusef("the content of release %d differs from the content that the sender has signed as release %d", msg.Round, r.Round)
	}
	v := m.checkTheirs(p, &r, true)
	if v.Action == Take && msg.Round > m.round+1 && p.first(askHeld) {
		m.probe(p)
	}
	return v
}

// checkTheirs checks a release that a neighbor says it has made, as news if it has just arrived, and keeps it.
func (m *Machine) checkTheirs(p *peer, r *signed.Statement, news bool) Verdict {
	if known := p.held.Of(r.Round); known != nil && *known == *r {
		return Verdict{} // already checked
	}
	if err := r.Verify(p.scope, m.Keys(p.name)); err != nil {
		return refuse(err)
	}
	for i := range p.held {
		if before := &p.held[i]; before.Contradicts(r) {
			return m.equivocated(p, before, r)
		}
	}
	if before := p.held.Of(r.Round - 1); before != nil && r.Prev != before.ID(p.scope) {
		if news && p.first(sayHeld) { // a device that has lost its state, or a copy of it, ends when it sees what is held
			m.probe(p)
		}
		return refusef("signed release %d does not continue the sender's signed release %d", r.Round, before.Round)
	}
	if after := p.held.Of(r.Round + 1); after != nil && after.Prev != r.ID(p.scope) {
		return refusef("signed release %d differs from the release that the sender's signed release %d continues", r.Round, after.Round)
	}
	p.held = p.held.Add(*r)
	return Verdict{}
}

// equivocated keeps two statements of a neighbor, unless two of its statements are kept already, and shows them to it.
func (m *Machine) equivocated(p *peer, first, second *signed.Statement) Verdict {
	if e := signed.NewEvidence(p.name, first, second); m.evidence(p) == nil {
		m.keepEvidence(e)
		m.note(slog.LevelError, "evidence of equivocation", "member", e.Member, "round", e.Round)
	}
	m.showEvidence(p)
	return Verdict{Action: Drop, Frames: []state.Frame{state.NewFrame(first.Append(nil))},
		Why: fmt.Errorf("trust: signed release %d differs from the release %d that the sender has signed before: "+
			"the sender's device was copied or rolled back", second.Round, first.Round)}
}

func (m *Machine) keepEvidence(e signed.Evidence) {
	m.Public.Evidence = append(slices.Clip(m.Public.Evidence), e)
	m.Journal.Evidence = append(m.Journal.Evidence, e)
	m.Unstored = true
}

// checkProbe checks what a neighbor that has just started says of its own releases and of this member's releases.
func (m *Machine) checkProbe(p *peer, msg *admm.Message) Verdict {
	m.learnCheckpoint(p, msg.Signed.Other)
	if msg.Round > 0 {
		if v := m.checkMade(p, msg); v.Action != Take {
			return v
		}
	}
	_, v := m.checkHeld(p, msg, msg.Held)
	return v
}

// checkMade checks that a probe shows the signed release that the sender says it has made last.
func (m *Machine) checkMade(p *peer, msg *admm.Message) Verdict {
	if len(msg.Signed.Own) == 0 {
		return refusef("%q claims to have made release %d, but shows no signature of that release", p.name, msg.Round)
	}
	own, err := signed.Parse(msg.Signed.Own, signed.Release)
	if err != nil {
		return refuse(err)
	}
	v := m.checkTheirs(p, &own, false)
	if v.Action == Take && own.Round != msg.Round {
		v = refusef("%q claims to have made release %d, but has signed release %d", p.name, msg.Round, own.Round)
	}
	return v
}

func (m *Machine) checkReply(p *peer, msg *admm.Message) Verdict {
	_, v := m.checkHeld(p, msg, msg.Held)
	if v.Action == Take {
		v = m.checkEarlier(p.name, msg.Signed.Other)
	}
	return v
}

// checkHeld checks the proof in a message that the sender holds a release of this member: the release with the number
// held, or a later one, with this member's signature. It returns the proof, or nil without one, which is valid if held is
// 0.
func (m *Machine) checkHeld(p *peer, msg *admm.Message, held int) (*signed.Statement, Verdict) {
	if len(msg.Signed.Proof) == 0 && held == 0 {
		return nil, Verdict{}
	}
	var r signed.Statement
	if len(msg.Signed.Proof) > 0 {
		var err error
		if r, err = m.parseOwn(msg.Signed.Proof); err != nil {
			return nil, refusef("the sender claims to hold release %d of this node, but the proof is not valid: %w", held, err)
		}
	}
	if r.Round < held {
		return nil, refusef("the sender claims to hold release %d of this node, but shows no signature of that release", held)
	}
	return &r, m.compare(p, &r)
}

// parseOwn parses a release and checks that one of this member's keys signed it.
func (m *Machine) parseOwn(b []byte) (signed.Statement, error) {
	r, err := signed.Parse(b, signed.Release)
	if err == nil && !slices.Contains(m.own, r) {
		err = r.Verify(m.scope, m.Keys(m.name()))
	}
	return r, err
}

// compare compares a release that this member has signed, and that a neighbor has shown, with what this member knows
// itself. The verdict is End if the release proves that this member must not continue.
func (m *Machine) compare(p *peer, shown *signed.Statement) Verdict {
	for i := range m.own {
		if own := &m.own[i]; own.Contradicts(shown) {
			return m.exposed(p, signed.NewEvidence(m.name(), own, shown))
		}
	}
	v := end(m.compareLedger(p.name, signed.Earlier{Scope: m.scope, Statement: *shown}))
	if shown.Round > m.round {
		v = Verdict{Action: End, Why: errors.Join(v.Why, LostTo(p.name, shown.Round, m.round)), Lost: shown.Round}
	}
	return v
}

// exposed ends the run, because this member's key has signed two releases of one round.
func (m *Machine) exposed(p *peer, e signed.Evidence) Verdict {
	m.keepEvidence(e)
	v := end(fmt.Errorf("trust: %q shows two different releases of round %d signed with this node's key: %w; %s",
		p.name, e.Round, ErrClone, findOther))
	v.Exposed = m.exposes(e)
	return v
}

// checkDone checks that a neighbor holds this member's last release, and keeps the neighbor's countersignature.
func (m *Machine) checkDone(p *peer, msg *admm.Message) Verdict {
	shown, v := m.checkHeld(p, msg, max(1, msg.Round)) // at least 1, so that a proof is required
	if v.Action != Take {
		return v
	}
	if err := shown.VerifyHeld(m.scope, m.Keys(p.name), msg.Signed.Countersign); err != nil {
		return refuse(err)
	}
	if own := m.own.Last(); own != nil && own.ID(m.scope) == shown.ID(m.scope) {
		all := map[string][]byte{p.name: slices.Clone(msg.Signed.Countersign)}
		maps.Copy(all, m.Public.Countersigned)
		m.Public.Countersigned = all
	}
	return v
}

// checkEvidence handles two statements that a neighbor shows. They end the run if this member's keys signed both and
// they contradict each other. Statements of other members have no effect, even if they contradict each other: a member
// drops an edge only for statements that the edge itself has carried.
func (m *Machine) checkEvidence(p *peer, msg *admm.Message) Verdict {
	first, err1 := m.parseOwn(msg.Signed.Proof)
	second, err2 := m.parseOwn(msg.Signed.Other)
	switch {
	case err1 != nil:
		return refuse(err1)
	case err2 != nil:
		return refuse(err2)
	case !first.Contradicts(&second):
		return refusef("the signed releases %d and %d of this member do not contradict each other", first.Round, second.Round)
	}
	return m.exposed(p, signed.NewEvidence(m.name(), &first, &second))
}
