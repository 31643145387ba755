package builtin

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/zoest"
)

// hostileCells are replacements for a cell of one record.
var hostileCells = []string{
	"", "NA", "abc", `"`, `a"b`, `"open`, `"1,234"`, `"3,5"`, "1,234", ",", ";", ",,,,,,", "\t|", "no\x00\xff", "other", "yes", "2",
	"1.5", "1e38", "-1e39", "NaN", "Inf", "2020-01-01", "12:30", "-", "\r", "\ufeff", "sep=;", strings.Repeat("9", 500),
}

func fleetOf(t *testing.T, recipe *task.Recipe, places int) *fleetfile.File {
	t.Helper()
	text, err := MarshalTask(recipe)
	if err != nil {
		t.Fatal(err)
	}
	f := &sdk.Fleet{Dim: recipe.Dim(), Task: text, Privacy: sdk.Privacy{Unit: dpmech.Record, Places: places, Person: recipe.Person}}
	if err := checkTask(f); err != nil {
		t.Fatal(err)
	}
	return &fleetfile.File{Fleet: f}
}

func writeLines(t *testing.T, lines ...string) (source string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.csv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "csv:" + path
}

// losses queries each sample's loss separately, at two parameter vectors, and returns the losses as raw bits. It also
// checks that querying all samples in one batch gives the same bits.
func losses(t *testing.T, o *Oracle, fleet *fleetfile.File) (all [][2]uint64) {
	t.Helper()
	s, err := o.Open(t.Context(), fleet)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Oracle.(*task.Model)
	all = make([][2]uint64, s.Samples)
	for k := range 2 {
		x := make([]float32, m.Dim())
		for i := range x {
			x[i] = float32(i%5-1-k) * .3
		}
		queries, batch := make([]zoest.Query, s.Samples), make([]float64, s.Samples)
		for h := range queries {
			queries[h] = zoest.Query{Point: x, Sample: h}
		}
		if err := m.Losses(t.Context(), queries, batch); err != nil {
			t.Fatal(err)
		}
		for h := range all {
			loss, err := m.Loss(t.Context(), x, h)
			if err != nil || math.Float64bits(loss) != math.Float64bits(batch[h]) && loss == loss {
				t.Fatalf("sample %d: %v, in a batch %v, %v", h, loss, batch[h], err)
			}
			all[h][k] = math.Float64bits(loss)
		}
	}
	return all
}

// recordCase describes one kind of task for TestReplacedRecordMovesNoOther.
type recordCase struct {
	name string
	spec task.Spec
	sep  string
}

// lines returns a header and n rows with these cells: person, two numbers, a category, and the label or target.
func (c recordCase) lines(n int) []string {
	all := []string{strings.Join([]string{"who", "a", "b", "c", "y"}, c.sep)}
	for i := range n {
		label := []string{"no", "yes", "2"}[i*i%7%3]
		if c.spec.Target != "" {
			label = fmt.Sprint(i * 5 % 11)
		} else if c.spec.Survival != "" {
			label = []string{"no", "yes"}[i%2]
		}
		all = append(all, strings.Join([]string{fmt.Sprintf("p%d", i*3%10), fmt.Sprintf("%d.5", i), fmt.Sprint(i * 7 % 19),
			[]string{"x", "z"}[i%2], label}, c.sep))
	}
	return all
}

// TestReplacedRecordMovesNoOther replaces one cell of one record, or its whole line. It checks that the node's other
// records keep their places, and that their losses do not change by a single bit.
func TestReplacedRecordMovesNoOther(t *testing.T) {
	for _, c := range []recordCase{
		{"plain", task.Spec{Label: "y"}, ","},
		{"semicolons", task.Spec{Label: "y"}, ";"},
		{"indicator", task.Spec{Label: "y", Missing: "indicator:*", PCA: 3}, ","},
		{"mean and subset", task.Spec{Label: "y", Missing: "mean", Labels: []string{"yes", "no"}}, ","},
		{"target", task.Spec{Target: "y"}, ","},
		{"survival", task.Spec{Survival: "b,y", Labels: []string{"no", "yes"}}, ","},
		{"persons", task.Spec{Label: "y", Person: "who"}, ","},
	} {
		t.Run(c.name, func(t *testing.T) { c.replace(t) })
	}
}

func (c recordCase) replace(t *testing.T) {
	spec, model, places, first := c.spec, task.ModelSpec{Name: task.SoftmaxModel}, 0, 0
	if spec.Target != "" {
		model.Name = task.LinearModel
	} else if spec.Survival != "" {
		model.Name = task.HazardsModel
	}
	if spec.OneHot = []string{"c"}; spec.Person == "" {
		spec.Drop = []string{"who"}
	} else {
		places, first = 2, 1 // column 0, the person, is never replaced: another person would move the record
	}
	base := c.lines(11) // rows of every label and category; one person has two rows
	spec.Source, spec.Whole = writeLines(t, base...), true
	recipe, err := task.Fit(spec, model, "a test")
	if err != nil {
		t.Fatal(err)
	}
	fleet := fleetOf(t, recipe, places)
	for _, whole := range []bool{true, false} {
		o := &Oracle{Spec: task.Spec{Source: spec.Source, Whole: whole, Seed: 3}}
		want := losses(t, o, fleet)
		_, path, _ := strings.Cut(writeLines(t, base...), ":")
		o.Spec.Source = "csv:" + path
		try := func(row int, line string) {
			lines := slices.Clone(base)
			lines[row] = line
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got := losses(t, o, fleet)
			if len(got) != len(want) {
				t.Fatalf("line %q: %d samples, want %d", line, len(got), len(want))
			}
			moved := make(map[int]bool)
			for h := range got {
				if got[h] != want[h] {
					moved[h/max(1, places)] = true
				}
			}
			if len(moved) > 1 || whole && places == 0 && len(moved) == 1 && !moved[row-1] {
				t.Fatalf("line %d as %q: records %v changed", row, line, moved)
			}
		}
		row := 8
		if whole {
			row = 1
		}
		if whole || first > 0 { // else whole lines suffice: the split into training and test rows looks at no cell
			for at := first; at < 5; at++ {
				for _, hostile := range hostileCells {
					cells := strings.Split(base[row], c.sep)
					cells[at] = hostile
					try(row, strings.Join(cells, c.sep))
				}
			}
		}
		if first == 0 {
			for _, line := range append(hostileCells, ",,,,", ";;;;") {
				try(row, line)
			}
		}
	}
}

// TestRecordsShare checks that with record-level privacy, a common data set must be divided without regard to labels,
// and that a task that would drop records is rejected.
func TestRecordsShare(t *testing.T) {
	source := writeLines(t, recordCase{sep: ","}.lines(20)...)
	recipe, err := task.Fit(task.Spec{Source: source, Label: "y", Drop: []string{"who", "c"}, Whole: true},
		task.ModelSpec{Name: task.SoftmaxModel}, "a test")
	if err != nil {
		t.Fatal(err)
	}
	fleet := fleetOf(t, recipe, 0)
	for kind, want := range map[string]string{
		"iid": "", "dirichlet:0.5": "share.partition is dirichlet:0.5, want iid", "pathological:2": "want iid",
		"dirichlet:1,unbalanced": "want iid",
	} {
		partition, err := task.ParsePartition(kind)
		if err != nil {
			t.Fatal(err)
		}
		o := &Oracle{Spec: task.Spec{Source: source, Whole: true}, Share: &Share{Partition: partition, Of: 3, Number: 1}}
		s, err := o.Open(t.Context(), fleet)
		if (err == nil) != (want == "") || err == nil && !slices.Contains(s.ConditionalOn, ofTrial) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
	images := &task.Recipe{FittedOn: "x", Source: "idx", Pixels: 4, Classes: []string{"6", "7"}, Subset: true,
		Model: task.ModelSpec{Name: task.SoftmaxModel}}
	text, err := MarshalTask(images)
	if err != nil {
		t.Fatal(err)
	}
	f := &sdk.Fleet{Dim: images.Dim(), Task: text, Privacy: sdk.Privacy{Unit: dpmech.Record}}
	if err := checkTask(f); err == nil || !strings.Contains(err.Error(), "subset is true") {
		t.Errorf("images of some classes: %v", err)
	}
}

// TestPersons checks that a node gives each person's records adjacent places if the task names the column of persons
// and the fleet file has the column and the number of places. If they differ, opening the data must fail.
func TestPersons(t *testing.T) {
	source := writeLines(t, "who,a,y", "p,1,no", "q,2,yes", "p,3,no", "r,4,yes")
	for _, c := range []struct {
		person, fleet   string
		places, samples int
		want            string
	}{
		{"who", "who", 4, 12, ""}, {"who", "", 0, 0, `privacy.person is "", want "who" as in the task`},
		{"", "who", 4, 0, `privacy.person is "who", want "" as in the task`}, {"", "", 0, 4, ""},
	} {
		spec := task.Spec{Source: source, Label: "y", Person: c.person, Whole: true}
		if c.person == "" {
			spec.Drop = []string{"who"}
		}
		recipe, err := task.Fit(spec, task.ModelSpec{Name: task.SoftmaxModel}, "a test")
		if err != nil {
			t.Fatal(err)
		}
		fleet := fleetOf(t, recipe, c.places)
		fleet.Privacy.Person = c.fleet
		s, err := (&Oracle{Spec: task.Spec{Source: source, Whole: true}}).Open(t.Context(), fleet)
		if (err == nil) != (c.want == "") || err == nil && s.Samples != c.samples || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
	}
}
