package state

import (
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// Plan notes that a run is open, of so many rounds with the same parameters, and returns what its member tells the
// neighbors of this ledger. See [dpmech.Composition.Plan].
func (l *Ledger) Plan(run string, fleet [32]byte, member string, rounds int, g dpmech.Gaussian) dpmech.Checkpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.spent.Plan(runID(run, fleet, member), rounds, g)
}

// Inherits reports whether the ledger takes over what another ledger of its member has spent: it has counted no release
// yet, or has inherited from that one before. A ledger that is [NeverUsed], or that was at work already, counts other
// data.
func (l *Ledger) Inherits(lost string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log.header.NeverUsed || lost == l.log.header.ID {
		return false
	}
	released := func(line ledgerLine) bool { return line.inherited == nil }
	return l.log.inheritsFrom(lost) || !slices.ContainsFunc(l.log.lines[1:], released)
}

// Inherit counts what a lost ledger of the same data had spent, durably: what is new of it. The limit is not asked, for
// the releases were made; it refuses later ones. member is the neighbor that has proved it.
func (l *Ledger) Inherit(lost, member string, cost dpmech.Amount, limit *dpmech.Limit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	cost = l.log.spent.Unknown(lost, cost)
	if cost == (dpmech.Amount{}) && l.log.inheritsFrom(lost) { // the first line is there even if it costs nothing: more may be proved later
		return nil
	}
	in := dpmech.Inherited{Ledger: lost, Member: member, Limit: limit, Amount: cost}
	err := l.log.spent.CheckInherit(in) // it refuses what is above every total
	if err == nil {
		err = l.append(entry{Inherited: &in})
	}
	if err == nil {
		l.broken = l.acknowledge()
		err = l.broken
	}
	return l.fault(err)
}

// NeverUsed reports whether the operator has declared that no run used the data before, see [NeverUsed].
func (l *Ledger) NeverUsed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.header.NeverUsed
}
