package sdk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// ending is an error that ends the run, because this node's own signature proves that it must not continue.
type ending struct{ error }

func (e ending) Unwrap() error { return e.error }

// check refuses a message about releases that are not signed by the member that made them. It also handles evidence of
// equivocation.
func (r *run) check(m *admm.Message) (err error) {
	from, peer := m.From, r.claims.Peers[m.From]
	if !r.claims.Signing() {
		return nil
	}
	switch m.Kind {
	case admm.Release:
		if err = r.claims.Release(peer, m); errors.As(err, new(trust.Fork)) {
			r.correct(from, peer)
		}
	case admm.Probe:
		err = r.checkProbe(peer, m)
	case admm.ProbeReply:
		if m.Incarnation != r.claims.Incarnation {
			break // the machine ignores answers to an earlier incarnation
		}
		if _, err = r.checkHeld(peer, m, m.Held); err == nil && len(m.Signed.Other) > 0 {
			err = r.checkEarlier(peer.Name, m.Signed.Other)
		}
	case admm.Done:
		err = r.checkDone(peer, m)
	case admm.Conflict:
		err = r.checkDouble(peer.Name, m)
	}
	var two *trust.Contradiction
	if errors.As(err, &two) {
		r.equivocated(peer, two.Evidence)
	}
	return err
}

// checkProbe checks the sender's claims about its own releases and about this node's releases.
func (r *run) checkProbe(peer *trust.Peer, m *admm.Message) error {
	r.learnCheckpoint(peer, m.Signed.Other)
	left := 0
	if peer.Earlier, left = r.claims.Earlier(peer); left > 0 {
		r.log.Warn("the reply to a neighbor has no room for all of its ledgers", "neighbor", peer.Name, "left_out", left)
	}
	if m.Round > 0 {
		if err := r.claims.Made(peer, m); err != nil {
			return err
		}
	}
	_, err := r.checkHeld(peer, m, m.Held)
	return err
}

// checkHeld checks the proof in m that the sender holds the release of this node with the number held, and returns the
// proof: a release that this node has signed, or nil if held is 0 and m has no proof.
func (r *run) checkHeld(peer *trust.Peer, m *admm.Message, held int) (*signed.Statement, error) {
	shown, err := r.claims.Proof(m, held)
	if err != nil || shown == nil {
		return nil, err
	}
	if err := r.verifyHeld(m.From, peer.Name, shown); err != nil {
		return nil, err
	}
	return shown, nil
}

// verifyHeld compares shown, a release signed with this node's key, with the node's own state. The neighbor that showed
// the release has the number from and the name by. If the release proves that this node must not continue, verifyHeld
// returns an [ending].
func (r *run) verifyHeld(from int, by string, shown *signed.Statement) error {
	for i := range r.claims.Own {
		if own := &r.claims.Own[i]; own.Contradicts(shown) {
			return r.exposed(signed.NewEvidence(r.cfg.Name, own, shown), by)
		}
	}
	err := r.compareLedger(by, signed.Earlier{Scope: r.claims.Scope, Statement: *shown})
	if at := r.machine.Status().Round; shown.Round > at { // charge the releases that are missing from the state
		err = errors.Join(r.chargeLost(&admm.RollbackError{Client: r.number[r.cfg.Name], Peer: from, Held: shown.Round, Round: at}), err)
	}
	if err != nil {
		return ending{err}
	}
	return nil
}

// checkDone checks that a neighbor holds this node's last release, and stores the neighbor's countersignature.
func (r *run) checkDone(peer *trust.Peer, m *admm.Message) error {
	shown, err := r.checkHeld(peer, m, max(1, m.Round)) // at least 1, so that a proof is required
	if err != nil {
		return err
	}
	if err := shown.VerifyHeld(r.claims.Scope, r.claims.Keys(peer.Name), m.Signed.Countersign); err != nil {
		return err
	}
	if own := r.claims.Own.Last(); own != nil && own.ID(r.claims.Scope) == shown.ID(r.claims.Scope) {
		r.mu.Lock()
		defer r.mu.Unlock()
		peer.Countersign = append(peer.Countersign[:0], m.Signed.Countersign...)
	}
	return nil
}

func (r *run) checkDouble(by string, m *admm.Message) error {
	e, err := r.claims.CheckEquivocation(m)
	if err != nil {
		return err
	}
	return r.exposed(e, by)
}

const findOther = "find the other device, then start the fleet again under a new run id and with a new key"

// exposed stops this node, because its key signed two releases of one round.
func (r *run) exposed(e signed.Evidence, by string) error {
	r.keepEvidence(e)
	r.convict(e)
	return ending{fmt.Errorf("sdk: %q shows two different releases of round %d signed with this node's key: %w; %s",
		by, e.Round, ErrClone, findOther)}
}

// equivocated stores a neighbor's two statements, unless two of its statements are stored already, and shows
// them to the neighbor.
func (r *run) equivocated(peer *trust.Peer, e signed.Evidence) {
	if !slices.ContainsFunc(r.status.Evidence, func(known signed.Evidence) bool {
		return known.Member == e.Member
	}) {
		r.keepEvidence(e) // before logging: a reader of the log may look for the evidence in the status
		r.log.Error("evidence of equivocation", "member", e.Member, "round", e.Round)
	}
	r.show(r.number[e.Member], peer)
}

// show sends a neighbor the evidence against it, at most once between two ticks. Each device with the neighbor's key
// stops when it receives the evidence.
func (r *run) show(to int, peer *trust.Peer) {
	for _, e := range slices.Backward(r.status.Evidence) {
		if e.Member == peer.Name {
			if peer.First(trust.SayDouble) {
				_ = r.post(to, trust.Equivocation(&e)) // always within limits
			}
			return
		}
	}
}

// correct shows a neighbor, at most once between two ticks, the newest of its releases that this node holds. A device
// that has lost its state, or has a copy that made this release, ends when it sees it.
func (r *run) correct(to int, peer *trust.Peer) {
	if !peer.First(trust.SayHeld) {
		return
	}
	held := r.machine.Heard(to)
	if newest := peer.Held.Last(); newest != nil {
		held = newest.Round
	}
	r.probe(to, held)
}

// probe tells a neighbor which of the neighbor's releases this node holds, with the neighbor's signature as proof, and
// asks which of this node's releases the neighbor holds.
func (r *run) probe(to, held int) {
	m := r.machine.Probe(to, held)
	r.claims.Attach(&m)
	_ = r.post(to, &m) // always within limits
}

// query handles a neighbor's release that depends on a release that this node has not made. Either another device uses
// this node's name, or the neighbor lies. query asks, at most once between two ticks, which release of this node the
// neighbor holds; [run.verifyHeld] handles the answer.
func (r *run) query(m *admm.Message) {
	peer := r.claims.Peers[m.From]
	carries := m.Kind == admm.Release
	if !r.claims.Signing() || !carries || m.Round <= r.status.Round+1 || !peer.First(trust.AskHeld) {
		return
	}
	r.probe(m.From, r.machine.Heard(m.From))
}

// showAgain repeats evidence, and allows the node to send again all messages that are limited to one between two ticks.
func (r *run) showAgain() {
	r.saveHeads()
	for j, peer := range r.claims.Peers {
		peer.Again(trust.All)
		r.show(j, peer)
	}
}

// rememberHeads stores, for later runs, what neighbors have signed about their ledgers.
func (n *Node) rememberHeads() {
	c := n.claims
	if !c.Signing() {
		return
	}
	for _, peer := range c.Peers {
		if r := peer.Held.Last(); r != nil {
			if err := c.Heads.Learn(c.Keys(peer.Name), signed.Earlier{Scope: peer.Scope, Statement: *r}); err != nil {
				n.log.Error("a neighbor's ledger is not remembered for later runs", "neighbor", peer.Name, "err", err)
			}
		}
	}
	n.saveHeads()
}

func (n *Node) saveHeads() {
	if err := n.claims.Heads.Save(); err != nil {
		n.log.Error("the signed checkpoints of neighbors cannot be stored", "err", err)
	}
}
