package fleetfile

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// recipes are a small one, one in which everything is given, and one for images.
func recipes() []*task.Recipe {
	return []*task.Recipe{
		{
			FittedOn: "nothing", Source: "csv", Columns: []task.Column{{Name: "x"}, {Name: "y"}, {Name: "z"}}, Label: "class",
			Classes: []string{"0", "1"}, Model: task.ModelSpec{Name: "softmax"},
		},
		{
			FittedOn: "the public cohort <2019> & more", Source: "csv",
			Columns: []task.Column{{Name: "age"}, {Name: "ward \"3\"", Categories: []string{"", "north", "süd"}}},
			Label:   "outcome", Classes: []string{"no", "yes", "?"}, Subset: true,
			Standardize: &task.Standardizer{Mean: []float64{0.1, 1.0 / 3, math.Copysign(0, -1), 5e-324},
				Std: []float64{0, math.MaxFloat64, 1e-7, 3}},
			PCA: &task.PCA{
				Mean: []float64{1, 2, 3, -4e21}, Scale: math.Sqrt(2),
				Components: [][]float64{{math.Sqrt(0.5), 0, 0, -math.Sqrt(0.5)}, {0, 1, 0, 0}},
			},
			Bias: true, Model: task.ModelSpec{Name: "perceptron", Hidden: 5},
		},
		{FittedOn: "digits", Source: "idx", Pixels: 3, Classes: []string{"6", "7"}, Subset: true,
			Model: task.ModelSpec{Name: "softmax"}},
		{
			FittedOn: "patients", Source: "csv", Columns: []task.Column{{Name: "age"}, {Name: "ward", Categories: []string{"n", "s"}}},
			Label: "pressure", Target: &task.Range{Low: -0.1, High: 1e3 / 7}, Bias: true,
			Missing: &task.Missing{Rule: "indicator", Fill: []float64{1.0 / 3, 0.5, 0.5}, Columns: []string{"ward"}},
			Model:   task.ModelSpec{Name: "linear"},
		},
		{
			FittedOn: "patients", Source: "csv", Columns: []task.Column{{Name: "age"}}, Label: "ill", Classes: []string{"no", "yes"},
			Missing: &task.Missing{Rule: "drop"}, Model: task.ModelSpec{Name: "softmax"},
		},
	}
}

// withTask is a fleet of the sample's with a recipe for its three parameters.
func withTask() *File {
	f := sample()
	text, err := MarshalTask(recipes()[0])
	if err != nil {
		panic(err)
	}
	f.Fleet.Task = bytes.TrimSpace(text)
	return f
}

// A recipe comes back from its text as it was, to the last bit of every number, and each component has a line of its
// own.
func TestTaskRoundTrip(t *testing.T) {
	for _, r := range recipes() {
		text, err := MarshalTask(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseTask(text)
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v came back as %+v, %v\n%s", r, back, err, text)
		}
		path := filepath.Join(t.TempDir(), "task.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if back, err := ReadTask(path); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("read %+v, %v", back, err)
		}
		if _, err := ReadTask(path + "2"); err == nil || !strings.Contains(err.Error(), "a recipe") {
			t.Errorf("no file: %v", err)
		}
	}
	text, err := MarshalTask(recipes()[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"\n    {\"name\": \"ward \\\"3\\\"\", \"categories\": [\"\", \"north\", \"süd\"]}\n", "\n      [0, 1, 0, 0]\n",
		"\n  \"fitted_on\": \"the public cohort <2019> & more\",\n", "\n    \"mean\": [0.1, 0.3333333333333333, -0, " +
			"5e-324],\n",
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

// A fleet file carries it, written for people; the fleet has the same hash however the file writes it.
func TestFleetTask(t *testing.T) {
	f := withTask()
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := parse(text, "", load, false)
	if err != nil || !reflect.DeepEqual(back, f) {
		t.Fatalf("read %+v, %v\n%s", back, err, text)
	}
	if r, err := back.Task(); err != nil || !reflect.DeepEqual(r, recipes()[0]) {
		t.Errorf("recipe %+v, %v", r, err)
	}
	if r, err := sample().Task(); r != nil || err != nil {
		t.Errorf("a recipe in a fleet without a task: %+v, %v", r, err)
	}
	var packed bytes.Buffer
	if err := json.Compact(&packed, text); err != nil {
		t.Fatal(err)
	}
	again, err := parse(packed.Bytes(), "", load, false)
	if err != nil || again.Fleet.Hash() != f.Fleet.Hash() || f.Fleet.Hash() == sample().Fleet.Hash() {
		t.Errorf("hash %x, then %x, without a task %x; %v", f.Fleet.Hash(), again.Fleet.Hash(), sample().Fleet.Hash(), err)
	}
	turned := strings.NewReplacer(`"source": "csv",`, "", `"model": "softmax"`,
		`"source": "csv", "model": "softmax"`).Replace(string(text))
	if again, err = parse([]byte(turned), "", load, false); err != nil || again.Fleet.Hash() != f.Fleet.Hash() {
		t.Errorf("another hash when fields change places, %v", err)
	}
	f.Fleet.Task = []byte(`{"fitted_on": 7}`)
	if _, err := f.Marshal(); err == nil {
		t.Error("a task that is no recipe was written")
	}
}

// Every fault of a recipe is told, with its place, be it in a fleet or alone.
func TestTaskFaults(t *testing.T) {
	text, err := MarshalTask(recipes()[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []change{
		one("", "[]", "the file is an array, want a recipe"),
		one("", "{", "unexpected end"),
		one("", "{}", "fitted_on is missing").and("source is missing").and("classes is missing").and("model is missing, " +
			"want softmax, perceptron or linear"),
		one(`"fitted_on": "the public cohort <2019> & more"`, `"fitted_on": ""`,
			`task: fitted_on is "", want 1 to 200 bytes`),
		one(`the public cohort <2019> & more`, `a\u0007`, `fitted_on is "a\a", want`),
		one(`the public cohort <2019> & more`, strings.Repeat("x", 201), `fitted_on is "xxx`),
		one(`"source": "csv"`, `"source": "CSV"`, `source is "CSV", want csv, idx or synthetic`),
		one(`"source": "csv"`, `"source": "csv", "source": "csv"`, `source is there twice`),
		one(`"source": "csv"`, `"Source": "csv"`,
			`source is missing`).and(`"Source" is unknown, want only fitted_on, source, columns, pixels`),
		one(`"source": "csv"`, `"source": "idx"`,
			`columns has 2 columns, want none`).and("pixels is 0, want 1").and(`label is "outcome", want it left out`),
		one(`"source": "csv"`, `"source": "csv", "pixels": 4`,
			`pixels is 4, want it left out: the source is csv`).and("4 " +
			"means").and("pca.mean").and("pca.components[0]").and("pca.components[1]"),
		one(`{"name": "age"}`, `"age"`, `columns[0] is "age", want {"name": "..."}`),
		one(`{"name": "age"}`, `{"name": " age"}`, `columns[0].name is " age", want the name of a column`),
		one(`{"name": "age"}`, `{"name": "outcome"}`,
			`columns[0].name is "outcome", want a name that no other column and not the label has`),
		one(`{"name": "age"}`, `{"name": "age", "scale": 1}`, `columns[0].scale is unknown, want only name, categories`),
		one(`"north", "süd"`, `"north", "north"`, `columns[1].categories has 3 values, want 1 to 1000, each once`),
		one(`"north", "süd"`, `"north", 7`, `columns[1].categories[2] is 7, want a value`),
		one(`["", "north", "süd"]`, `[]`,
			`columns[1].categories has 0 values`).and("4 deviations").and("pca.mean").and("pca.components[0]").and(
			"pca.components[1]"),
		one(`"label": "outcome",`, ``, `label is missing, want the column`),
		one(`["no", "yes", "?"]`, `["no"]`, `classes has 1 labels, want 2 to 1000`),
		one(`["no", "yes", "?"]`, `["no", "no"]`, `classes has 2 labels, want`),
		one(`["no", "yes", "?"]`, `["no", ""]`, `classes has 2 labels, want`),
		one(`["no", "yes", "?"]`, `["no", " yes"]`, `classes[1] is " yes", want a label, without spaces`),
		one(`"subset": true`, `"subset": 1`, `subset is 1, want true or false`),
		one(`[0.1, `, `[`, `standardize has 3 means and 4 deviations, want one for each of 4 columns`),
		one(`[0.1, `, `["0.1", `, `standardize.mean[0] is "0.1", want a number`),
		one(`[0, 1.79`, `[-1, 1.79`, `standardize has a number that is not finite, or a negative deviation`),
		one(`[0, 1.79`, `[0, 1e999, 1.79`, `standardize.std[1] is 1e999, want a number`),
		one(`"std"`, `"stds"`, "standardize.std is missing").and("standardize.stds is unknown"),
		one(`-4e+21`, `-4e+21, 1`, `pca.mean has 5 numbers, want one for each of 4 columns`),
		one(`[0, 1, 0, 0]`, `[0, 1, 0]`, `pca.components[1] has 3 numbers, want one for each of 4 columns`),
		one(`[0, 1, 0, 0]`, `7`, `pca.components[1] is 7, want an array of numbers`),
		one(`"scale": 1.4142135623730951`, `"scale": 0`, `pca.scale is 0, want a positive number`),
		one(`"bias": true`, `"bias": "yes"`, `bias is "yes", want true or false`),
		one(`"model": "perceptron"`, `"model": "softmax"`, `hidden is 5, want it left out: softmax has no hidden units`),
		one(`"hidden": 5`, `"hidden": 0`, `hidden is 0, want a whole number, 1..256`),
	} {
		c.check(t, string(text), func(s string) error { _, err := ParseTask([]byte(s)); return err })
	}

	if text, err = MarshalTask(recipes()[3]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []change{
		one(`"low": -0.1`, `"low": 1e9`, "target is {1e+09 142.85714285714286}, want two finite numbers"),
		one(`"low": -0.1`, `"low": "x"`, `target.low is "x", want a number`),
		one(`"target"`, `"classes": ["a", "b"], "target"`, "classes has 2 labels, want none beside target"),
		one(`"linear"`, `"softmax"`, "model softmax is for classes, want linear or perceptron for a target"),
		one(`"linear"`, `"linear", "hidden": 2`, "hidden is 2, want it left out: linear has no hidden units"),
		one(`"indicator"`, `"guess"`, `missing.rule is "guess", want mean, median, indicator or drop`),
		one(`"indicator"`, `"mean"`, `missing.columns[0] is "ward", want names of columns in their order, with indicator only`),
		one(`"indicator"`, `"drop"`, `missing.fill has 3 numbers, want 0`).and("missing.columns[0]"),
		one(`["ward"]`, `["ward", "age"]`, `missing.columns[1] is "age", want names of columns in their order`),
		one(`0.5, 0.5]`, `0.5]`, "missing.fill has 2 numbers, want 3"),
		one(`0.5, 0.5]`, `0.5, 1e39]`, "missing.fill has a number that is not finite"),
	} {
		c.check(t, string(text), func(s string) error { _, err := ParseTask([]byte(s)); return err })
	}

	fleet, err := withTask().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []change{
		one(`"source": "csv"`, `"source": 1`, "task.source is 1, want csv, idx or synthetic"),
		one(`"classes": ["0", "1"]`, `"classes": ["0", "0"]`, "task: task: recipe: classes has 2 labels"),
		one(`"classes": ["0", "1"]`, `"classes": ["0", "1", "2"]`, "task is for a model of 9 parameters, want the 3 of dim"),
		one(`"task": {`, `"task": {"fit": 1,`, "task.fit is unknown, want only fitted_on"),
		one(`"task": {`, `"task": null, "tusk": {`,
			"task is null, want a recipe, an object with fitted_on, source, classes, model and more").and("tusk is unknown"),
		one(`"dim": 3`, `"dim": 0`, "dim is 0, want"),
	} {
		c.check(t, string(fleet), func(s string) error { _, err := parse([]byte(s), "", load, false); return err })
	}

	// A perceptron cannot leave zero.
	f := plain()
	r := *recipes()[0]
	r.Model = task.ModelSpec{Name: "perceptron", Hidden: 2}
	task, err := MarshalTask(&r)
	if err != nil {
		t.Fatal(err)
	}
	f.Fleet.Dim, f.Fleet.Task = r.Dim(), task
	if _, err := f.Marshal(); err == nil || !strings.Contains(err.Error(), "x0 is zeros, want a start") {
		t.Errorf("a perceptron that starts at zero: %v", err)
	}
	f.Fleet.X0, f.X0File = r.Start(1), "x0.bin"
	if _, err := f.Marshal(); err != nil {
		t.Error(err)
	}
}
