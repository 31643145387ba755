package builtin

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// recipes returns a small recipe, a recipe with every field, and a recipe for images.
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
				Std: []float64{0, math.MaxFloat32, 1e-7, 3}},
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

// withTask returns a fleet of one member with a recipe for its three parameters.
func withTask() *fleetfile.File {
	text, err := MarshalTask(recipes()[0])
	if err != nil {
		panic(err)
	}
	var task bytes.Buffer
	if err := json.Compact(&task, text); err != nil {
		panic(err)
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	return &fleetfile.File{
		Fleet: &sdk.Fleet{
			Run: "solo", Dim: 3, Members: []string{"me"},
			Method:  sdk.Method{Rounds: 1, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{1}, Mu: []float64{1}},
			Privacy: sdk.Privacy{NonPrivate: true}, Task: task.Bytes(),
		},
		Members: []fleetfile.Member{{Name: "me", Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}}},
	}
}

// TestTaskText checks that the text of a recipe has one line for each column and each component of the projection.
func TestTaskText(t *testing.T) {
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

// TestFleetTask checks that a fleet file contains the recipe in readable form, and that the fleet's hash does not
// depend on the layout of the recipe in the file.
func TestFleetTask(t *testing.T) {
	bare := withTask()
	bare.Fleet.Task = nil
	f := withTask()
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := fleetfile.Parse(text, "")
	if err != nil || back.Fleet.Hash() != f.Fleet.Hash() || !reflect.DeepEqual(back.Fleet.Task, f.Fleet.Task) || !reflect.DeepEqual(back.Members, f.Members) {
		t.Fatalf("read %+v, %v\n%s", back, err, text)
	}
	if r, err := Task(back.Fleet); err != nil || !reflect.DeepEqual(r, recipes()[0]) {
		t.Errorf("recipe %+v, %v", r, err)
	}
	if r, err := Task(bare.Fleet); r != nil || err != nil {
		t.Errorf("a recipe in a fleet without a task: %+v, %v", r, err)
	}
	var packed bytes.Buffer
	if err := json.Compact(&packed, text); err != nil {
		t.Fatal(err)
	}
	again, err := fleetfile.Parse(packed.Bytes(), "")
	if err != nil || again.Fleet.Hash() != f.Fleet.Hash() || f.Fleet.Hash() == bare.Fleet.Hash() {
		t.Errorf("hash %x, then %x, without a task %x; %v", f.Fleet.Hash(), again.Fleet.Hash(), bare.Fleet.Hash(), err)
	}
	turned := strings.NewReplacer(`"source": "csv",`, "", `"model": "softmax"`,
		`"source": "csv", "model": "softmax"`).Replace(string(text))
	if again, err = fleetfile.Parse([]byte(turned), ""); err != nil || again.Fleet.Hash() != f.Fleet.Hash() {
		t.Errorf("another hash when fields change places, %v", err)
	}
	f.Fleet.Task = []byte(`{"fitted_on": 7}`)
	if _, err := f.Marshal(); err == nil {
		t.Error("a task that is no recipe was written")
	}
}

// TestTaskFaults checks that every error in a recipe is reported with its location, both in a fleet file and in a
// recipe file.
func TestTaskFaults(t *testing.T) {
	text, err := MarshalTask(recipes()[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []change{
		one("", "[]",
			`the file: found array, want an object`),
		one("", "{", "unexpected end"),
		one("", "{}",
			`task: fitted_on is "", want 1 to 200 bytes of printable UTF-8 that describe the data`).
			and(`task: model "", want softmax or perceptron, linear for a target, or hazards for survival`).
			and(`source is "", want csv, idx or synthetic`).
			and(`classes has 0 labels, want 2 to 1000, distinct, not empty`),
		one(`"fitted_on": "the public cohort <2019> & more"`, `"fitted_on": ""`,
			`task: fitted_on is "", want 1 to 200 bytes`),
		one(`the public cohort <2019> & more`, `a\u0007`, `fitted_on is "a\a", want`),
		one(`the public cohort <2019> & more`, strings.Repeat("x", 201), `fitted_on is "xxx`),
		one(`"source": "csv"`, `"source": "CSV"`,
			`source is "CSV", want csv, idx or synthetic`),
		one(`"source": "csv"`, `"source": "csv", "source": "csv"`, `source is given twice`),
		one(`"source": "csv"`, `"Source": "csv"`,
			`unknown field "Source", want a name of lower-case letters, digits and underscores`),
		one(`"source": "csv"`, `"source": "idx"`,
			`columns has 2 columns, want none`).and("pixels is 0, want 1").and(`label is "outcome", want the column of the class for the source csv`),
		one(`"source": "csv"`, `"source": "csv", "pixels": 4`,
			`pixels is 4, want 1 to 268435456 for the source idx, else the field omitted`).and("4 " +
			"means").and("pca.mean").and("pca.components[0]").and("pca.components[1]"),
		one(`{"name": "age"}`, `{"name": " age"}`,
			`columns[0].name is " age", want a name without spaces around it`),
		one(`{"name": "age"}`, `{"name": "outcome"}`,
			`columns[0].name is "outcome", want a name without spaces around it that neither the label nor another column has`),
		one(`{"name": "age"}`, `{"name": "age", "scale": 1}`,
			`unknown field "scale"`),
		one(`"north", "süd"`, `"north", "north"`, `columns[1].categories has 3 values, want 1 to 1000, distinct and without`),
		one(`["", "north", "süd"]`, `[]`,
			`columns[1].categories has 0 values`).and("4 deviations").and("pca.mean").and("pca.components[0]").and(
			"pca.components[1]"),
		one(`"label": "outcome",`, ``, `label is "", want the column`),
		one(`["no", "yes", "?"]`, `["no"]`, `classes has 1 labels, want 2 to 1000`),
		one(`["no", "yes", "?"]`, `["no", "no"]`, `classes has 2 labels, want`),
		one(`["no", "yes", "?"]`, `["no", ""]`, `classes has 2 labels, want`),
		one(`["no", "yes", "?"]`, `["no", " yes"]`,
			`classes has 2 labels, want 2 to 1000, distinct, not empty and without spaces around them`),
		one(`[0.1, `, `[`, `standardize has 3 means and 4 deviations, want one for each of 4 columns`),
		one(`[0, 3.40`, `[-1, 3.40`, `standardize.std[0] is -1, want 0, or a deviation of at least`),
		one(`[0, 3.40`, `[0, 1e999, 3.40`,
			`standardize.std: found number 1e999, want a number`),
		one(`"std"`, `"stds"`,
			`unknown field "stds"`),
		one(`-4e+21`, `-4e+21, 1`, `pca.mean has 5 numbers, want one for each of 4 columns`),
		one(`[0, 1, 0, 0]`, `[0, 1, 0]`, `pca.components[1] has 3 numbers, want one for each of 4 columns`),
		one(`[0, 1, 0, 0]`, `7`,
			`pca.components: found number, want an array`),
		one(`"scale": 1.4142135623730951`, `"scale": 0`, `pca.scale is 0, want 1.2e-38..3.4e+38`),
		one(`"model": "perceptron"`, `"model": "softmax"`,
			`task: model softmax has 5 hidden units, want none: it is a linear model`),
		one(`"hidden": 5`, `"hidden": 0`,
			`task: perceptron has 0 hidden units, want 1 to 256`),
	} {
		c.check(t, string(text), func(s string) error { _, err := Task(&sdk.Fleet{Task: []byte(s)}); return err })
	}

	if text, err = MarshalTask(recipes()[3]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []change{
		one(`"low": -0.1`, `"low": 1e9`, "target is {1e+09 142.85714285714286}, want two float32 numbers"),
		one(`"target"`, `"classes": ["a", "b"], "target"`, "classes has 2 labels, want none with a target"),
		one(`"linear"`, `"softmax"`, "model is softmax, want linear or perceptron for a numeric target"),
		one(`"linear"`, `"linear", "hidden": 2`,
			`task: model linear has 2 hidden units, want none: it is a linear model`),
		one(`"indicator"`, `"guess"`,
			`task: missing "guess", want mean, median, indicator or drop`).
			and(`missing.columns[0] is "ward", want names from columns in their order, with rule indicator only`),
		one(`"indicator"`, `"mean"`, `missing.columns[0] is "ward", want names from columns in their order, with rule indicator only`),
		one(`"indicator"`, `"drop"`, `missing.fill has 3 numbers, want 0`).and("missing.columns[0]"),
		one(`["ward"]`, `["ward", "age"]`, `missing.columns[1] is "age", want names from columns in their order`),
		one(`0.5, 0.5]`, `0.5]`, "missing.fill has 2 numbers, want 3"),
		one(`0.5, 0.5]`, `0.5, 1e39]`, "missing.fill[2] is 1e+39, want a float32, of magnitude at most 3.4e+38"),
	} {
		c.check(t, string(text), func(s string) error { _, err := Task(&sdk.Fleet{Task: []byte(s)}); return err })
	}

	fleet, err := withTask().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []change{
		one(`"source": "csv"`, `"source": 1`,
			`task: source: found number, want a string`),
		one(`"classes": ["0", "1"]`, `"classes": ["0", "0"]`, "task: task: recipe: classes has 2 labels"),
		one(`"classes": ["0", "1"]`, `"classes": ["0", "1", "2"]`, "task is for a model of 9 parameters, want 3, as in dim"),
		one(`"task": {`, `"task": {"fit": 1,`,
			`task: unknown field "fit"`),
		one(`"task": {`, `"task": null, "tusk": {`,
			`unknown field "tusk"`),
		one(`"dim": 3`, `"dim": 0`, "dim is 0, want"),
	} {
		c.check(t, string(fleet), func(s string) error { _, err := fleetfile.Parse([]byte(s), ""); return err })
	}

	// A perceptron that starts at the zero vector cannot learn, because its gradient there is zero.
	f := withTask()
	r := *recipes()[0]
	r.Model = task.ModelSpec{Name: "perceptron", Hidden: 2}
	task, err := MarshalTask(&r)
	if err != nil {
		t.Fatal(err)
	}
	f.Fleet.Dim, f.Fleet.Task = r.Dim(), task
	if _, err := f.Marshal(); err == nil || !strings.Contains(err.Error(), "want a nonzero start vector") {
		t.Errorf("a perceptron that starts at zero: %v", err)
	}
	f.Fleet.X0, f.X0File = r.Start(1), "x0.bin"
	if _, err := f.Marshal(); err != nil {
		t.Error(err)
	}
}
