package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// PreflightReport lists what prevents a node from starting or finishing, and forecasts the value of its run.
type PreflightReport struct {
	sdk.Check
	Oracle error // the query failed, timed out, or returned an unusable loss; or [Examine] failed

	Forecast *Outlook      // nil if the run is not private, or the settings are wrong
	Answered time.Duration // duration of the first query with a loss
	Losses   *Losses       // the result of [Examine]; nil without a loss
	// Saddle is the size of a set of parameters that changes a loss if all of them move away from zero, although moving
	// either half of them alone does not; 0 if Preflight found no such set. Networks with hidden layers have such sets:
	// at zero, the gradient with respect to these parameters is zero, so the run needs a nonzero X0. Saddle depends on
	// the data: keep it on the device.
	Saddle int
}

// Preflight runs the checks of [sdk.Config.Check], forecasts the run, and asks the oracle for the loss of one sample.
// With record-level privacy, it tries up to 16 records until one has a loss. If the oracle returns a loss, Preflight
// examines it ([Examine]) for at most half of the time that ctx leaves and, if the run starts at zero, searches for a
// saddle for at most 5 seconds. It stops waiting for the oracle when ctx ends.
//
// Preflight writes nothing: the node may be running. In cfg only Fleet and Name are required. Preflight calls the
// function read in place of cfg.Store.Load: read returns the stored snapshot, or fs.ErrNotExist; nil means to load it.
func Preflight(ctx context.Context, cfg sdk.Config, read func() (*wire.Snapshot, error)) *PreflightReport {
	var p *sdk.Plan
	if cfg.Fleet != nil {
		if plan, err := cfg.Fleet.Plan(); err == nil {
			p, cfg.Fleet = plan, plan
		}
	}
	r := &PreflightReport{Check: *cfg.Check(read)}
	if p == nil {
		return r
	}
	f := p.Fleet()
	if r.Config == nil && !f.Privacy.NonPrivate {
		r.Forecast, r.Config = Forecast(p, cfg.Samples)
	}
	if cfg.Oracle != nil {
		began, h := time.Now(), 0
		r.Oracle = tryOracle(ctx, cfg.Oracle, f, 0)
		for r.Oracle != nil && f.Privacy.Unit == dpmech.Record && h < min(cfg.Samples, 16)-1 {
			h, began = h+1, time.Now()
			r.Oracle = tryOracle(ctx, cfg.Oracle, f, h) // an unreadable record has no loss
		}
		r.Answered = time.Since(began)
		if r.Oracle == nil && r.Config == nil {
			within, cancel := ctx, func() {}
			if end, ok := ctx.Deadline(); ok {
				within, cancel = context.WithTimeout(ctx, time.Until(end)/2)
			}
			r.Losses, r.Oracle = Examine(within, cfg.Oracle, f, max(1, cfg.Samples), h)
			cancel()
		}
		if r.Oracle == nil && !slices.ContainsFunc(f.X0, func(v float32) bool { return v != 0 }) {
			r.Saddle = saddle(ctx, cfg.Oracle, f.Dim, max(1, cfg.Samples))
		}
	}
	return r
}

// tryOracle queries the loss of a sample at the run's initial parameters. It gives up when ctx ends.
func tryOracle(ctx context.Context, oracle sdk.Oracle, f *sdk.Fleet, sample int) error {
	x := f.X0
	if x == nil {
		x = make([]float32, f.Dim)
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("the oracle panicked: %v", p)
			}
		}()
		loss, err := oracle.Loss(ctx, x, sample)
		if err == nil && !zoest.Usable(loss) {
			err = fmt.Errorf("the loss at the start vector is %v, want at most 1e30 in absolute value", loss)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // says more
		return err
	case <-time.After(time.Second):
		return fmt.Errorf("the oracle has not answered, and ignores its context: %w", ctx.Err())
	}
}
