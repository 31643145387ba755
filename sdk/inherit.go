package sdk

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// At its start, a node sends every neighbor a checkpoint of its lifetime ledger: what all runs have spent, and what
// open runs may still spend. If the device and its ledger are lost, the neighbors send the checkpoint to the
// replacement device, whose ledger starts from it.

func (n *Node) checkpoint() error {
	l, f := n.cfg.Ledger, n.cfg.Fleet
	if l == nil || !n.claims.Signing() {
		return nil
	}
	head, err := signed.NewHead(l.Head())
	if err != nil {
		return err
	}
	c := l.Plan(n.account.run, f.Method.Rounds, f.Privacy.Gaussian())
	e := signed.NewCheckpoint(n.claims.Key, n.claims.Scope, head, c)
	n.claims.Checkpoint = e.Append(nil)
	return nil
}

// learnCheckpoint stores a neighbor's checkpoint if the neighbor signed it in this run.
func (r *run) learnCheckpoint(peer *trust.Peer, b []byte) {
	e, err := signed.ParseEarlier(b)
	keys := r.claims.Keys(peer.Name)
	if err == nil {
		err = e.Verify(e.Scope, keys)
	}
	if err == nil && e.Scope == peer.Scope && e.Kind == signed.Checkpoint {
		first := !peer.Learned
		peer.Shown, peer.Learned = e.Ledger, true
		peer.Earlier = r.claims.Earlier(peer) // before the new checkpoint replaces the old one
		r.claims.Heads.Learn(keys, e)
		if first { // later checkpoints are saved at a tick, because a neighbor may send many
			err = r.claims.Heads.Save()
		}
	}
	if err != nil {
		r.log.Warn("discarding a neighbor's checkpoint", "neighbor", peer.Name, "err", err)
	}
}

// checkEarlier checks b, a statement about this member's ledgers, possibly from another run. by is the name of the
// neighbor that stored b. checkEarlier ignores b if none of the member's keys signed it.
func (r *run) checkEarlier(by string, b []byte) error {
	e, err := signed.ParseEarlier(b)
	if err == nil {
		err = e.Verify(e.Scope, r.claims.Keys(r.cfg.Name))
	}
	if err != nil {
		r.log.Warn("ignoring a neighbor's claim about another run of this node: the signature is not valid", "neighbor", by, "err", err)
		return nil
	}
	if err := r.compareLedger(by, e.Ledger); err != nil {
		return ending{err}
	}
	if l := r.cfg.Ledger; l != nil && e.Kind == signed.Checkpoint && e.LedgerID() != l.Head().ID {
		r.claims.Loses(e, by)
	}
	return nil
}

// inherit charges the ledger with the totals of the lost ledgers that neighbors have shown. It must not be called until
// every neighbor that the node works with has shown what it stores.
func (r *run) inherit() error {
	l, shown := r.cfg.Ledger, r.claims.Lost
	if l == nil || len(shown) == 0 {
		return nil
	}
	r.claims.Lost = map[string]*trust.Lost{}
	var list []*trust.Lost
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		if lost := shown[id]; l.Inherits(id) { // check all lost ledgers before charging any of them
			list = append(list, lost)
		} else {
			r.beside(id, lost.By)
		}
	}
	if len(list) == 0 {
		return nil
	}
	charged := r.charged()
	for _, lost := range list {
		if slices.ContainsFunc(list, func(other *trust.Lost) bool { return other.Includes(lost.LedgerID()) }) {
			continue
		}
		but := r.claims.Scope
		if slices.Contains(charged, lost.Scope) { // a takeover has charged the checkpoint's whole run
			but = lost.Scope
		}
		cost, limit := lost.Spent(but)
		cost.Unit = max(cost.Unit, lost.Unit)
		if err := l.Inherit(lost.LedgerID(), lost.By, cost, limit); err != nil {
			return fmt.Errorf("sdk: %q proves the cost recorded in a lost ledger of this member, but this cost "+
				"cannot be charged: %w", lost.By, err)
		}
		r.log.Warn("the ledger now includes the cost recorded in a lost ledger of this member", "lost_ledger",
			lost.LedgerID(), "proved_by", lost.By, "rho", cost.Rho, "rho_all", cost.All)
	}
	if err := r.account.covers(); err != nil {
		return fmt.Errorf("sdk: the ledger now includes the cost recorded in lost ledgers of this member, such as "+
			"ledger %s, proved by %q: %w", list[0].LedgerID(), list[0].By, err)
	}
	if err := r.checkpoint(); err != nil {
		return err
	}
	for _, j := range r.neighbors {
		if r.cases[j] == nil {
			r.probe(j, r.machine.Heard(j))
		}
	}
	return nil
}

// beside records a condition for certificates: this ledger does not include the releases counted in the member's other
// ledger, whose identifier is id. by is the name of the neighbor that holds a checkpoint of that other ledger.
func (r *run) beside(id, by string) {
	why := "may count the same data and is not counted here: this ledger was in use before a neighbor reported the other one"
	if r.cfg.Ledger.NeverUsed() {
		why = "counts other data: the operator has declared that no earlier run used the data of this ledger"
	}
	text := fmt.Sprintf("ledger %s of this member, of which %q holds a checkpoint, %s", id, by, why)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.claims.Beside, text) {
		r.claims.Beside = append(r.claims.Beside, text)
	}
}

// charged returns the scopes of the runs whose releases are in the ledger.
func (r *run) charged() (scopes []signed.Scope) {
	for _, of := range r.cfg.Ledger.Lifetime(r.cfg.Fleet.Privacy.Delta).Runs {
		var fleet [32]byte
		if _, err := hex.Decode(fleet[:], []byte(of.Fleet)); err == nil {
			scopes = append(scopes, signed.NewScope(of.Run, fleet, of.Member))
		}
	}
	return scopes
}
