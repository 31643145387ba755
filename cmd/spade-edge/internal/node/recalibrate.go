package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
)

// width returns the number of intercepts of a recalibration: that of the classes, or 1, or 2 for survival.
func (a *Applied) width() int {
	if a.Horizons != nil {
		return 2
	}
	return max(1, len(a.Classes))
}

// recalibration returns the recalibration of this site for the model, or nil. If the site has one for another model
// only, recalibration says so on log.
func (a *Applied) recalibration(log io.Writer) (*verdict.Recalibration, error) {
	if a.site == nil || a.Alone {
		return nil, nil
	}
	r, other, err := a.site.Recalibration(a.Model, a.width())
	if other {
		fmt.Fprintln(log, "not recalibrated: this site's recalibration is for another model; \"evaluate MODEL -recalibrate\" fits it to this one")
	}
	return r, err
}

// recalibrate fits a recalibration to the training rows of the node that exported the model.
func (a *Applied) recalibrate(ctx context.Context) (r *verdict.Recalibrated, err error) {
	switch {
	case a.Alone:
		return nil, cli.Usage("-recalibrate needs a shared model: this one was trained on the same rows")
	case a.site == nil:
		return nil, cli.Usage("-recalibrate needs the rows of a node on this device: use the file that \"spade-edge export NODEFILE -out " +
			"MODEL.json\" wrote here, from the node's present run, beside MODEL.json.node")
	}
	source, err := a.site.Node.Oracle.Open(ctx, a.site.Fleet)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return a.site.Recalibrate(source, a.file.Weights)
}

// recalibration prints a new recalibration.
func (r *Evaluation) recalibration(t cli.Table) {
	c := r.Recalibration
	t.Row("model", "release %d of %d of run %q by %q, model_sha256 %s", r.Round, r.file.Rounds, r.Run, r.Name, r.Model)
	switch len(c.Intercepts) {
	case 1:
		t.Row("fitted", "on %d training rows: intercept %.4g, slope %.4g", c.Rows, c.Intercepts[0], c.Slope)
	case 2:
		t.Row("fitted", "on %d training rows: intercept %.4g, slope %.4g of the log odds", c.Rows, c.Intercepts[1]-c.Intercepts[0], c.Slope)
	default:
		t.Row("fitted", "on %d training rows: temperature %.4g, biases %.3g", c.Rows, 1/c.Slope, c.Intercepts)
	}
	if c.Held == 0 {
		t.Wrap("held-out rows", "none, so nothing shows whether the recalibration helps; \"held_out\" in the node file names such rows")
	} else {
		r.calibration(t)
	}
	t.Wrap("kept", "%s, for this device only: predict uses it for this model until the file is removed", c.File)
	t.Wrap("", "(no privacy guarantee covers it)")
}

// calibration prints how the held-out rows fare before and after.
func (r *Evaluation) calibration(t cli.Table) {
	c, measure := r.Recalibration, "Brier"
	before, after := c.Before, c.After
	t.Row("held-out rows", "%d", c.Held)
	for j, h := range before.Horizons {
		t.Row("survival "+h.Time, "%.2f %% before, %.2f %% after; observed %s; Brier %s before, %s after", 100*h.Said, 100*after.Horizons[j].Said,
			percent(h.Observed), number(h.Brier), number(after.Horizons[j].Brier))
	}
	if r.Target != "" {
		measure = "RMSE"
		t.Row("mean", "%.4g before, %.4g after; observed %.4g", before.Said[0], after.Said[0], c.Observed[0])
	}
	for k, name := range r.Classes {
		if k > 0 || len(r.Classes) > 2 {
			t.Row("mean p of "+name, "%.2f %% before, %.2f %% after; observed %.2f %%", 100*before.Said[k], 100*after.Said[k], 100*c.Observed[k])
		}
	}
	t.Row(measure, "%.4g before, %.4g after", before.Error, after.Error)
	if after.Error >= before.Error {
		t.Wrap("warning", "the recalibration does not improve the held-out rows: remove its file to predict without it")
	}
	if len(before.Tenths) == 0 {
		return
	}
	fmt.Fprintf(t, "\n%-14.14s %12s %7s %9s %12s %7s %9s\n", "p of "+r.Classes[1], "before: rows", "mean p", "observed", "after: rows", "mean p",
		"observed")
	for k, was := range before.Tenths {
		if is := after.Tenths[k]; was.Samples+is.Samples > 0 {
			fmt.Fprintf(t, "%.1f to %-7.1f %s %s\n", float64(k)/10, float64(k+1)/10, tenth(was), tenth(is))
		}
	}
	fmt.Fprintln(t)
}

func tenth(v score.Tenth) string {
	if v.Found == nil {
		return fmt.Sprintf("%12d %7s %9s", 0, "-", "-")
	}
	return fmt.Sprintf("%12d %7.3f %9.3f", v.Samples, v.Said, v.Found.Value)
}
