package trust

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// A member shows every neighbor the state of its lifetime ledger when it starts. The neighbors answer with what the
// member has signed about its ledgers in earlier runs. A ledger that was set back, or that begins with less than another
// ledger had counted, ends the run. Any other ledger of the member is named in status and certificate, and never counted:
// only its owner knows which data it counts.

// ownCheckpoint returns the state of the member's ledger at the first probe of this process, signed; nil without a
// ledger.
func (m *Machine) ownCheckpoint() []byte {
	if m.Ledger != nil && m.checkpoint == nil {
		if head, err := signed.NewHead(m.Ledger.Head()); err == nil { // else [Machine.Released] fails before a release is sent
			e := signed.NewCheckpoint(m.Key, m.scope, head)
			m.checkpoint = e.Append(nil)
		}
	}
	return m.checkpoint
}

// learnCheckpoint takes the state of a neighbor's ledger, which the neighbor shows in its probe.
func (m *Machine) learnCheckpoint(p *peer, b []byte) {
	if len(b) == 0 {
		return
	}
	e, err := signed.ParseEarlier(b)
	if err == nil {
		err = e.Verify(e.Scope, m.Keys(p.name))
	}
	if err != nil {
		m.note(slog.LevelWarn, "discarding a neighbor's checkpoint", "neighbor", p.name, "err", err)
	} else if e.Scope == p.scope && e.Kind == signed.Checkpoint {
		p.shown = e.Ledger
	}
}

// earlier returns the answer to a neighbor's probe: what the neighbor has signed about its ledgers in all runs, without
// the states that the neighbor shows that it knows.
func (m *Machine) earlier(p *peer) (b []byte) {
	newest, shown := p.held.Last(), p.shown
	list := m.Ledger.Heads().Of(m.Keys(p.name))
	if at := slices.IndexFunc(list, func(e signed.Earlier) bool { return e.Ledger.ID == shown.ID }); at > 0 { // the ledger in use first
		list[0], list[at] = list[at], list[0]
	}
	for i := range list {
		known := newest != nil && list[i].Ledger.ID == newest.Ledger.ID && list[i].Ledger.Seq <= newest.Ledger.Seq
		switch {
		case known || list[i].Ledger == shown:
		case len(b) == signed.MaxEarlier*signed.EarlierSize:
			m.note(slog.LevelWarn, "the reply to a neighbor has no room for all of its ledgers", "neighbor", p.name, "statements", len(list))
			return b
		default:
			b = list[i].Append(b)
		}
	}
	return b
}

// checkEarlier checks statements about this member's ledgers, possibly of earlier runs, that a neighbor has kept. It
// ignores statements that none of the member's keys signed.
func (m *Machine) checkEarlier(by string, list []byte) Verdict {
	for b := range slices.Chunk(list, signed.EarlierSize) {
		e, err := signed.ParseEarlier(b)
		if err == nil {
			err = e.Verify(e.Scope, m.Keys(m.name()))
		}
		if err != nil {
			m.note(slog.LevelWarn, "ignoring a neighbor's claim about another run of this node: the signature is not valid",
				"neighbor", by, "err", err)
		} else if err := m.compareLedger(by, e); err != nil {
			return end(err)
		}
	}
	return Verdict{}
}

// compareLedger compares the ledger's state in a statement that this member has signed, and that a neighbor has shown,
// with the member's ledger and with what its owner declared about earlier ones.
func (m *Machine) compareLedger(by string, e signed.Earlier) error {
	l, then := m.Ledger, e.Ledger.Ledger()
	if l == nil || e.Ledger == (signed.Head{}) {
		return nil
	}
	if then.ID == l.Head().ID {
		if err := l.Contains(then); err != nil {
			return fmt.Errorf("trust: %q shows a later state of the ledger, signed with this node's key: %w: %w; if no newer copy exists, "+
				"create a new ledger, and declare all that the data may have spent", by, state.ErrRollback, err)
		}
		return nil
	}
	for _, d := range l.Declared().Ledgers {
		switch {
		case d.Ledger.ID != then.ID:
		case d.Ledger.Seq < then.Seq || d.Ledger.Seq == then.Seq && d.Ledger.Hash != then.Hash:
			return fmt.Errorf("trust: %q shows line %d of ledger %s, signed with this node's key, but the declaration of this ledger counts "+
				"only %d lines of it: %w; create the ledger again with the newest certificate of that ledger, or declare an upper bound "+
				"on the cost in place of the certificate", by, then.Seq, then.ID, d.Ledger.Seq, state.ErrRollback)
		default:
			return nil
		}
	}
	m.keepLedger(by, e)
	return nil
}

// mostLedgers is the maximum number of other ledgers of this member that the journal names. Only this member's keys can
// sign a statement about one.
const mostLedgers = 64

// keepLedger keeps that a neighbor knows of another ledger of this member.
func (m *Machine) keepLedger(by string, e signed.Earlier) {
	known := m.Journal.Ledgers
	if slices.ContainsFunc(known, func(o state.OtherLedger) bool { return o.Signed.Ledger.ID == e.Ledger.ID }) {
		return
	}
	m.note(slog.LevelWarn, "neighbors know of another ledger of this member; what it counts is not counted here", "ledger", e.LedgerID(),
		"known_by", by, "recorded", len(known) < mostLedgers)
	if len(known) < mostLedgers { // if it is full, the certificate says so
		other := state.OtherLedger{By: by, Signed: e}
		m.Journal.Ledgers, m.Unstored = append(known, other), true
		m.Public.Ledgers = append(slices.Clip(m.Public.Ledgers), other)
	}
}

// uncounted reports whether one of the member's keys signed e, which names a ledger other than the member's own ledger
// and those in its declaration.
func (m *Machine) uncounted(e signed.Earlier) bool {
	id := e.LedgerID()
	return m.Ledger != nil && m.Signing() && id != m.Ledger.Head().ID &&
		!slices.ContainsFunc(m.Ledger.Declared().Ledgers, func(d certificate.EarlierLedger) bool { return d.Ledger.ID == id }) &&
		e.Verify(e.Scope, m.Keys(m.name())) == nil
}

// Full reports whether there was no room to name more ledgers in p.
func (p *Public) Full() bool { return len(p.Ledgers) >= mostLedgers }

// Remember keeps with the ledger, for later runs, what neighbors have signed about their ledgers. It returns an error for each
// ledger for which there is no room.
func (m *Machine) Remember() (errs []error) {
	if !m.Signing() {
		return nil
	}
	for _, j := range m.Neighbors {
		p := m.peers[j]
		if r := p.held.Last(); r != nil {
			if err := m.Ledger.Heads().Learn(m.Keys(p.name), signed.Earlier{Scope: p.scope, Statement: *r}); err != nil {
				errs = append(errs, fmt.Errorf("neighbor %q: %w", p.name, err))
			}
		}
	}
	return errs
}
