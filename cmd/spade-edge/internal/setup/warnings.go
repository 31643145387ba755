package setup

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// loneliest returns a member with the smallest number of neighbors.
func loneliest(g *graph.Graph) (lonely int) {
	for i := range g.N() {
		if len(g.Neighbors(i)) < len(g.Neighbors(lonely)) {
			lonely = i
		}
	}
	return lonely
}

// Cure returns text about how to fix the cause of a suspicion. na is a format, such as "-na %s", for the flag or field
// that lists the values to be read as missing.
func Cure(s screen.Suspicion, na string) string {
	missing := fmt.Sprintf("if that stands for a missing value, "+na+" reads it as one", s.Example)
	return map[string]string{
		screen.Sentinel:  missing,
		screen.Constant:  missing + "; otherwise check the export that wrote the file: a constant column carries no information",
		screen.Unit:      "convert the column to the agreed unit",
		screen.Far:       "check the column's unit and coding; " + missing,
		screen.Swapped:   "check the names in the header",
		screen.Unknown:   "write it as the task does; " + missing,
		screen.Counter:   "leave the column out (-drop), unless it measures something: in a sorted file it gives the label away",
		screen.Digits:    "subtract a constant in the export, or leave the column out (-drop) if it is an identifier",
		screen.Coding:    "code it as the task does",
		screen.Tells:     "leave the column out (-drop) if it is another form of the label, or is known only after it",
		screen.Names:     "leave the column out (-drop) if it identifies the row",
		screen.OneClass:  "check the export that wrote the file: alone, these rows teach only that answer",
		screen.NoClass:   "if that stands for a missing label, remove these rows, or list the classes (-labels)",
		screen.Repeated:  "check whether the export has the rows twice",
		screen.NearNames: "write one thing alike everywhere or, in a label, list the classes (-labels)",
		screen.File:      "check the export that wrote the file",
		screen.NoEvent:   "check the column of the event; a site without events teaches only that nothing happens soon",
		screen.AllEvents: "check whether the export left out the rows without it",
		screen.Beyond:    "check the unit of the times (TIME:m says months), or choose other -intervals",
		screen.Labels:    "check that the label was not sorted or pasted separately from the other columns",
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
func Suspect(w io.Writer, r *task.Recipe, s task.Spec, own bool) {
	if r.Source != "csv" {
		return
	}
	files := s.Files
	if s.Files = nil; files == nil {
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
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	if own {
		screen.Among(all, names)
	}
	screen.Near(r, all, names)
	for i, p := range all {
		for _, one := range p.Suspicions {
			where := names[i]
			if one.Column != "" {
				where += fmt.Sprintf(", column %q", one.Column)
			}
			text := fmt.Sprintf("suspicious: %s: %s: %s", where, one.Text, Cure(one, "-na %s"))
			fmt.Fprintln(w, cli.OneLine(text))
		}
	}
}
