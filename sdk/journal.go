package sdk

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// loadJournal takes over what the store has. Evidence against the node itself ends it.
func (n *Node) loadJournal() error {
	n.journal = state.Journal{Run: n.cfg.Fleet.Run, Fleet: n.hash, Member: n.cfg.Name}
	if stop := n.cfg.Fleet.Stop; stop != nil {
		n.stops.Enough = stop.Members
	}
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
	if text != nil && (kept.Run != n.journal.Run || kept.Fleet != n.hash || kept.Member != n.cfg.Name) {
		return fmt.Errorf("sdk: the stored journal is of %q in run %q with fleet %x, want %q in run %q with %x", kept.Member, kept.Run,
			kept.Fleet[:8], n.cfg.Name, n.journal.Run, n.hash[:8])
	}
	if text != nil {
		n.journal = *kept
	}
	n.loadStops()
	return n.loadEvidence()
}

// keepJournal makes the journal durable as it is after a change, which replaces lists and changes none of them. After an
// error the journal is as before. n.mu is held.
func (n *Node) keepJournal(change func(j *state.Journal)) error {
	j := n.journal
	change(&j)
	if n.cfg.Store != nil {
		text, err := j.Encode()
		if err == nil {
			err = n.cfg.Store.Keep(state.JournalName, text)
		}
		if err != nil {
			return err
		}
	}
	n.journal = j
	return nil
}

func (n *Node) loadEvidence() error {
	for _, e := range n.journal.Evidence {
		if n.claims.Signing() {
			if err := e.Verify(n.cfg.Fleet.Run, n.hash, n.cfg.Keys(e.Member)); err != nil {
				n.log.Warn("stored evidence does not count", "err", err)
				continue
			}
		}
		if e.Member == n.cfg.Name {
			n.convict(e)
			return fmt.Errorf("sdk: %v: %w; %s", e, ErrClone, findOther)
		}
		n.status.Evidence = append(n.status.Evidence, e)
		if j, known := n.number[e.Member]; known && n.claims.Peers[j] != nil {
			n.claims.Peers[j].Evidence = &e
		}
	}
	return nil
}

// keepEvidence notes evidence in the status and in the journal.
func (r *run) keepEvidence(e signed.Evidence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Evidence = append(r.status.Evidence, e)
	err := r.keepJournal(func(j *state.Journal) { j.Evidence = append(slices.Clone(j.Evidence), e) })
	if err != nil {
		r.log.Error("evidence cannot be stored", "evidence", e.String(), "err", err)
	}
}

// convict removes the secrets of a node that can never continue, as its present key has signed evidence against it. What
// a retired key has signed counts only until the fleet file drops that key.
func (n *Node) convict(e signed.Evidence) {
	if n.claims.Signing() && e.Verify(n.cfg.Fleet.Run, n.hash, n.claims.Present()) == nil {
		n.dropSecrets()
	}
}
