package sdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spade-dfl/spade-edge/zoest"
)

// PreflightReport is what [Preflight] has found: for each subject nil, or why a node could not be made or would not come to its end.
type PreflightReport struct {
	Config  error // the settings, except for what is required and missing
	State   error // the kept state cannot be read, or is of another run, member or program
	Privacy error // the rounds cost more than Privacy.EpsilonLimit; wraps [dpmech.ErrBudget]
	Ledger  error // it is set back, knows of releases that the state has lost, or does not cover the rest of the run
	Oracle  error // the query failed, did not end in time, or gave a loss that is of no use

	Kept     *Kept         // what the node would go on from; nil if there is nothing
	Answered time.Duration // how long the query took
	Disk     int64         // bytes that states, log and ledger take at most; 0 if Samples is needed and missing
}

// Preflight applies the rules of [New] and one query at the start to the parts that a node is to be made of. It makes no node,
// draws no noise and writes nothing, so the node may be at work meanwhile. Of cfg only Fleet and Name are required; what is
// missing is not looked at. Store is left alone: read returns what it keeps, as [ReadKept] does, with an error around
// fs.ErrNotExist if that is nothing. Ledger may come from [dpmech.ReadLedger], made after ctx. The query ends with ctx.
func Preflight(ctx context.Context, cfg Config, read func() (*Kept, error)) *PreflightReport {
	r := new(PreflightReport)
	if _, r.Config = cfg.validate(); cfg.Fleet == nil {
		return r
	}
	f, hash := cfg.Fleet, cfg.Fleet.Hash()
	r.Privacy = f.affordable()
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
		r.Oracle = tryOracle(ctx, cfg.Oracle, f)
		r.Answered = time.Since(began)
	}
	if cfg.Samples > 0 || f.Method.Estimator != EstimatorCentered {
		const line = 512 // of the log and of the ledger, generously
		r.Disk = f.StoreSize(cfg.Name, cfg.Samples) + line*int64(f.Method.Rounds+f.Method.Cooldown)
		if cfg.Ledger != nil {
			r.Disk += line * int64(f.Method.Rounds)
		}
	}
	return r
}

// checkLedger compares the ledger with the kept state, and with what the rest of the run will cost.
func (r *PreflightReport) checkLedger(cfg *Config, hash [32]byte, read func() (*Kept, error)) error {
	l, f := cfg.Ledger, cfg.Fleet
	kept := r.Kept
	if kept == nil {
		kept = new(Kept)
	}
	if err := checkHead(l, kept.Ledger); err != nil {
		return err
	}
	reserved, marked := l.Last(f.Run, hash, cfg.Name), l.Marked(f.Run, hash, cfg.Name)
	err := checkLast(true, kept.Round, kept.Blank, reserved, marked)
	if err != nil && r.Kept != nil { // a node at work may have gone on since the state was read
		if now, e := read(); e == nil {
			err = checkLast(true, now.Round, now.Blank, reserved, marked)
		}
	}
	if err != nil {
		return err
	}
	return l.Covers(f.Run, hash, cfg.Name, f.Method.Rounds, f.Privacy.gaussian())
}

// tryOracle asks for one loss at the start, and waits for it no longer than ctx lasts.
func tryOracle(ctx context.Context, oracle Oracle, f *Fleet) error {
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
		var loss [1]float64
		done <- zoest.Ask(ctx, oracle, []Query{{Point: x}}, loss[:], 0)
	}()
	select {
	case err := <-done:
		if query := (*zoest.QueryError)(nil); errors.As(err, &query) {
			return fmt.Errorf("the loss at the start: %w", query.Err) // the sample and the point are no news
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
