package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Fitted is what fit prints about the files that it has written, and its JSON.
type Fitted struct {
	Task     string   `json:"task"` // the file
	Model    string   `json:"model"`
	Hidden   int      `json:"hidden,omitempty"`
	Dim      int      `json:"dim"`     // parameters, "dim" of the fleet file
	Classes  []string `json:"classes"` // none for a target
	FittedOn string   `json:"fitted_on"`
	ToldOf   []string `json:"missing_told_of,omitempty"` // with -missing indicator, the columns
	X0       string   `json:"x0,omitempty"`              // the file
	X0SHA256 string   `json:"x0_sha256,omitempty"`
	NeedsX0  bool     `json:"needs_x0"` // the model must not start at zeros

	untold bool // there are columns in which a gap elsewhere is filled without a word
}

// Fit is the command that fits how members prepare their data.
func Fit(_ context.Context, c *cli.Cmdline) error {
	o := setup.NewOptions(c)
	o.Nodes, o.Spec.Whole = 1, true
	o.RegisterSource(c)
	o.RegisterModel(c)
	c.Uint64Var(&o.Asked.Method.Seed, "seed", 1, "of the data split, generated data and the start of a perceptron")
	c.JSONFlag("")
	fittedOn := c.String("fitted-on", "", "`words` that say what the public data are, for the certificate of every "+
		"member")
	file := c.String("out", "", "write the task to this `file` (default standard output)")
	x0 := c.String("x0", "", "write the start of a perceptron to this `file`")
	if err := c.ParseArgs(); err != nil {
		return err
	}
	spec := o.DataSpec()
	var f cli.Faults
	o.Conflicts(&f)
	f = append(f, setup.WithFlags(spec.Validate()))
	if *fittedOn == "" {
		f.Add("-fitted-on is missing: say in a few words what the public data are")
	} else if err := task.CheckFittedOn(*fittedOn); err != nil {
		f.Add("-fitted-on: %w", err)
	}
	f.When(*x0 != "" && !o.HiddenLayer(), "-x0 %s: only for -model perceptron; softmax starts at zeros", *x0)
	if err := f.Usage(); err != nil {
		return err
	}
	if *x0 != "" && *x0 == *file {
		return cli.AsUsageError(fmt.Errorf("-out and -x0 are both %q, want two files", *file))
	}
	for _, path := range []string{*file, *x0} {
		if _, err := os.Lstat(path); path != "" && !errors.Is(err, os.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s is there already, want a name for a new file", path), err)
		}
	}
	text, recipe, err := FitRecipe(spec, o.ModelSpec(), *fittedOn)
	if err != nil {
		return err
	}
	start := recipe.Start(o.Asked.Method.Seed)
	r := Fitted{
		Task: *file, Model: recipe.Model.Name, Hidden: recipe.Model.Hidden, Dim: recipe.Dim(), Classes: recipe.Classes,
		FittedOn: recipe.FittedOn, X0: *x0, NeedsX0: start != nil,
	}
	if recipe.Missing != nil {
		r.ToldOf = recipe.Missing.Columns
	}
	r.untold = recipe.Missing != nil && strings.HasPrefix(o.Spec.Missing, "indicator") && len(r.ToldOf) < len(recipe.Columns)
	var files []cli.Written
	if *file != "" {
		files = append(files, cli.Written{Path: *file, Content: text})
	}
	if *x0 != "" {
		b := cli.AppendFloats(nil, start)
		files = append(files, cli.Written{Path: *x0, Content: b})
		sum := sha256.Sum256(b)
		r.X0SHA256 = hex.EncodeToString(sum[:])
	}
	if err := cli.WriteAll(files, false); err != nil {
		return err
	}
	if *file == "" {
		if _, err := c.Out.Write(text); err != nil {
			return err
		}
		r.write(cli.Table{Writer: c.Log})
		return nil
	}
	return c.Print(r, r.write)
}

// FitRecipe fits preprocessing on public data, and returns it with its text, which belongs in the Task of an sdk.Fleet.
// Of the fleet, recipe.Dim() is the dimension and recipe.Start(seed) the start.
func FitRecipe(spec task.Spec, model task.ModelSpec, fittedOn string) (text []byte, recipe *task.Recipe, err error) {
	if recipe, err = task.Fit(spec, model, fittedOn); err != nil {
		return nil, nil, setup.WithFlags(err)
	}
	text, err = builtin.MarshalTask(recipe)
	return text, recipe, err
}

func (r Fitted) write(t cli.Table) {
	of := fmt.Sprintf("%d classes", len(r.Classes))
	if r.Classes == nil {
		of = "a target"
	}
	t.Row("dim", "%d, of %s with %s", r.Dim, task.ModelSpec{Name: r.Model, Hidden: r.Hidden}, of)
	t.Row("fitted on", "%s", r.FittedOn)
	if told := strings.Join(r.ToldOf, ", "); r.untold {
		t.Row("missing", "told of in %s; a gap in another column is filled and not told of: name it, as in -missing "+
			"indicator:COLUMN,COLUMN, or all of them, as in 'indicator:*'", cmp.Or(told, "no column"))
	} else if told != "" {
		t.Row("missing", "told of in %s", told)
	}
	switch {
	case r.X0 != "":
		t.Row("x0", "{\"file\": %q, \"sha256\": %q}", r.X0, r.X0SHA256)
	case r.NeedsX0:
		t.Row("x0", "a start is needed that is not zero: -x0 writes one")
	}
}
