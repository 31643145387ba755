package node

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Applied is a model file at work, and the beginning of its JSON.
type Applied struct {
	Model      string `json:"model_sha256"`
	Run        string `json:"run"`
	Name       string `json:"name"`
	Round      int    `json:"round"`
	Done       bool   `json:"done"`
	NonPrivate bool   `json:"non_private"`
	Data       string `json:"data"`
	// Unknown are the values that were taken for none of a column's categories.
	Unknown []string `json:"unknown_categories,omitempty"`
	Classes []string `json:"classes,omitempty"`
	Target  string   `json:"target,omitempty"` // the column whose number is predicted, in place of classes

	file      *builtin.Model
	predictor *task.Predictor
	seed      uint64
}

// Predictions are what predict prints as JSON.
type Predictions struct {
	*Applied
	Columns []string    `json:"columns,omitempty"` // those that contributions are of
	Rows    []predicted `json:"rows"`
}

type predicted struct {
	Row          int       `json:"row"` // from 1, in the order of the data
	Class        string    `json:"class,omitempty"`
	Probability  []float64 `json:"probability,omitempty"` // of each class
	Number       *float64  `json:"number,omitempty"`      // of the target
	Contribution []float64 `json:"contribution,omitempty"`
}

// apply reads the command line that predict and evaluate share, and the model file. An error of f is one of the data.
func apply(c *cli.Cmdline, f func(a *Applied) error) (*Applied, error) {
	a := &Applied{}
	c.StringVar(&a.Data, "data", "", "the `source`: csv:FILE, csv:- for standard input, idx:DIR or synthetic:clinical")
	c.Uint64Var(&a.seed, "seed", 1000, "the seed of generated patients")
	unknown := c.Bool("unknown", false, "take a category that the model does not know for none of them, and say so; "+
		"otherwise it is an error")
	c.JSONFlag("")
	path, err := c.ParseFile()
	if err != nil {
		return nil, err
	}
	if a.Data == "" {
		return nil, cli.Usage("-data is missing, want csv:FILE or another source of the model's kind")
	}
	if strings.ToLower(filepath.Ext(path)) == ".npy" {
		return nil, cli.Usage("%s has numbers alone, want a model file: spade-edge export NODEFILE -out MODEL.json", path)
	}
	if a.file, err = builtin.ReadModel(path); err != nil {
		return nil, cli.AsUsageError(err)
	}
	if a.predictor, err = a.file.Predictor(); err != nil {
		return nil, err
	}
	m := a.file
	a.Model, a.Run, a.Name, a.NonPrivate = sdk.ModelHash(m.Weights), m.Run, m.Member, m.NonPrivate
	a.Round, a.Done, a.Classes = m.Round, m.Round == m.Rounds, m.Task.Classes
	if m.Task.Target != nil {
		a.Target = m.Task.Label
	}
	found := map[string]bool{}
	if *unknown {
		a.predictor.Unknown = func(column, value string) { found[fmt.Sprintf("%s=%s", column, value)] = true }
	}
	if err := f(a); err != nil {
		return nil, setup.WithFlags(err)
	}
	a.Unknown = slices.Sorted(maps.Keys(found))
	for _, v := range a.Unknown {
		fmt.Fprintf(c.Log, "unknown category, taken for none of the known ones: %q\n", v)
	}
	if !a.Done {
		fmt.Fprintf(c.Log, "the model is release %d of %d: its run was not finished\n", m.Round, m.Rounds)
	}
	return a, nil
}

// Predict is the command that applies a model file to samples.
func Predict(_ context.Context, c *cli.Cmdline) error {
	r := Predictions{Rows: []predicted{}}
	var said []task.Prediction
	var err error
	r.Applied, err = apply(c, func(a *Applied) (err error) {
		said, err = a.predictor.Predict(a.Data, os.Stdin, a.seed)
		return err
	})
	if err != nil {
		return err
	}
	for _, column := range r.file.Task.Columns {
		r.Columns = append(r.Columns, column.Name)
	}
	for i, s := range said {
		row := predicted{Row: i + 1, Probability: s.Probability, Contribution: s.Contribution}
		if r.Target != "" {
			row.Number = &said[i].Number
		} else {
			row.Class = r.Classes[s.Class]
		}
		r.Rows = append(r.Rows, row)
	}
	if c.JSON {
		return cli.WriteObject(c.Out, r)
	}
	w := csv.NewWriter(c.Out)
	head := []string{"row", cmp.Or(r.Target, "class")}
	for _, name := range r.Classes {
		head = append(head, "p_"+name)
	}
	for _, name := range r.Columns {
		head = append(head, "by_"+name)
	}
	_ = w.Write(head) // an error stays until the end
	for _, row := range r.Rows {
		cells := []string{strconv.Itoa(row.Row), row.Class}
		if row.Number != nil {
			cells[1] = cli.Digits(*row.Number)
		}
		for _, v := range slices.Concat(row.Probability, row.Contribution) {
			cells = append(cells, cli.Digits(v))
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return w.Error()
}

// Evaluation is what a model is worth on some data, and its JSON.
type Evaluation struct {
	*Applied
	Classification *task.ClassMetrics  `json:"classification,omitempty"`
	Regression     *task.NumberMetrics `json:"regression,omitempty"`
}

// Evaluate is the command that says what a model file is worth on labelled samples.
func Evaluate(_ context.Context, c *cli.Cmdline) error {
	var r Evaluation
	var err error
	r.Applied, err = apply(c, func(a *Applied) (err error) {
		r.Classification, r.Regression, err = a.predictor.Evaluate(a.Data, os.Stdin, a.seed)
		return err
	})
	if err != nil {
		return err
	}
	return c.Print(r, func(t cli.Table) {
		t.Row("model", "release %d of %d of run %q by %q, model_sha256 %s", r.Round, r.file.Rounds, r.Run, r.Name, r.Model)
		if m := r.Regression; m != nil {
			t.Row("samples", "%d, of %q", m.Samples, r.Target)
			t.Row("RMSE", "%s; always saying the mean: %.4g", number(&m.RMSE), m.MeanRMSE)
			t.Row("MAE", "%s; always saying the mean: %.4g", number(&m.MAE), m.MeanMAE)
			t.Row("R2", "%s; always saying the mean: 0", number(m.R2))
			t.Row("intervals", "95 %%, by the ends of brackets")
			return
		}
		classMetrics(t, r.Classification, r.Classes)
	})
}

// classMetrics prints what said classes are worth.
func classMetrics(t cli.Table, m *task.ClassMetrics, classes []string) {
	t.Row("accuracy", "%s of %d samples; always saying the most frequent class: %.2f %%", percent(&m.Accuracy), m.Samples,
		100*m.Majority)
	if b := m.Binary; b != nil {
		t.Row("sensitivity", "%s, of the samples of %q", percent(b.Sensitivity), classes[1])
		t.Row("specificity", "%s, of the samples of %q", percent(b.Specificity), classes[0])
		t.Row("PPV", "%s, of those said to be %q", percent(b.PPV), classes[1])
		t.Row("NPV", "%s, of those said to be %q", percent(b.NPV), classes[0])
		t.Row("AUC", "%s", number(b.AUC))
		t.Row("Brier", "%s", number(&b.Brier))
	}
	t.Row("macro F1", "%.4g", m.MacroF1)
	t.Row("intervals", "95 %%, by the ends of brackets")
	fmt.Fprintf(t, "\n%-20s", "is \\ said")
	for _, name := range classes {
		fmt.Fprintf(t, " %12.12s", name)
	}
	fmt.Fprintf(t, "  %-22s %s\n", "recall", "precision")
	for k, name := range classes {
		fmt.Fprintf(t, "%-20.20s", name)
		for _, count := range m.Confusion[k] {
			fmt.Fprintf(t, " %12d", count)
		}
		fmt.Fprintf(t, "  %-22s %s\n", percent(m.PerClass[k].Recall), percent(m.PerClass[k].Precision))
	}
	if m.Binary == nil {
		return
	}
	fmt.Fprintf(t, "\n%-20.20s %12s %12s  observed\n", "p of "+classes[1], "samples", "mean p")
	for k, tenth := range m.Binary.Calibration {
		if tenth.Samples > 0 {
			fmt.Fprintf(t, "%.1f to %-13.1f %12d %12.3f  %s\n", float64(k)/10, float64(k+1)/10, tenth.Samples, tenth.Said,
				percent(tenth.Found))
		}
	}
}

// percent is a share with its interval.
func percent(e *task.Estimate) string { return estimate(e, "%.2f %% [%.1f, %.1f]", 100) }

// number is a figure with its interval.
func number(e *task.Estimate) string { return estimate(e, "%.4g [%.4g, %.4g]", 1) }

func estimate(e *task.Estimate, format string, unit float64) string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf(format, unit*e.Value, unit*e.Low, unit*e.High)
}
