package sdk

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// loadJournal loads the stored journal. It fails if the journal contains evidence against this node.
func (n *Node) loadJournal() error {
	n.journal = state.Journal{Run: n.fleet.Run, Fleet: n.hash, Member: n.cfg.Name}
	if n.cfg.Store == nil {
		return nil
	}
	text, err := n.cfg.Store.Kept(state.JournalName)
	if err != nil {
		return err
	}
	kept, err := state.ParseJournal(text)
	if err != nil {
		return err
	}
	if text != nil {
		if err := checkOwn(n.hash, n.cfg.Name, kept.Fleet, kept.Member, build); err != nil {
			return fmt.Errorf("sdk: stored journal: %w", err)
		}
		n.journal = *kept
	}
	return n.loadEvidence()
}

func (n *Node) writeJournal(j *state.Journal) error {
	if n.cfg.Store == nil {
		return nil
	}
	text, err := j.Encode()
	if err == nil {
		err = n.cfg.Store.Keep(state.JournalName, text)
	}
	return err
}

// note changes the journal and stores it, immediately or, after an error, at a later tick.
func (n *Node) note(change func(j *state.Journal)) {
	n.mu.Lock()
	change(&n.journal)
	n.unkept = true
	n.mu.Unlock()
	n.keepNotes()
}

// keepNotes stores the changes that [Node.note] could not store, and reports whether all changes are now stored.
func (n *Node) keepNotes() bool {
	n.mu.Lock()
	var err error
	if n.unkept {
		err = n.writeJournal(&n.journal)
		n.unkept = err != nil
	}
	n.mu.Unlock() // unlock before logging: the log handler may call Status
	if err != nil {
		n.log.Error("the journal cannot be stored; the node will retry", "err", err)
	}
	return err == nil
}

func (n *Node) loadEvidence() error {
	for _, e := range n.journal.Evidence {
		if n.claims.Signing() {
			if err := e.Verify(n.fleet.Run, n.hash, n.cfg.Keys(e.Member)); err != nil {
				n.log.Warn("ignoring stored evidence: verification failed", "err", err)
				continue
			}
		}
		if e.Member == n.cfg.Name {
			n.convict(e)
			return fmt.Errorf("sdk: %v: %w; %s", e, ErrClone, findOther)
		}
		n.status.Evidence = append(n.status.Evidence, e)
	}
	return nil
}

func (r *run) keepEvidence(e signed.Evidence) {
	r.note(func(j *state.Journal) {
		r.status.Evidence = append(r.status.Evidence, e)
		j.Evidence = append(slices.Clone(j.Evidence), e)
	})
}

// convict deletes the private half of the node's one-time key if the evidence is signed with the node's current key, because the node can then
// never continue. If the evidence is signed only with a retired key, the node may continue once the key is removed from
// the fleet file.
func (n *Node) convict(e signed.Evidence) {
	if n.claims.Signing() && e.Verify(n.fleet.Run, n.hash, n.claims.Present()) == nil {
		n.dropPair()
	}
}
