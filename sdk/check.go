package sdk

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Check reports why a node cannot be created or cannot finish.
type Check struct {
	Config  error          // fields of Config are invalid; missing fields do not count
	State   error          // the stored state is unreadable, or belongs to another run, member or program
	Privacy error          // the rounds cost more than EpsilonLimit or LimitAll of Privacy; wraps [dpmech.ErrBudget]
	Ledger  error          // the ledger is rolled back, has releases that the state lacks, or has no room for the rest of the run
	Pair    error          // the one-time key of pairwise noise is missing, or another run used it
	Kept    *wire.Snapshot // the state from which the node would continue, or nil
	Space   int64          // bytes that the rest of the run needs on the disk of its state, roughly; 0 if unknown
	Changed string         // says that the data changed since Kept; otherwise empty
}

// Validate returns the errors in the fields of c. Missing fields do not count; only Fleet and Name are required. Validate
// reads no file and does not query the oracle. Data may decide whether it fails, and neighbors must not see the result: call
// it before the transport listens.
func (c Config) Validate() error { return c.validate(false) }

// Check applies the checks of [New] without creating a node. Only Fleet and Name are required. It changes nothing and
// does not query the oracle. read must return the state in the Store, or fs.ErrNotExist; nil means to load it from
// c.Store, if there is one. Do not load it from the Store of a running node: read it with [state.ReadSnapshot].
func (c Config) Check(read func() (*wire.Snapshot, error)) *Check {
	r := new(Check)
	if read == nil {
		read = c.newest
	}
	if r.Config = c.validate(false); c.plan == nil {
		return r
	}
	r.Privacy = c.plan.affordable()
	kept, err := read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.State = err
	default:
		if err := c.checkOwn(kept.Fleet, kept.Member, kept.Build); err != nil {
			r.State = c.inState(kept.State.Round, err)
			break
		}
		r.Kept = kept
		if c.Oracle != nil {
			_, r.Changed = c.presentData(kept.Data, kept.State.Round)
		}
	}
	last := cmp.Or(r.Kept, new(wire.Snapshot))
	if r.Config == nil && c.Samples > 0 {
		r.Space = c.space(r.Kept)
	}
	if r.Config == nil && c.agrees() && c.PairKeys != nil && !c.quiet(last.State.Round) {
		_, r.Pair = c.findPair(last.State.Round)
	}
	if c.Ledger != nil && !c.plan.fleet.Privacy.NonPrivate {
		r.Ledger = r.checkLedger(&c, last, read)
	}
	return r
}

// newest returns the newest state in the Store.
func (c *Config) newest() (*wire.Snapshot, error) {
	snaps, _, err := c.load()
	if len(snaps) == 0 {
		return nil, cmp.Or(err, fs.ErrNotExist)
	}
	return &snaps[0], nil
}

// space returns the bytes that the rest of the run needs for its slots, unless they exist, and for its logs.
func (c *Config) space(kept *wire.Snapshot) (bytes int64) {
	const line = 1 << 10 // an upper bound on what a release adds to log and ledger
	if kept != nil {
		return line * int64(c.plan.fleet.Method.Last()-kept.State.Round)
	}
	return line*int64(c.plan.fleet.Method.Last()) + 2*int64(c.snapshotSize(c.plan.machine(c.plan.number[c.Name], c.Samples)))
}

// snapshotSize returns the maximum number of bytes of a stored state.
func (c *Config) snapshotSize(m admm.Config) int {
	return wire.MaxSnapshot(c.plan.fleet.Dim, len(m.Neighbors), m.Estimator.Memory())
}

// checkLedger checks the ledger against the stored state and the cost of the rest of the run.
func (r *Check) checkLedger(c *Config, last *wire.Snapshot, read func() (*wire.Snapshot, error)) error {
	a, m := newAccount(c), c.plan.fleet.Method
	err := a.check(m, last.State.Round, last.Ledger)
	if err != nil && r.Kept != nil { // a running node may have advanced since the first read
		if now, e := read(); e == nil {
			err = a.check(m, now.State.Round, now.Ledger)
		}
	}
	return err
}
