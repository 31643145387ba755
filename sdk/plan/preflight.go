package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest"
)

// PreflightReport says why a node cannot be made or come to its end, and what its run will be worth.
type PreflightReport struct {
	sdk.Check
	Oracle error // the query failed, did not end in time, or gave a loss that cannot be used

	Forecast *Outlook      // what the run will be worth; nil if it is not private, or the settings are wrong
	Answered time.Duration // how long the query took
	// Saddle is the size of a set of parameters of which either half, moved from a start at zeros, changes no loss, and all of
	// which together change one; 0 if none was found. Their gradient at zero is zero, as in hidden layers: the run then needs an
	// X0. It comes from the data: for the device alone.
	Saddle int
}

// Preflight is [sdk.Config.Check] with a forecast, and asks the oracle once, until ctx ends; where each record is protected, for
// up to 16 records, as the first ones may have no loss. If it answers and the run starts at zeros, a search for a saddle
// follows, of at most 5 seconds. It writes nothing: the node may be running. Only Fleet and Name are required. In place of the
// Store read returns what it keeps, or an fs.ErrNotExist.
func Preflight(ctx context.Context, cfg sdk.Config, read func() (*state.Snapshot, error)) *PreflightReport {
	r := &PreflightReport{Check: *cfg.Check(read)}
	f := cfg.Fleet
	if f == nil {
		return r
	}
	if r.Config == nil && !f.Privacy.NonPrivate {
		r.Forecast, r.Config = Forecast(f, cfg.Samples)
	}
	if cfg.Oracle != nil {
		began := time.Now()
		r.Oracle = tryOracle(ctx, cfg.Oracle, f, 0)
		for h := 1; r.Oracle != nil && f.Privacy.Unit == sdk.UnitRecord && h < min(cfg.Samples, 16); h++ {
			r.Oracle = tryOracle(ctx, cfg.Oracle, f, h) // a record that cannot be read has no loss
		}
		r.Answered = time.Since(began)
		if r.Oracle == nil && !slices.ContainsFunc(f.X0, func(v float32) bool { return v != 0 }) {
			r.Saddle = saddle(ctx, cfg.Oracle, f.Dim, max(1, cfg.Samples))
		}
	}
	return r
}

// tryOracle asks for the loss of a sample at the start, and waits for it no longer than ctx lasts.
func tryOracle(ctx context.Context, oracle sdk.Oracle, f *sdk.Fleet, sample int) error {
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
