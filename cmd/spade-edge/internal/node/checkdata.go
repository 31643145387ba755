package node

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// losses reports what is remarkable in the losses that were tried, and in the restarts of the program meanwhile. It warns of
// a number of samples for which a round lasts longer than a minute, or a node needs more than a gigabyte of memory.
func (c *Checkup) losses(f *sdk.Fleet, own *fleetfile.Source, r *plan.PreflightReport, restarts int, restart error) {
	l := r.Losses
	if own.Asked != nil && r.Oracle == nil {
		for _, remark := range l.Remarks {
			c.warn("oracle", "%s", remark)
		}
	}
	if restarts > 0 {
		c.warn("oracle", "%d queries took %d starts of the program, and each takes time. It ended last because: %v", l.Queries, 1+restarts, restart)
	}
	queries, memory := plan.Cost(f, own.Samples)
	if round := float64(queries) * l.Each.Seconds(); round > 60 || memory > 1e9 {
		c.warn("cost", "%d samples need about %s of memory, besides the data, and each round asks for %d losses, about %s at %v each: "+
			"a smaller -batch or -tau, or groups of samples as one, make a round shorter", own.Samples, cli.BytesText(memory), queries,
			cli.Duration(round), l.Each)
	}
}

// rows reports the rows of a table that have no effect. It fails for a table with too few readable rows, although "run"
// only warns: whether a node starts is visible to others, so it must not depend on the content of one record.
func (c *Checkup) rows(r fleetfile.Rows) {
	const item = "rows"
	lost, beyond := fleetfile.Rows{All: r.All, Lost: r.Lost}.Counts(), fleetfile.Rows{All: r.All, Beyond: r.Beyond}.Counts()
	if share := float64(r.Lost) / float64(max(1, r.All)); share > c.lost || r.All > 0 && r.Lost == r.All {
		c.fail(item, cli.ExitFailed, fmt.Errorf("%s (%.1f %%; -unreadable allows %.4g %%): %s", lost, 100*share, 100*c.lost, r.Why()))
	} else if r.Lost > 0 {
		c.warn(item, "%s: %s", lost, r.Why())
	}
	if r.Beyond > 0 {
		c.warn(item, "%s: a fleet with more places uses them", beyond)
	}
}

// backwards warns if the model that the run starts from ranks the node's rows the wrong way round.
func (c *Checkup) backwards(own *fleetfile.Source, f *sdk.Fleet) {
	recipe, _ := builtin.Task(f)
	if moved := slices.ContainsFunc(f.X0, func(x float32) bool { return x != 0 }); moved && recipe != nil && recipe.Model.Hidden == 0 {
		if text := verdict.Backwards(own, f.X0, "the model that the run starts from"); text != "" {
			c.warn("labels", "%s", text)
		}
	}
}

// data inspects the node's table, if the node learns from a table. Its findings do not make "spade-edge check" fail:
// "spade-edge run" does not inspect the table, so the node would start anyway.
func (c *Checkup) data(ctx context.Context, node *fleetfile.Node, f *sdk.Fleet) {
	b := builtin.Of(node)
	if b == nil {
		return
	}
	var labels *screen.Relation
	seen, err := cli.Prompt(ctx, func() (*screen.Report, error) {
		s := b.Spec
		s.Records = f.Privacy.Unit == dpmech.Record
		recipe, err := builtin.Task(f)
		if b.FitOwn {
			recipe, err = task.Fit(s, b.Model, "own data")
		}
		if err != nil || recipe == nil {
			return nil, err
		}
		report, d, err := setup.Look(recipe, s, b.FitOwn)
		if report != nil {
			labels = report.Related(recipe, d)
			screen.Near(recipe, []*screen.Report{report}, []string{filepath.Base(strings.TrimPrefix(s.Source, "csv:"))})
		}
		return report, err
	})
	if err != nil || seen == nil || seen.Rows == 0 {
		return // the check of the oracle or of the rows reports the reason
	}
	c.Data = seen
	text, missing := fmt.Sprintf("%d rows", seen.Rows), 0
	for _, class := range seen.Classes {
		text += fmt.Sprintf(", %d %q", class.Rows, class.Value)
	}
	for _, column := range seen.Columns {
		missing += column.Missing
	}
	c.ok("data", "%s; %d cells are missing", text, missing)
	for _, s := range seen.Suspicions {
		item := "data"
		if s.Column != "" {
			item = fmt.Sprintf("column %.40q", s.Column)
		}
		c.warn(item, "%s: %s", s.Text, setup.Cure(s, `"na": ["%s"] in the node file's oracle`))
	}
	switch l := labels; {
	case l == nil:
	case l.Shuffles == 0:
		c.warn("labels", "not checked: %d rows of the rarer class are too few", l.Rare)
	case !l.Chance():
		c.ok("labels", "the other columns predict %.40q better than all but %d of %d shuffles of it", l.Class, l.AsGood, l.Shuffles)
	}
}

const mostColumns = 60

// table prints the columns of the node's data.
func (c *Checkup) table(t cli.Table) {
	if c.Data == nil {
		return
	}
	fmt.Fprintf(t, "\n%-24s %8s %10s %10s %10s  %s\n", "column", "missing", "lowest", "median", "highest", "the task expects")
	for _, column := range c.Data.Columns[:min(mostColumns, len(c.Data.Columns))] {
		var values []string
		for _, v := range column.Categories {
			values = append(values, fmt.Sprintf("%.20s (%d)", v.Value, v.Rows))
		}
		line := fmt.Sprintf("%-24.24s %8d %s", column.Name, column.Missing, strings.Join(values, ", "))
		if values == nil && column.Missing < c.Data.Rows {
			line += fmt.Sprintf("%10.4g %10.4g %10.4g", column.Low, column.Median, column.High)
			switch {
			case column.Std > 0:
				line += fmt.Sprintf("  %.4g, give or take %.4g", column.Mean, column.Std)
			case column.Mean > 0: // of times, whose spread is not known
				line += fmt.Sprintf("  about %.4g", column.Mean)
			}
		}
		fmt.Fprintf(t, "%s\n", cli.OneLine(line))
	}
}
