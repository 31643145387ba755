package sdk

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// When a node starts, it tells every neighbor a checkpoint of its lifetime ledger: what all runs have spent, and what
// those that are open may spend yet. If device and ledger are lost, the neighbors show the checkpoint to the next device,
// and its new ledger begins with that.

// checkpoint makes what neighbors are told of this node's ledger has spent, from the next probe on.
func (n *Node) checkpoint() error {
	l, f := n.cfg.Ledger, n.cfg.Fleet
	if l == nil || !n.claims.Signing() {
		return nil
	}
	head, err := signed.NewHead(l.Head())
	if err != nil {
		return err
	}
	c := l.Plan(f.Run, n.hash, n.cfg.Name, f.Method.Rounds, f.Privacy.gaussian())
	e := signed.NewCheckpoint(n.claims.Key, n.claims.Scope, n.claims.Epoch, head, c)
	n.claims.Checkpoint = e.Append(nil)
	return nil
}

// learnCheckpoint remembers what a neighbor says of its ledger. What it has not signed in this run is passed
// over: it costs the neighbor's next device its protection, and nobody else.
func (r *run) learnCheckpoint(peer *trust.Peer, b []byte) {
	e, err := signed.ParseEarlier(b)
	keys := r.claims.Keys(peer.Name)
	if err == nil {
		err = e.Verify(e.Scope, keys)
	}
	if err == nil && e.Scope == peer.Scope && e.Kind == signed.Checkpoint {
		first := peer.Shown == (signed.Head{})
		peer.Shown = e.Ledger
		peer.Earlier = r.claims.Earlier(peer) // before what it says takes the place of what it has said
		r.claims.Heads.Learn(keys, e)
		if first { // later ones are saved at a tick: a neighbor may send many
			err = r.claims.Heads.Save()
		}
	}
	if err != nil {
		r.log.Warn("a neighbor's checkpoint is not kept", "neighbor", peer.Name, "err", err)
	}
}

// checkEarlier looks at what a neighbor remembers of this member's ledgers. A signature that is by none of the node's
// keys proves nothing, and costs nothing.
func (r *run) checkEarlier(by string, b []byte) error {
	e, err := signed.ParseEarlier(b)
	if err == nil {
		err = e.Verify(e.Scope, r.claims.Keys(r.cfg.Name))
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
	cost, _ := e.Spent(r.claims.Scope)
	unit := cost.Unit
	if known := r.claims.Lost; known != nil {
		unit = max(unit, known.Unit)
		if most, _ := known.Spent(r.claims.Scope); cost.All <= most.All {
			known.Unit = unit
			return nil
		}
	}
	r.claims.Lost = &trust.Lost{Earlier: e, By: by, Unit: unit}
	return nil
}

// inherit makes the ledger begin with what a lost one had spent, before a release is charged. By now every neighbor in
// use has shown what it knows.
func (r *run) inherit() error {
	l, lost := r.cfg.Ledger, r.claims.Lost
	if l == nil || lost == nil {
		return nil
	}
	r.claims.Lost = nil
	id := lost.LedgerID()
	cost, limit := lost.Spent(r.claims.Scope)
	cost.Unit = max(cost.Unit, lost.Unit)
	if !l.Inherits(id) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claims.Beside = fmt.Sprintf("ledger %s of this member, of which %q holds a checkpoint, counts other data", id, lost.By)
		return nil
	}
	if err := l.Inherit(id, lost.By, cost, limit); err != nil {
		return fmt.Errorf("sdk: %q shows what a lost ledger of this member had spent: %w", lost.By, err)
	}
	r.log.Warn("the ledger begins with what a lost one of this member had spent", "lost_ledger", id, "proved_by", lost.By,
		"rho", cost.Rho, "rho_all", cost.All)
	if err := r.account.covers(); err != nil {
		return fmt.Errorf("sdk: with what the lost ledger %s had spent, as %q proves: %w", id, lost.By, err)
	}
	if err := r.checkpoint(); err != nil {
		return err
	}
	for _, j := range r.neighbors {
		if r.cases[j] == nil && r.joining == nil {
			r.probe(j, r.machine.Heard(j))
		}
	}
	return nil
}
