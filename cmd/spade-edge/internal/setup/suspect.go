package setup

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/task/screen"
)

// Cure says what helps against a suspicion. na is how a mark for missing values is named: by a flag, or in a file.
func Cure(s screen.Suspicion, na string) string {
	missing := fmt.Sprintf("if that stands for a missing value, "+na+" reads it as one", s.Example)
	return map[string]string{
		screen.Sentinel: missing,
		screen.Constant: missing + "; else check the export that wrote the file: such a column tells nothing",
		screen.Unit:     "convert the column to the unit that was agreed",
		screen.Far:      "check unit and coding of the column; " + missing,
		screen.Swapped:  "check the names in the header",
		screen.Unknown:  "write it as the task does; " + missing,
		screen.Labels:   "check that the label was not sorted, or pasted, apart from the other columns",
	}[s.Kind]
}

// Look reads a table as it is, and looks at it. own says that the recipe was fitted on it. The report is nil for images.
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

// Suspect says what is suspicious in a CSV file, or in each of several: by the recipe, or with own by the file itself and the others. It
// reads them once more, and is silent where it cannot.
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
