package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/task/screen"
)

// data looks at the table that the node learns from, if it is one. Nothing fails for it: what it finds is in the output of check alone,
// and run does not look.
func (c *Checkup) data(ctx context.Context, node *fleetfile.Node, f *sdk.Fleet) {
	b := builtin.Of(node)
	if b == nil {
		return
	}
	type looked struct {
		report *screen.Report
		labels *screen.Relation
	}
	seen, err := cli.Prompt(ctx, func() (seen looked, err error) {
		s := b.Spec
		s.Records = f.Privacy.Unit == sdk.UnitRecord
		recipe, err := builtin.Task(f)
		if b.FitOwn {
			var set *task.Set
			if set, err = task.Load(s); err == nil {
				recipe, err = set.Recipe(b.Model, "own data")
			}
		}
		if err != nil || recipe == nil {
			return seen, err
		}
		var d *task.Data
		if seen.report, d, err = setup.Look(recipe, s, b.FitOwn); seen.report != nil {
			seen.labels = seen.report.Related(recipe, d)
		}
		return seen, err
	})
	if err != nil || seen.report == nil {
		return // why is said of the oracle
	}
	c.Data, c.Labels = seen.report, seen.labels
	var classes []string
	missing := 0
	for _, class := range c.Data.Classes {
		classes = append(classes, fmt.Sprintf("%d %q", class.Rows, class.Value))
	}
	for _, column := range c.Data.Columns {
		missing += column.Missing
	}
	text := fmt.Sprintf("%d rows", c.Data.Rows)
	if classes != nil {
		text += ": " + strings.Join(classes, ", ")
	}
	if missing > 0 {
		text += fmt.Sprintf("; %d cells are missing", missing)
	}
	c.ok("data", "%s", text)
	related := c.Labels != nil
	for _, s := range c.Data.Suspicions {
		related = related && s.Kind != screen.Labels
		c.warn(fmt.Sprintf("column %.40q", s.Column), "%s: %s", s.Text, setup.Cure(s, setup.Field))
	}
	if l := c.Labels; l != nil && l.Shuffles == 0 {
		c.ok("labels", "not checked: %d rows of the rarer class are too few", l.Rare)
	} else if related {
		c.ok("labels", "the other columns tell %.40q from the rest better than they tell all but %d of %d shuffles", l.Class, l.AsGood, l.Shuffles)
	}
}

// mostColumns is how many columns of a table check shows.
const mostColumns = 60

// table shows the columns of the node's data.
func (c *Checkup) table(t cli.Table) {
	if c.Data == nil {
		return
	}
	fmt.Fprintf(t, "\n%-24s %8s %10s %10s %10s  %s\n", "column", "missing", "lowest", "median", "highest", "the task expects")
	for i, column := range c.Data.Columns {
		if i == mostColumns {
			fmt.Fprintf(t, "and %d more\n", len(c.Data.Columns)-i)
			return
		}
		line := fmt.Sprintf("%-24.24s %8d", column.Name, column.Missing)
		var values []string
		for _, v := range column.Categories {
			values = append(values, fmt.Sprintf("%.20s (%d)", v.Value, v.Rows))
		}
		if n := column.Numbers; n != nil {
			line += fmt.Sprintf(" %10.4g %10.4g %10.4g", n.Low, n.Median, n.High)
			if n.Std > 0 {
				line += fmt.Sprintf("  %.4g, give or take %.4g", n.Mean, n.Std)
			}
		} else if values != nil {
			line += fmt.Sprintf(" %s", strings.Join(values, ", "))
		}
		fmt.Fprintf(t, "%s\n", cli.OneLine(line))
	}
}
