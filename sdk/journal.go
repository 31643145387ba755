package sdk

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// loadJournal loads the stored journal. It fails if the journal contains evidence against this node.
func (n *Node) loadJournal() error {
	if n.cfg.Store == nil {
		return nil
	}
	text, err := n.cfg.Store.Kept(state.JournalName)
	if text == nil || err != nil {
		return err
	}
	kept, err := state.ParseJournal(text)
	if err != nil {
		return err
	}
	if err := n.cfg.checkOwn(kept.Fleet, kept.Member, build); err != nil {
		return fmt.Errorf("sdk: stored journal: %w", err)
	}
	v := n.trust.Load(kept)
	n.write(v.Notes)
	if v.Exposed {
		n.secrets.drop(n.log)
	}
	return v.Why
}

// keep stores the journal if it has changed since it was stored, and shows in status and certificate what it contains. If
// it cannot be stored, the next call of keep tries again.
func (n *Node) keep() {
	if n.trust.Unstored {
		text, err := n.trust.Journal.Encode()
		if err == nil && n.cfg.Store != nil {
			err = n.cfg.Store.Keep(state.JournalName, text)
		}
		n.trust.Unstored = err != nil
		if err != nil {
			n.log.Error("the journal cannot be stored; the node will retry", "err", err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.show()
}

// show copies what status and certificate need from package trust. The caller holds n.mu.
func (n *Node) show() {
	n.public = n.trust.Public
	for i, j := range n.neighbors {
		if q := n.trust.Dropped(j); q != nil {
			n.status.Neighbors[i].Quarantine = *q
		}
	}
}

func (n *Node) write(notes []trust.Note) {
	for _, note := range notes {
		n.log.Log(context.Background(), note.Level, note.Text, note.Args...)
	}
}

// rememberHeads stores, for later runs, what neighbors have signed about their ledgers.
func (n *Node) rememberHeads() {
	for _, err := range n.trust.Remember() {
		n.log.Error("a neighbor's ledger is not remembered for later runs", "err", err)
	}
	if err := n.cfg.Ledger.Heads().Save(); err != nil {
		n.log.Error("the signed checkpoints of neighbors cannot be stored", "err", err)
	}
}
