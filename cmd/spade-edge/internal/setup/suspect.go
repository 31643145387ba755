package setup

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/task/screen"
)

// Cure says what helps against a suspicion. sentinel is how a mark for missing values is named: a flag, or a field of a file.
func Cure(s screen.Suspicion, sentinel string) string {
	missing := fmt.Sprintf("if that stands for a missing value, "+sentinel+" reads it as one", s.Example)
	switch s.Kind {
	case screen.Sentinel:
		return missing
	case screen.Constant:
		return missing + "; else check the export that wrote the file: such a column tells nothing"
	case screen.Unit:
		return "convert the column to the unit that was agreed"
	case screen.Far:
		return "check unit and coding of the column; " + missing
	case screen.Swapped:
		return "check the names in the header"
	case screen.Unknown:
		return "write it as the task does; " + missing
	}
	return "check that the label was not sorted, or pasted, apart from the other columns"
}

// Flag and Field are how sentinels are named on a command line and in a node file.
const (
	Flag  = "-na %s"
	Field = `"na": ["%s"] in the node file's oracle`
)

// Look reads a table as it is, and looks at it. own says that the recipe was fitted on it. It returns nil for images.
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
		s.Source = "csv:" + file
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
			fmt.Fprintln(w, cli.OneLine(fmt.Sprintf("suspicious: %s, %s: %s", filepath.Base(files[i]), one, Cure(one, Flag))))
		}
	}
}

// suspect is Suspect for the data of a problem.
func (p *Problem) suspect(w io.Writer) {
	o := &p.Opt
	recipe, own := o.Recipe, o.Recipe == nil
	if own {
		var err error
		if recipe, err = p.Set.Recipe(o.ModelSpec(), "these data"); err != nil {
			return
		}
	}
	s := o.DataSpec()
	s.Records = s.Records && o.Asked.Privacy.Unit == sdk.UnitRecord && !own
	Suspect(w, recipe, s, o.Files, own)
}
