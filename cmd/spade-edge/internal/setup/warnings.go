package setup

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/task/screen"
)

// BadMembers describes, based on public parameters, what one malicious member can do in a run and how to prevent it. It
// returns "" if such a member can do little, or if the fleet has only one member. The numbers come from sdk/ROBUST.md.
func BadMembers(f *sdk.Fleet) string {
	g, err := f.Graph()
	if err != nil || len(f.Members) < 3 {
		return ""
	}
	least, p := len(g.Neighbors(loneliest(g))), f.Privacy
	client := !p.NonPrivate && p.Unit == sdk.UnitClient
	sparse := least < len(f.Members)-1 && (least < 5 || least < 8 && !client)
	switch {
	case f.Method.Robust == 0 && p.PairSigma > 0 && len(f.Members) >= 20 && !sparse:
		return "one malicious member can spoil the model; -robust is off: with noise that neighbors share it needs more rounds of " +
			"messages; -robust 2 bounds the damage"
	case f.Method.Robust == 0 && p.PairSigma > 0:
		return "one malicious member can spoil the model; -robust is off: with noise that neighbors share it costs an honest run " +
			"accuracy and rounds, and a malicious member can still hide in that noise"
	case f.Method.Robust == 0 && sparse:
		return fmt.Sprintf("one malicious member can spoil the model; -robust is off: it would cost an honest run accuracy, since a "+
			"member has only %d neighbors", least)
	case f.Method.Robust == 0:
		return "one malicious member can spoil the model; -robust is off; -robust 2 bounds the damage, and costs up to a point of " +
			"accuracy in a small fleet"
	case p.PairSigma > 0 && len(f.Members) < 20:
		return fmt.Sprintf("one malicious member of %d can spoil the model in spite of -robust: it can hide in the noise "+
			"that neighbors share; add members, or do not use -colluders", len(f.Members))
	case !p.NonPrivate && hidden(f) > 0.2:
		return fmt.Sprintf("a malicious member that stays within the usual noise can still move the model by %.0f %% of what all "+
			"others learn; a larger epsilon, -unit record or more members help", 100*min(1, hidden(f)))
	case sparse:
		return fmt.Sprintf("-robust costs an honest run accuracy where a member has only %d neighbors", least)
	}
	return ""
}

// loneliest returns a member with the smallest number of neighbors.
func loneliest(g *graph.Graph) (lonely int) {
	for i := range g.N() {
		if len(g.Neighbors(i)) < len(g.Neighbors(lonely)) {
			lonely = i
		}
	}
	return lonely
}

// hidden returns how far a malicious member can move the model if the norm of its contribution to the whole run is no
// larger than that of an honest member's local noise. The result is a fraction of the distance by which all other
// members together can move the model.
func hidden(f *sdk.Fleet) float64 {
	p, k := f.Privacy, float64(f.Method.Rounds)
	reach := p.Clip
	if p.Unit == sdk.UnitRecord {
		reach *= admm.NewRecords(f.Records, 1).Mean
	}
	return p.Sigma * math.Sqrt(k*float64(f.Dim)) / (float64(len(f.Members)-1) * k * reach)
}

// Cure returns text about how to fix the cause of a suspicion. na is a format, such as "-na %s", for the flag or field
// that lists the values to be read as missing.
func Cure(s screen.Suspicion, na string) string {
	missing := fmt.Sprintf("if that stands for a missing value, "+na+" reads it as one", s.Example)
	return map[string]string{
		screen.Sentinel: missing,
		screen.Constant: missing + "; otherwise check the export that wrote the file: a constant column carries no information",
		screen.Unit:     "convert the column to the agreed unit",
		screen.Far:      "check the column's unit and coding; " + missing,
		screen.Swapped:  "check the names in the header",
		screen.Unknown:  "write it as the task does; " + missing,
		screen.Labels:   "check that the label was not sorted or pasted separately from the other columns",
	}[s.Kind]
}

// Look reads a table and inspects it without preparing it first. own reports whether the recipe was fitted to this same
// table. For images, the report and the data are nil.
func Look(r *task.Recipe, s task.Spec, own bool) (*screen.Report, *task.Data, error) {
	if r.Columns == nil {
		return nil, nil, nil
	}
	unknown := map[[2]string]int{}
	d, err := r.Raw(s, func(column, value string) { unknown[[2]string{column, value}]++ })
	if err != nil {
		return nil, nil, err
	}
	return screen.Table(r, d, own, unknown), d, nil
}

// Suspect prints suspicious findings in each CSV file. It compares the values with the recipe and, if own is true, the
// files with each other. Suspect reads all files itself. If it cannot read one of the files, it prints nothing.
func Suspect(w io.Writer, r *task.Recipe, s task.Spec, files []string, own bool) {
	if r.Source != "csv" {
		return
	}
	if files == nil {
		files = []string{strings.TrimPrefix(s.Source, "csv:")}
	}
	var all []*screen.Report
	for _, file := range files {
		s.Source, s.Records = "csv:"+file, s.Records && !own
		p, _, err := Look(r, s, own)
		if err != nil {
			return
		}
		all = append(all, p)
	}
	if own {
		screen.Among(all)
	}
	for i, p := range all {
		for _, one := range p.Suspicions {
			text := fmt.Sprintf("suspicious: %s, column %q: %s: %s", filepath.Base(files[i]), one.Column, one.Text, Cure(one, "-na %s"))
			fmt.Fprintln(w, cli.OneLine(text))
		}
	}
}
