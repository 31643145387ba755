package sdk

import (
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// account counts the run's releases that use data, within the run's limit, and charges them to the ledger. It is nil if the
// run is not private.
type account struct {
	ledger *state.Ledger // nil: only this run's releases are counted
	run    certificate.RunID
	cost   dpmech.Gaussian // the clip and noise of each release with data, which determine its cost
	rounds int             // planned rounds with data

	reserved, marked int // the last rounds of this run that the ledger had reserved and marked when newAccount ran

	limit  *dpmech.Limit
	mu     sync.Mutex    // guards spends
	spends dpmech.Spends // the counted releases
}

func newAccount(c *Config) *account {
	f := c.plan.fleet
	if f.Privacy.NonPrivate {
		return nil
	}
	hash := c.plan.hash()
	a := &account{ledger: c.Ledger, run: certificate.RunID{Run: f.Run, Fleet: hex.EncodeToString(hash[:]), Member: c.Name},
		cost: f.Privacy.Gaussian(), rounds: f.Method.Rounds, limit: f.Privacy.Limit()}
	if i, known := c.plan.number[c.Name]; known && f.PairKeys != nil {
		a.run.PairKey = f.PairKeys[i].String()
	}
	a.reserved, a.marked = a.inLedger()
	return a
}

// inLedger returns this run's last reserved and last marked rounds in the ledger, or zeros without a ledger.
func (a *account) inLedger() (reserved, marked int) {
	if a == nil || a.ledger == nil {
		return 0, 0
	}
	return a.ledger.Last(a.run), a.ledger.Marked(a.run)
}

// check returns an error unless the run can continue from the stored state of the given release (0 for none), in which
// head is the ledger's position: the ledger must not be older than the state, must have no release that the state lacks
// (see [dpmech.CheckResume]), and must have time and budget for the rest of the run. check changes nothing.
func (a *account) check(m Method, release int, head string) error {
	if a == nil {
		return nil
	}
	if err := a.ledger.CheckHead(head); err != nil {
		return err
	}
	round := m.Data(release)
	if err := dpmech.CheckResume(round, a.reserved, a.marked); err != nil {
		return fmt.Errorf("%w (%w)", trust.Lost(fmt.Sprintf("sdk: the ledger has release %d of this run", a.reserved), round, ""), err)
	}
	if a.ledger == nil {
		return nil
	}
	if a.reserved < a.rounds {
		if err := a.ledger.CheckTime(time.Now()); err != nil {
			return err
		}
	}
	return a.ledger.Covers(a.run, a.rounds, a.cost)
}

// resume counts the given number of releases with data, which a stored state contains. head is the ledger's
// position when the state was stored, or empty if the node had no ledger at the time. If head is empty, resume charges
// these releases to the current ledger.
func (a *account) resume(releases int, head string) error {
	if a == nil || releases == 0 {
		return nil
	}
	a.spends = dpmech.Spends{{First: 1, Rounds: releases, Gaussian: a.cost}}
	if head != "" || a.ledger == nil {
		return nil
	}
	for round := 1; round <= releases; round++ {
		if err := a.ledger.Reserve(a.run, round, a.cost); err != nil {
			return fmt.Errorf("sdk: release %d was made before the run had a ledger, and now cannot be charged to "+
				"the ledger: %w", round, err)
		}
	}
	return nil
}

// reserve counts a release and charges it to the ledger. It must be called before the noise is drawn. If reserve
// returns an error, nothing is charged. A charge to the ledger survives a crash.
func (a *account) reserve(round int) error {
	if a == nil {
		return nil
	}
	spends, err := a.spends.With(round, a.cost, a.limit)
	if err != nil {
		return fmt.Errorf("sdk: release %d was not made: %w", round, err)
	}
	if a.ledger != nil {
		// The ledger charges each round only once. If another node with this name has charged this round since
		// newAccount ran, this node's release would cost nothing, so it must be refused.
		if last, marked := a.inLedger(); round <= last && round > a.reserved || round <= marked && round > a.marked {
			return fmt.Errorf("sdk: release %d was not made: another node with the same name has already charged the "+
				"release to the ledger: %w", round, state.ErrRollback)
		}
		if err := a.ledger.Reserve(a.run, round, a.cost); err != nil {
			return fmt.Errorf("sdk: release %d was not made: %w", round, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spends = spends
	return nil
}

// mark records in the ledger that neighbors may already hold the releases up to and including number round. It must be
// called before the node sends that release.
func (a *account) mark(round int) error {
	if a == nil || a.ledger == nil || round < 1 {
		return nil
	}
	if err := a.ledger.Mark(a.run, round); err != nil {
		return fmt.Errorf("sdk: release %d was not sent, because the ledger could not mark the release as sent: %w", round, err)
	}
	return nil
}

func (a *account) total() dpmech.Total {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spends.Total()
}
