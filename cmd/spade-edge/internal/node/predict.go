package node

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/sdk"
)

// Applied describes the model file that the predict or evaluate command applies. The JSON output of both commands
// begins with the fields of Applied.
type Applied struct {
	Model      string `json:"model_sha256"`
	Run        string `json:"run"`
	Name       string `json:"name"`
	Round      int    `json:"round"`
	Done       bool   `json:"done"`
	NonPrivate bool   `json:"non_private"`
	Data       string `json:"data"`
	// Unknown lists values in the data that are not among the known categories of their column.
	Unknown  []string `json:"unknown_categories,omitempty"`
	Classes  []string `json:"classes,omitempty"`
	Target   string   `json:"target,omitempty"`   // the column to predict, if it is numeric
	Horizons []string `json:"horizons,omitempty"` // of a model of survival
	// Far lists columns with values outside the range on which the preprocessing was fitted.
	Far       []screen.Suspicion `json:"far,omitempty"`
	Threshold *builtin.Threshold `json:"threshold,omitempty"` // from a site's copy
	Alone     bool               `json:"alone,omitempty"`     // whether it is a site's own model
	Verdict   *verdict.Verdict   `json:"verdict,omitempty"`   // of the node on this device that exported the file

	site      *verdict.Site // the node on this device that exported the file from its present run, or nil
	file      *builtin.Model
	cuts      survival.Intervals // of a model of survival
	predictor *task.Predictor
	seed      uint64
}

// Predictions is the result of the predict command, printed as text or, with -json, as JSON.
type Predictions struct {
	*Applied
	Columns []string `json:"columns,omitempty"` // the columns of contributions
	Decided string   `json:"decided,omitempty"` // the rule that chose the class
	// Recalibrated is whether probabilities and numbers are corrected as "evaluate -recalibrate" found for this site.
	Recalibrated bool        `json:"recalibrated,omitempty"`
	Rows         []predicted `json:"rows"`

	named bool // whether a column of the data has the ids of the rows
}

type predicted struct {
	Row          int       `json:"row"` // from 1, in the order of the data
	ID           string    `json:"id,omitempty"`
	Class        string    `json:"class,omitempty"`
	Probability  []float64 `json:"probability,omitempty"`
	Number       *float64  `json:"number,omitempty"`      // of the target
	Survival     []float64 `json:"survival,omitempty"`    // beyond each horizon
	Median       *float64  `json:"median_days,omitempty"` // of the time to the event; missing if it is beyond the last horizon
	Contribution []float64 `json:"contribution,omitempty"`

	said   string
	beyond []string // Survival as text
	at     int      // index of the predicted class
}

// apply parses the flags that predict and evaluate share, reads the model file and calls f. It marks an error from f as
// an error in the data. If noData is not nil and true after parsing, -data may be missing.
func apply(c *cli.Cmdline, noData *bool, f func(a *Applied) error) (*Applied, error) {
	a := &Applied{}
	c.StringVar(&a.Data, "data", "", "the `source`: csv:FILE, csv:- for standard input, idx:DIR or synthetic:clinical")
	c.Uint64Var(&a.seed, "seed", 1000, "the seed of generated patients")
	unknown := c.Bool("unknown", false, "treat a category that the model does not know as none of them, and report it; "+
		"otherwise it is an error")
	na := c.String("na", "", "`texts` that also mark a cell as missing, such as -9,999, separated by commas")
	c.JSONFlag()
	path, err := c.ParseFile()
	if err != nil {
		return nil, err
	}
	if a.Data == "" && (noData == nil || !*noData) {
		return nil, cli.Usage("-data is missing, want csv:FILE or another source of the kind that the model was trained on")
	}
	if strings.ToLower(filepath.Ext(path)) == ".npy" {
		return nil, cli.Usage("%s has only numbers, want a model file: create one with \"spade-edge export NODEFILE -out MODEL.json\"", path)
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
	} else if h := m.Task.Survival; h != nil {
		a.Classes, a.cuts = nil, h.Cuts()
		for _, end := range a.cuts.Ends {
			a.Horizons = append(a.Horizons, a.cuts.Text(end))
		}
	}
	a.Threshold, a.Alone = m.Threshold, m.Alone
	a.predictor.NA = setup.List(*na)
	a.predictor.Raw = func(d *task.Data) { a.Far = screen.Strange(m.Task, d) }
	found := map[string]bool{}
	if *unknown {
		a.predictor.Unknown = func(column, value string) { found[fmt.Sprintf("%s=%s", column, value)] = true }
	}
	if site, node := siteOf(c.Log, path); site != nil && site.Fleet.Fleet.Hash() == m.Fleet {
		a.site, a.Verdict = site, readVerdict(c.Log, site)
		warn(c.Log, a.Verdict, a.Model, node)
	}
	if err := f(a); err != nil {
		return nil, setup.WithFlags(err)
	}
	a.Unknown = slices.Sorted(maps.Keys(found))
	for _, v := range a.Unknown {
		fmt.Fprintf(c.Log, "unknown category, treated as none of the known ones: %q\n", v)
	}
	for _, far := range a.Far {
		fmt.Fprintln(c.Log, cli.OneLine(fmt.Sprintf("out of range: column %q: %s", far.Column, far.Text)))
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
	var here *verdict.Recalibration
	asCSV := c.Bool("csv", false, "print CSV for programs, with all classes and columns")
	r.Applied, err = apply(c, nil, func(a *Applied) (err error) {
		if *asCSV && c.JSON {
			return cli.Usage("-csv and -json cannot be combined")
		}
		if here, err = a.recalibration(c.Log); err != nil {
			return err
		} else if here != nil {
			r.Recalibrated = true
			fmt.Fprintln(c.Log, "recalibrated: these answers are corrected for this site, as \"evaluate -recalibrate\" found on its own rows")
		}
		said, err = a.predictor.Predict(a.Data, os.Stdin, a.seed)
		return err
	})
	if err != nil {
		return err
	}
	if r.Decided = r.decided(); here != nil && r.Threshold != nil {
		r.Decided += ", compared with the probability before the recalibration"
	}
	for _, column := range r.file.Task.Columns {
		r.Columns = append(r.Columns, column.Name)
	}
	for i, s := range said {
		row := predicted{Row: i + 1, ID: s.ID, Probability: s.Probability, Contribution: s.Contribution, at: s.Class}
		if r.Horizons != nil {
			if here != nil {
				s.Survival = here.Survival(s.Survival)
				s.Median = r.cuts.Median(s.Survival)
			}
			row.Survival, row.Median = s.Survival, s.Median
			row.beyond, row.said = r.lasting(s.Survival, s.Median)
		} else if r.Target != "" {
			if here != nil {
				said[i].Number = here.Apply([]float64{s.Number})[0]
			}
			row.Number, row.said = &said[i].Number, four(said[i].Number)
		} else {
			if here != nil {
				row.Probability = here.Apply(s.Probability)
				row.at = slices.Index(row.Probability, slices.Max(row.Probability))
			}
			if th := r.Threshold; th != nil {
				row.at = 0
				if s.Probability[1] >= th.Value { // chosen on probabilities as the model says them
					row.at = 1
				}
			}
			row.Class = r.Classes[row.at]
			row.said = row.Class
		}
		r.Rows, r.named = append(r.Rows, row), r.named || s.ID != ""
	}
	if *asCSV {
		return r.csv(c.Out)
	}
	return c.Print(r, r.table)
}

// csv prints all predictions as CSV. If the data has IDs, it includes a column for them.
func (r *Predictions) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	line := func(row, id string, rest ...string) {
		cells := []string{row}
		if r.named {
			cells = append(cells, id)
		}
		_ = w.Write(append(cells, rest...)) // w.Error reports a write error at the end
	}
	head := []string{cmp.Or(r.Target, "class")}
	if r.Horizons != nil {
		head[0] = "median_days"
	}
	for _, h := range r.Horizons {
		head = append(head, "survival_"+h)
	}
	for _, name := range r.Classes {
		head = append(head, "p_"+name)
	}
	for _, name := range r.Columns {
		head = append(head, "by_"+name)
	}
	line("row", "id", head...)
	for _, row := range r.Rows {
		cells := []string{row.said}
		if r.Horizons != nil {
			if cells[0] = ""; row.Median != nil {
				cells[0] = four(*row.Median)
			}
		}
		for _, v := range slices.Concat(row.Survival, row.Probability, row.Contribution) {
			cells = append(cells, four(v))
		}
		line(strconv.Itoa(row.Row), row.ID, cells...)
	}
	w.Flush()
	return w.Error()
}

// four formats a number with four significant digits, or as an integer if its integer part has more than four digits.
func four(v float64) string {
	if size := math.Abs(v); size >= 1e4 && size < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// table prints predictions in a readable form. With two classes, it prints the probability of the second class; with
// more classes, the probability of the predicted class and the three columns that contributed most.
func (r *Predictions) table(t cli.Table) {
	line := func(row, id, said, p, most string) {
		if r.named {
			id = fmt.Sprintf("  %-14.14s", id)
		}
		fmt.Fprintln(t, strings.TrimRight(cli.OneLine(fmt.Sprintf("%6s%s  %-14.14s %12s  %s", row, id, said, p, most)), " "))
	}
	of := map[bool]string{true: "probability"}[r.Target == ""]
	if len(r.Classes) == 2 {
		of = "p of " + r.Classes[1]
	}
	what := cmp.Or(r.Target, "class")
	of = fmt.Sprintf("%.12s", of)
	if r.Horizons != nil {
		what, of = "median time", strings.Join(padded(r.Horizons), " ")
	}
	line("row", map[bool]string{true: "id"}[r.named], what, of, "contributed most")
	for _, row := range r.Rows {
		p := strings.Join(padded(row.beyond), " ")
		if len(r.Classes) == 2 {
			p = fmt.Sprintf("%.1f %%", 100*row.Probability[1])
		} else if r.Classes != nil {
			p = fmt.Sprintf("%.1f %%", 100*row.Probability[row.at])
		}
		var order []int
		for k := range row.Contribution {
			order = append(order, k)
		}
		by := func(k int) float64 { return row.Contribution[k] }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(by(b)), math.Abs(by(a))) })
		var most []string
		for _, k := range order[:min(3, len(order))] {
			most = append(most, fmt.Sprintf("%.24s %+.3g", r.Columns[k], by(k)))
		}
		line(strconv.Itoa(row.Row), row.ID, row.said, p, strings.Join(most, ", "))
	}
	if r.Horizons != nil {
		fmt.Fprintln(t, "\nsurvival beyond each time, and the time by which half of such samples have had the event; contributions to the log odds of the event")
	}
	if r.Decided != "" {
		fmt.Fprintf(t, "\n%s\n", r.Decided)
	}
}

// padded returns texts of at least eight characters, aligned to the right.
func padded(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, fmt.Sprintf("%8s", text))
	}
	return out
}

// decided describes the probability at which a class is predicted.
func (a *Applied) decided() string {
	switch th := a.Threshold; {
	case len(a.Classes) == 0:
		return ""
	case len(a.Classes) > 2:
		return "the most probable class"
	case th != nil:
		return fmt.Sprintf("%q from %.4g %% on (%s, this site's own threshold)", a.Classes[1], 100*th.Value, th.Rule)
	}
	return fmt.Sprintf("%q above 50 %%, the more probable class (evaluate -threshold chooses another threshold)", a.Classes[1])
}
