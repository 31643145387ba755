package sdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest"
)

// PreflightReport says why a node cannot be made or come to its end.
type PreflightReport struct {
	Config  error // the settings, except for what is missing
	State   error // the stored state cannot be read, or is of another run, member or program
	Privacy error // the rounds cost more than Privacy.EpsilonLimit; wraps [dpmech.ErrBudget]
	Ledger  error // it was set back, knows of releases that the state has lost, or does not cover the rest of the run
	Oracle  error // the query failed, did not end in time, or gave a loss that cannot be used

	Forecast *Forecast       // what the run will be worth; nil if it is not private, or the settings are wrong
	Kept     *state.Snapshot // what the node would go on from; nil if there is nothing
	Answered time.Duration   // how long the query took
	// Saddle is the size of a set of parameters of which either half, moved from a start at zeros, changes no loss, and all of
	// which together change one; 0 if none was found. Their gradient at zero is zero, as in hidden layers: the run then needs an
	// X0. It comes from the data: for the device alone.
	Saddle int
}

// Preflight applies the rules of [New], and asks the oracle once, until ctx ends; where each record is protected, for up to
// 16 records, as the first ones may have no loss. If it answers and the run starts at zeros, a search for a saddle follows, of
// at most 5 seconds. It writes nothing: the node may be running. Only Fleet and Name are
// required. In place of the Store read returns what it keeps, or an fs.ErrNotExist.
func Preflight(ctx context.Context, cfg Config, read func() (*state.Snapshot, error)) *PreflightReport {
	r := new(PreflightReport)
	if _, r.Config = cfg.validate(false); cfg.Fleet == nil {
		return r
	}
	f, hash := cfg.Fleet, cfg.Fleet.Hash()
	r.Privacy = f.affordable()
	if r.Config == nil && !f.Privacy.NonPrivate {
		r.Forecast, r.Config = f.Forecast(cfg.Samples)
	}
	kept, err := read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.State = err
	default:
		r.State = checkOwn(hash, cfg.Name, kept.Fleet, kept.Member, kept.Build)
	}
	if err == nil && r.State == nil {
		r.Kept = kept
	}
	if cfg.Ledger != nil && !f.Privacy.NonPrivate {
		r.Ledger = r.checkLedger(&cfg, hash, read)
	}
	if cfg.Oracle != nil {
		began := time.Now()
		r.Oracle = tryOracle(ctx, cfg.Oracle, f, 0)
		for h := 1; r.Oracle != nil && f.Privacy.Unit == UnitRecord && h < min(cfg.Samples, 16); h++ {
			r.Oracle = tryOracle(ctx, cfg.Oracle, f, h) // a record that cannot be read has no loss
		}
		r.Answered = time.Since(began)
		if r.Oracle == nil && !slices.ContainsFunc(f.X0, func(v float32) bool { return v != 0 }) {
			r.Saddle = saddle(ctx, cfg.Oracle, f.Dim, max(1, cfg.Samples))
		}
	}
	return r
}

// checkLedger compares the ledger with the stored state, and with what the rest of the run will cost.
func (r *PreflightReport) checkLedger(cfg *Config, hash [32]byte, read func() (*state.Snapshot, error)) error {
	kept := r.Kept
	if kept == nil {
		kept = new(state.Snapshot)
	}
	if err := cfg.Ledger.CheckHead(kept.Ledger); err != nil {
		return err
	}
	a, err := newAccount(cfg.Fleet, hash, cfg.Name, cfg.Ledger)
	if err != nil {
		return err
	}
	a.whole = kept.Replaced
	err = a.check(true, kept.Round)
	if err != nil && r.Kept != nil { // a running node may have gone on since the state was read
		if now, e := read(); e == nil {
			err = a.check(true, now.Round)
		}
	}
	if err != nil {
		return err
	}
	return a.covers()
}

// tryOracle asks for the loss of a sample at the start, and waits for it no longer than ctx lasts.
func tryOracle(ctx context.Context, oracle Oracle, f *Fleet, sample int) error {
	x := f.X0
	if x == nil {
		x = make([]float32, f.Dim)
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("it has panicked: %v", p)
			}
		}()
		loss, err := oracle.Loss(ctx, x, sample)
		if err == nil && !zoest.Usable(loss) {
			err = fmt.Errorf("the loss at the start is %v, want a number of size at most 1e30", loss)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
