package sdk

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// When a node starts, it tells every neighbor a checkpoint of its lifetime ledger: what all runs have spent, and what
// those that are open may spend yet. If device and ledger are lost, the neighbors show the checkpoint to the next device,
// and its new ledger begins with that.

// lostLedger is a checkpoint of another ledger of this member.
type lostLedger struct {
	signed.Earlier
	by string // the neighbor that has shown it
}

// checkpoint makes what neighbors are told of this node's ledger has spent, from the next probe on.
func (n *Node) checkpoint() error {
	l, f := n.cfg.Ledger, n.cfg.Fleet
	if l == nil || n.filter == nil || !n.claims.signing() {
		return nil
	}
	head, err := signed.NewHead(l.Head())
	if err != nil {
		return err
	}
	c := l.Plan(f.Run, n.hash, n.cfg.Name, f.Method.Rounds, f.Privacy.gaussian())
	e := signed.NewCheckpoint(n.claims.key, n.claims.scope, n.epoch, head, c)
	n.claims.checkpoint = e.Append(nil)
	return nil
}

// learnCheckpoint remembers what a neighbor says of its ledger. What it has not signed in this run is passed
// over: it costs the neighbor's next device its protection, and nobody else.
func (r *run) learnCheckpoint(peer *peerClaims, b []byte) {
	e, err := signed.ParseEarlier(b)
	if err == nil && e.Scope == peer.scope && e.Kind == signed.Checkpoint {
		r.claims.heads.Learn(r.claims.keys(peer.name), e)
		first := peer.shown == (signed.Head{})
		if peer.shown = e.Ledger; first { // later ones are saved at a tick: a neighbor may send many
			err = r.claims.heads.Save()
		}
	}
	if err != nil {
		r.log.Warn("a neighbor's checkpoint is not kept", "neighbor", peer.name, "err", err)
	}
}

// earlier returns what a neighbor is shown of its own ledgers: a later state of the one that it uses than it has shown,
// or else the checkpoint of another one.
func (c *claims) earlier(peer *peerClaims) []byte {
	keys := c.keys(peer.name)
	e := c.heads.Find(keys, peer.ledger)
	newest := peer.held.Last()
	if e == nil || e.Ledger.Seq <= peer.shown.Seq || newest != nil && e.Ledger.Seq <= newest.Ledger.Seq {
		if e = c.heads.Lost(keys, peer.ledger, peer.scope); e == nil {
			return nil
		}
	}
	return e.Append(nil)
}

// checkEarlier looks at what a neighbor remembers of this member's ledgers. A signature that is by none of the node's
// keys proves nothing, and costs nothing.
func (r *run) checkEarlier(by string, b []byte) error {
	e, err := signed.ParseEarlier(b)
	if err == nil {
		err = e.Verify(e.Scope, r.claims.keys(r.cfg.Name))
	}
	if err != nil {
		r.log.Warn("a neighbor speaks of this node's ledger in another run, and shows no signature that counts", "neighbor",
			by, "err", err)
		return nil
	}
	if err := r.compareLedger(by, e.Ledger); err != nil {
		return ending{err}
	}
	if l := r.cfg.Ledger; l == nil || e.Kind != signed.Checkpoint || e.LedgerID() == l.Head().ID {
		return nil
	}
	cost, _ := e.Spent(r.claims.scope)
	if known := r.claims.lost; known != nil {
		if most, _ := known.Spent(r.claims.scope); cost.All <= most.All {
			return nil
		}
	}
	r.claims.lost = &lostLedger{e, by}
	return nil
}

// inherit makes the ledger begin with what a lost one had spent, before a release is charged. By now every neighbor in
// use has shown what it knows.
func (r *run) inherit() error {
	l, lost, f := r.cfg.Ledger, r.claims.lost, r.cfg.Fleet
	if l == nil || lost == nil || r.filter == nil {
		return nil
	}
	r.claims.lost = nil
	id := lost.LedgerID()
	cost, limit := lost.Spent(r.claims.scope)
	if !l.Inherits(id) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claims.beside = fmt.Sprintf("ledger %s of this member, of which %q holds a checkpoint, counts other data", id, lost.by)
		return nil
	}
	if err := l.Inherit(id, lost.by, cost, limit); err != nil {
		return fmt.Errorf("sdk: %q shows what a lost ledger of this member had spent: %w", lost.by, err)
	}
	r.log.Warn("the ledger begins with what a lost one of this member had spent", "lost_ledger", id, "proved_by", lost.by,
		"rho", cost.Rho, "rho_all", cost.All)
	if err := l.Covers(f.Run, r.hash, r.cfg.Name, f.Method.Rounds, f.Privacy.gaussian()); err != nil {
		return fmt.Errorf("sdk: with what the lost ledger %s had spent, as %q proves: %w", id, lost.by, err)
	}
	if err := r.checkpoint(); err != nil {
		return err
	}
	for _, j := range r.neighbors {
		if r.cases.of[j] == nil && r.joining == nil {
			r.probe(j, r.machine.Heard(j))
		}
	}
	return nil
}

// inheritance says in words what a certificate of all runs rests on.
func (n *Node) inheritance(life *dpmech.Lifetime) (conditions []string) {
	for _, in := range life.Inherited {
		limit := "it had no limit"
		if in.Limit != nil {
			limit = "its limit was " + in.Limit.String()
		}
		conditions = append(conditions, fmt.Sprintf("the lost ledger %s had spent at least what %q could prove, which is counted; %s",
			in.Ledger, in.Member, limit))
	}
	if n.claims.beside != "" {
		conditions = append(conditions, n.claims.beside)
	}
	if n.epoch > 0 && len(conditions) == 0 {
		conditions = append(conditions, "no neighbor holds a checkpoint of another ledger of this member: what a lost one spent in "+
			"runs without these neighbors is not counted")
	}
	return conditions
}

// proveEarlier adds to a message what its receiver has to know of ledgers: of a probe the sender's, of an answer the
// receiver's.
func (c *claims) proveEarlier(m *admm.Message, peer *peerClaims) {
	if m.Kind == admm.Probe {
		m.Signed.Other = c.checkpoint
	} else {
		m.Signed.Other = c.earlier(peer)
	}
}
