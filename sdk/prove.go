package sdk

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// ending is an error of a frame that ends the run: the node's own signature shows that it must not go on.
type ending struct{ error }

func (e ending) Unwrap() error { return e.error }

// check refuses a message about releases without the signature of the member that made them, and deals with one that shows a
// double, of its sender or of this node. A release of a device that was replaced is outdated.
func (r *run) check(m *admm.Message) (outdated bool, err error) {
	from, peer := m.From, r.claims.Peers[m.From]
	if !r.claims.Signing() || peer == nil {
		return false, nil
	}
	switch m.Kind {
	case admm.EdgeMessage, admm.Release:
		if outdated, err = r.claims.Release(peer, m); outdated || errors.As(err, new(trust.Fork)) {
			r.correct(from, peer)
		}
	case admm.Start:
		err = r.claims.Start(peer, m, r.status.Recovered)
	case admm.Probe:
		err = r.checkProbe(peer, m)
	case admm.ProbeReply:
		// An answer to an incarnation before is not checked: the machine passes it over.
		if m.Epoch != r.claims.Epoch || m.Incarnation != r.claims.Incarnation {
			break
		}
		if err = r.checkHeld(peer, m); err == nil && len(m.Signed.Other) > 0 {
			err = r.checkEarlier(peer.Name, m.Signed.Other)
		}
	case admm.Done:
		err = r.checkDone(peer, m)
	case admm.Conflict:
		err = r.checkDouble(peer.Name, m)
	}
	var two *trust.Contradiction
	if errors.As(err, &two) {
		r.accuse(from, peer, two.Evidence)
	}
	return outdated, err
}

// checkProbe checks where the sender says that it stands, and what it says that it holds of this node's releases.
func (r *run) checkProbe(peer *trust.Peer, m *admm.Message) error {
	if peer.Earlier = r.claims.Earlier(peer); len(m.Signed.Other) > 0 {
		r.learnCheckpoint(peer, m.Signed.Other)
	}
	if m.Round > 0 || m.Epoch > 0 {
		if _, err := r.claims.Stands(peer, m, true); err != nil {
			return err
		}
	}
	return r.checkHeld(peer, m)
}

// checkHeld checks the proof of the release of this node that the sender says it holds.
func (r *run) checkHeld(peer *trust.Peer, m *admm.Message) error {
	shown, err := r.claims.Proof(m, m.Held)
	if err != nil || shown == nil {
		return err
	}
	if err := r.verifyHeld(m.From, peer.Name, shown); err != nil {
		return err
	}
	if shown.Round < m.Held {
		return fmt.Errorf("sdk: the sender says that it holds release %d of this node, and shows the signature of release %d",
			m.Held, shown.Round)
	}
	if shown.Epoch < r.claims.Epoch && m.Held > r.status.Round { // it works with the lost device, which has come back
		r.correct(m.From, peer)
		return fmt.Errorf("sdk: the sender holds release %d of a device that this one has replaced", m.Held)
	}
	return nil
}

// verifyHeld compares a release that this node's key has signed with what the node knows of itself.
func (r *run) verifyHeld(from int, by string, shown *signed.Statement) error {
	if shown.Epoch > r.claims.Epoch {
		if shown.Verify(r.claims.Scope, r.claims.Present()) == nil { // see convict
			r.dropSecrets()
		}
		return ending{fmt.Errorf("sdk: %q holds a release that epoch %d of this node's name has signed, and this is "+
			"epoch %d: %w, another device has taken its place", by, shown.Epoch, r.claims.Epoch, state.ErrRollback)}
	}
	for i := range r.claims.Own {
		if own := &r.claims.Own[i]; own.Contradicts(shown) {
			return r.exposed(signed.NewEvidence(r.cfg.Name, own, shown), by)
		}
	}
	// Of the lost device all is charged. What this one has signed was released, and counts, whatever ledger it has now.
	err := r.compareLedger(by, shown.Ledger)
	if at := r.machine.Status().Round; shown.Epoch == r.claims.Epoch && shown.Round > at {
		err = errors.Join(r.chargeLost(&admm.RollbackError{Client: r.number[r.cfg.Name], Peer: from, Held: shown.Round, Round: at}), err)
	}
	if err != nil {
		return ending{err}
	}
	return nil
}

// compareLedger reports that the ledger is not the continuation of a state that this node's key has signed.
func (r *run) compareLedger(by string, head signed.Head) error {
	l, then := r.cfg.Ledger, head.Ledger()
	if l == nil || head == (signed.Head{}) || then.ID != l.Head().ID {
		return nil
	}
	if err := l.Contains(then); err != nil {
		return fmt.Errorf("sdk: %q shows a later state of the ledger, which this node's key has signed: %w: %w; if there is no "+
			"newer copy, make a new ledger: it begins with what neighbors prove", by, state.ErrRollback, err)
	}
	return nil
}

// checkDone checks a neighbor's word that it holds this node's last release, and takes its countersignature.
func (r *run) checkDone(peer *trust.Peer, m *admm.Message) error {
	shown, err := r.claims.Proof(m, m.Round)
	if err != nil {
		return err
	}
	if shown == nil || shown.Round < m.Round {
		return fmt.Errorf("sdk: the sender says that it holds release %d of this node, and shows the signature of another",
			m.Round)
	}
	if shown.Epoch < r.claims.Epoch && r.machine.Status().Round < m.Round {
		return fmt.Errorf("sdk: the sender is done after release %d of a device that this one has replaced", m.Round)
	}
	if err := r.verifyHeld(m.From, peer.Name, shown); err != nil {
		return err
	}
	if err := shown.VerifyHeld(r.claims.Scope, r.claims.Keys(peer.Name), m.Signed.Countersign); err != nil {
		return err
	}
	// A neighbor that has not heard yet that this device took over from a lost one signs what that had signed.
	if own := r.claims.Own.Last(); own != nil && own.ID(r.claims.Scope) == shown.ID(r.claims.Scope) {
		r.mu.Lock()
		defer r.mu.Unlock()
		peer.Countersign = append(peer.Countersign[:0], m.Signed.Countersign...)
	}
	return nil
}

// checkDouble takes evidence against this node, or against another neighbor.
func (r *run) checkDouble(by string, m *admm.Message) error {
	if r.claims.Gossip.Knows(m) {
		return nil
	}
	of, e, err := r.claims.Double(m)
	switch {
	case err != nil:
		return err
	case of >= 0:
		r.expose(e)
		return nil
	case e.First.Epoch < r.claims.Epoch: // the lost device had one
		return errors.New("sdk: evidence of a double of a device that this one has replaced")
	}
	return r.exposed(e, by)
}

// findOther advises the owner of a device that has a double.
const findOther = "find the other one, and start the fleet anew under another run id, with another key"

// exposed ends this node, of which two releases of one round are signed.
func (r *run) exposed(e signed.Evidence, by string) error {
	r.keepEvidence(e)
	r.convict(e)
	return ending{fmt.Errorf("sdk: %q shows two releases of round %d that this node's key has signed: %w; %s", by, e.Round,
		ErrClone, findOther)}
}

// accuse keeps evidence against a neighbor, once, and shows it to the neighbor.
func (r *run) accuse(from int, peer *trust.Peer, e signed.Evidence) {
	if !r.convicted(e) {
		peer.Evidence = &e
		r.keepEvidence(e) // first: who reads of it in the log finds it in the status
		r.log.Error("evidence of a double", "neighbor", peer.Name, "round", e.Round)
		r.spread(e)
	}
	r.show(from, peer)
}

// show sends a neighbor the evidence against it, at most once between two ticks. Both devices stop when they hear of it.
func (r *run) show(to int, peer *trust.Peer) {
	if peer.Evidence != nil && peer.First(trust.SayDouble) {
		r.postEvidence(to, peer.Evidence)
	}
}

// postEvidence sends a neighbor the two releases of a double.
func (r *run) postEvidence(to int, e *signed.Evidence) {
	_ = r.post(to, &admm.Message{Kind: admm.Conflict, Round: e.Round, Signed: admm.Signed{Proof: e.First.Append(nil),
		Other: e.Second.Append(nil), Digests: trust.About(r.number[e.Member], e.First.Epoch)}}) // both are of one size
}

// correct shows a device that was replaced, or has a double, and is still at work, what the other device has signed: it ends
// then. A device that was only silent does not probe, and would release the same data as its replacement. So a neighbor
// with more than one epoch is told when the connection to it opens, before anything else, and when it sends a fork or what
// a replaced device has signed, at most once between two ticks. This is a probe, which does a replacement no harm.
func (r *run) correct(to int, peer *trust.Peer) {
	if !peer.First(trust.SayReplaced) {
		return
	}
	held := r.machine.Heard(to)
	if newest := peer.Held.Last(); newest != nil {
		held = newest.Round
	}
	r.probe(to, held)
}

// probe tells a neighbor which release of it this node holds, with its signature, and asks it the same.
func (r *run) probe(to, held int) {
	m := r.machine.Probe(to, held)
	r.attach(&m)
	_ = r.post(to, &m) // it has no vector, and its numbers are within their limits
}

// query asks a neighbor what it holds of this node, at most once between two ticks, if it has made a release that rests on
// one which this node has not made: another device works in this one's name, or the neighbor lies. Its answer decides, see
// [run.verifyHeld]. A replacement device whose neighbor has gone on with another one drops their edge.
func (r *run) query(m *admm.Message) error {
	peer, next := r.claims.Peers[m.From], r.status.Round+1
	carries := m.Kind == admm.Release || m.Kind == admm.EdgeMessage
	if !r.claims.Signing() || !carries || m.Round <= next || peer == nil || !peer.First(trust.AskHeld) {
		return nil
	}
	if peer.Ahead != next {
		peer.Ahead, peer.Times = next, 0
	}
	if peer.Times++; r.claims.Epoch > 0 && peer.Times > 3 && !r.machine.Holds(m.From, r.status.Round) {
		err := fmt.Errorf("sdk: %q has made release %d, and this device, which has replaced another, release %d: it has gone on "+
			"with another device", peer.Name, m.Round, r.status.Round)
		r.quarantine(m.From, state.Quarantine{Why: err.Error()})
		return err
	}
	r.probe(m.From, r.machine.Heard(m.From))
	return nil
}

// showAgain shows evidence again, and lets replaced devices be told again.
func (r *run) showAgain() {
	if err := r.claims.Heads.Save(); err != nil {
		r.log.Error("what neighbors have signed of their ledgers cannot be stored", "err", err)
	}
	for j, peer := range r.claims.Peers {
		peer.Again(trust.All)
		r.show(j, peer)
	}
	for _, e := range r.status.Evidence {
		r.spread(e)
	}
}

// rememberHeads writes down, for later runs, what the neighbors have signed of their ledgers.
func (n *Node) rememberHeads() {
	c := n.claims
	if !c.Signing() {
		return
	}
	for _, peer := range c.Peers {
		if r := peer.Held.Last(); r != nil {
			c.Heads.Learn(c.Keys(peer.Name), signed.Earlier{Scope: peer.Scope, Statement: *r})
		}
	}
	if err := c.Heads.Save(); err != nil {
		n.log.Error("what neighbors have signed of their ledgers cannot be stored", "err", err)
	}
}
