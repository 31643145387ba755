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

// Fitted is the result of the fit command, printed as text or, with -json, as JSON.
type Fitted struct {
	Task     string   `json:"task"`
	Model    string   `json:"model"`
	Hidden   int      `json:"hidden,omitempty"`
	Dim      int      `json:"dim"`     // number of parameters, "dim" in the fleet file
	Classes  []string `json:"classes"` // empty for a numeric target
	FittedOn string   `json:"fitted_on"`

	Intervals int      `json:"intervals,omitempty"`       // of a survival task
	ToldOf    []string `json:"missing_told_of,omitempty"` // with -missing indicator: the columns with an indicator
}

// Fit is the command that fits the preprocessing for the members' data.
func Fit(_ context.Context, c *cli.Cmdline) error {
	o := setup.NewOptions(c)
	o.Nodes, o.Spec.Whole = 1, true
	o.RegisterSource(c)
	o.RegisterModel(c)
	c.Uint64Var(&o.Asked.Method.Seed, "seed", 1, "seed of the data split and of generated data")
	c.JSONFlag("")
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
	r := Fitted{
		Task: *file, Model: recipe.Model.Name, Hidden: recipe.Model.Hidden, Dim: recipe.Dim(), Classes: recipe.Classes,
		FittedOn: recipe.FittedOn,
	}
	if h := recipe.Survival; h != nil {
		r.Intervals = h.Cuts().Len()
	}
	if recipe.Missing != nil {
		r.ToldOf = recipe.Missing.Columns
	}
	if *file == "" {
		fmt.Fprintf(c.Out, "%s", text)
		r.write(cli.Table{Writer: c.Log})
		return nil
	}
	if err := cli.WriteAll([]cli.Written{{Path: *file, Content: text}}, false); err != nil {
		return err
	}
	return c.Print(r, r.write)
}

func (r Fitted) write(t cli.Table) {
	of := fmt.Sprintf("%d classes", len(r.Classes))
	switch {
	case r.Intervals > 0:
		of = fmt.Sprintf("%d intervals of time", r.Intervals)
	case r.Classes == nil:
		of = "a target"
	}
	t.Row("dim", "%d, of %s with %s", r.Dim, task.ModelSpec{Name: r.Model, Hidden: r.Hidden}, of)
	t.Row("fitted on", "%s", r.FittedOn)
	if r.ToldOf != nil {
		t.Row("missing", "indicated by a column each: %s", strings.Join(r.ToldOf, ", "))
	}
}
