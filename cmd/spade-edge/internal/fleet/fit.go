// Package fleet implements the commands that create and change the files of a fleet: fit, keygen, init and fleet.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

// Fit is the command that fits the preprocessing for the members' data.
func Fit(_ context.Context, c *cli.Cmdline) error {
	o := setup.NewOptions(c)
	o.Nodes, o.Spec.Whole = 1, true
	o.RegisterSource(c)
	o.RegisterModel(c)
	c.Uint64Var(&o.Asked.Method.Seed, "seed", 1, "seed of the data split and of generated data")
	fittedOn := c.String("fitted-on", "", "what the public data is, in a few `words`, for the certificate of every member")
	file := c.String("out", "", "write the task to this `file` (default standard output)")
	if err := c.ParseArgs(); err != nil {
		return err
	}
	spec := o.DataSpec()
	var f cli.Faults
	o.Conflicts(&f)
	f = append(f, setup.WithFlags(spec.Validate()))
	err := task.CheckFittedOn(*fittedOn)
	f.When(err != nil, "-fitted-on: %w", err)
	if err := f.Usage(); err != nil {
		return err
	}
	if _, err := os.Lstat(*file); *file != "" && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s already exists: give the name of a new file", *file), err)
	}
	recipe, err := task.Fit(spec, o.ModelSpec(), *fittedOn)
	if err != nil {
		return setup.WithFlags(err)
	}
	text, err := builtin.MarshalTask(recipe)
	if err != nil {
		return err
	}
	setup.Suspect(c.Log, recipe, spec, true)
	if *file == "" {
		fmt.Fprintf(c.Out, "%s", text)
		fitted(cli.Table{Writer: c.Log}, recipe)
		return nil
	}
	if err := cli.WriteAll([]cli.Written{{Path: *file, Content: text}}, false); err != nil {
		return err
	}
	fitted(cli.Table{Writer: c.Out}, recipe)
	return nil
}

// fitted prints what the recipe is for.
func fitted(t cli.Table, r *task.Recipe) {
	of := fmt.Sprintf("%d classes", len(r.Classes))
	switch {
	case r.Survival != nil:
		of = fmt.Sprintf("%d intervals of time", r.Survival.Cuts().Len())
	case r.Classes == nil:
		of = "a target"
	}
	t.Row("dim", "%d, of %s with %s", r.Dim(), r.Model, of)
	t.Row("fitted on", "%s", r.FittedOn)
	if r.Missing != nil && r.Missing.Columns != nil {
		t.Row("missing", "indicated by a column each: %s", strings.Join(r.Missing.Columns, ", "))
	}
}
