package sdk

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// A node shows every neighbor the state of its lifetime ledger when it starts. The neighbors answer with what the member
// has signed about its ledgers in earlier runs. A ledger that was set back, or that begins with less than another ledger
// had counted, ends the run. Any other ledger of the member is named in status and certificate, and never counted: only
// its owner knows which data it counts.

// checkpoint signs the state of the node's ledger, for the probes of this process.
func (n *Node) checkpoint() error {
	l := n.cfg.Ledger
	if l == nil || !n.claims.Signing() {
		return nil
	}
	head, err := signed.NewHead(l.Head())
	if err != nil {
		return err
	}
	e := signed.NewCheckpoint(n.claims.Key, n.claims.Scope, head)
	n.claims.Checkpoint = e.Append(nil)
	return nil
}

// learnCheckpoint takes the state of a neighbor's ledger, which the neighbor shows in its probe.
func (r *run) learnCheckpoint(peer *trust.Peer, b []byte) {
	if len(b) == 0 {
		return
	}
	e, err := signed.ParseEarlier(b)
	if err == nil {
		err = e.Verify(e.Scope, r.claims.Keys(peer.Name))
	}
	if err != nil {
		r.log.Warn("discarding a neighbor's checkpoint", "neighbor", peer.Name, "err", err)
	} else if e.Scope == peer.Scope && e.Kind == signed.Checkpoint {
		peer.Shown = e.Ledger
	}
}

// checkEarlier checks statements about this member's ledgers, possibly from earlier runs. by is the name of the neighbor
// that stored them. checkEarlier ignores statements that none of the member's keys signed.
func (r *run) checkEarlier(by string, list []byte) error {
	for b := range slices.Chunk(list, signed.EarlierSize) {
		e, err := signed.ParseEarlier(b)
		if err == nil {
			err = e.Verify(e.Scope, r.claims.Keys(r.cfg.Name))
		}
		if err != nil {
			r.log.Warn("ignoring a neighbor's claim about another run of this node: the signature is not valid", "neighbor", by, "err", err)
		} else if err := r.compareLedger(by, e); err != nil {
			return ending{err}
		}
	}
	return nil
}

// compareLedger compares the ledger's state in a statement that this member has signed, and that a neighbor with the
// name by has shown, with the node's ledger and with what its owner declared about earlier ones.
func (r *run) compareLedger(by string, e signed.Earlier) error {
	l, then := r.cfg.Ledger, e.Ledger.Ledger()
	if l == nil || e.Ledger == (signed.Head{}) {
		return nil
	}
	if then.ID == l.Head().ID {
		if err := l.Contains(then); err != nil {
			return fmt.Errorf("sdk: %q shows a later state of the ledger, signed with this node's key: %w: %w; if no newer copy exists, "+
				"create a new ledger, and declare all that the data may have spent", by, state.ErrRollback, err)
		}
		return nil
	}
	for _, d := range l.Declared().Ledgers {
		switch {
		case d.Ledger.ID != then.ID:
		case d.Ledger.Seq < then.Seq || d.Ledger.Seq == then.Seq && d.Ledger.Hash != then.Hash:
			return fmt.Errorf("sdk: %q shows line %d of ledger %s, signed with this node's key, but the declaration of this ledger counts "+
				"only %d lines of it: %w; create the ledger again with the newest certificate of that ledger, or declare an upper bound "+
				"on the cost in place of the certificate", by, then.Seq, then.ID, d.Ledger.Seq, state.ErrRollback)
		default:
			return nil
		}
	}
	r.noteLedger(by, e)
	return nil
}

// mostLedgers is the maximum number of other ledgers of this member that the journal names. Only this member's keys can
// sign a statement about one.
const mostLedgers = 64

// noteLedger records that a neighbor knows of another ledger of this member.
func (r *run) noteLedger(by string, e signed.Earlier) {
	known := r.journal.Ledgers
	if slices.ContainsFunc(known, func(o state.OtherLedger) bool { return o.Signed.Ledger.ID == e.Ledger.ID }) {
		return
	}
	r.log.Warn("neighbors know of another ledger of this member; what it counts is not counted here", "ledger", e.LedgerID(),
		"known_by", by, "recorded", len(known) < mostLedgers)
	if len(known) < mostLedgers { // if it is full, the certificate says so
		one := state.OtherLedger{By: by, Signed: e}
		r.note(func(j *state.Journal) { j.Ledgers = append(slices.Clone(j.Ledgers), one) })
	}
}

// otherLedgers returns the recorded ledgers whose statement one of the member's keys has signed, apart from the node's own
// ledger and those in its declaration.
func (n *Node) otherLedgers() (list []state.OtherLedger) {
	l := n.cfg.Ledger
	if l == nil || !n.claims.Signing() {
		return nil
	}
	for _, o := range n.journal.Ledgers {
		id := o.Signed.LedgerID()
		counted := id == l.Head().ID || slices.ContainsFunc(l.Declared().Ledgers, func(d certificate.EarlierLedger) bool { return d.Ledger.ID == id })
		if !counted && o.Signed.Verify(o.Signed.Scope, n.cfg.Keys(n.cfg.Name)) == nil {
			list = append(list, o)
		}
	}
	return list
}

// ledgerConditions returns a sentence for each other ledger of this member that neighbors know of.
func (n *Node) ledgerConditions() (conditions []string) {
	list := n.otherLedgers()
	for _, o := range list {
		conditions = append(conditions, o.String())
	}
	if len(list) >= mostLedgers {
		conditions = append(conditions, "neighbors may know of further ledgers of this member: there was no room to name more")
	}
	return conditions
}
