package scorer_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// patients returns n generated patients as CSV. Each row has two numeric features, a category, a label with three
// classes, and a number to predict. If gaps is true, some cells are missing values, in every possible notation. If
// strangers is true, some patients are in wards that no model has seen.
func patients(n int, seed uint64, gaps, strangers bool) string {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate})
	var b strings.Builder
	b.WriteString("age, dose,ward,stage,days\n")
	pick := func(of ...string) string { return of[int(s.Float64()*float64(len(of)))] }
	for range n {
		age, dose := fmt.Sprintf("%.1f", 50+10*s.Normal()), fmt.Sprintf("%.3g", 1e-3*s.Normal())
		ward := pick("north", "South", `"east, old"`)
		if strangers && s.Float64() < 0.3 {
			ward = pick("west", "NORTH", "None", "")
		}
		if gaps && s.Float64() < 0.4 {
			age, ward = pick("", "NA", "-", age), pick(ward, "?", "nan")
		}
		fmt.Fprintf(&b, "%s, %s,%s,%s,%d\n", age, dose, ward, pick("I", "II", "III"), int(20+5*s.Normal()))
	}
	return b.String()
}

func numpy(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	t.Skip("needs python3 with numpy")
	return ""
}

// comparison holds a recipe and rows of data, for which predict.py and package task must make the same predictions.
type comparison struct {
	name   string
	recipe *task.Recipe
	narrow bool
	data   string // the path of a CSV file
	rows   int
}

// several is a Python program that runs predict.py once for each model. One process runs all models, because starting
// Python takes most of the time. The arguments are triples of files: a model, the data, and the output.
const several = `
import runpy, sys
files = sys.argv[1:]
for i in range(0, len(files), 3):
    sys.argv = ["predict.py", *files[i:i+2]]
    with open(files[i+2], "w") as sys.stdout:
        runpy.run_path("predict.py", run_name="__main__")
`

// compare writes a model file with random weights for each comparison, and checks that predict.py and package task make
// the same predictions from this file. The data must have categories that are not in the model.
func compare(t *testing.T, python string, all []comparison) {
	t.Helper()
	dir := t.TempDir()
	args, models := []string{"-c", several}, make([][]byte, len(all))
	for i, c := range all {
		draw := rng.New(7, rng.Address{Purpose: rng.Start})
		weights := make([]float32, c.recipe.Dim())
		for j := range weights {
			weights[j] = float32(draw.Normal())
			if c.narrow {
				weights[j] /= 10
			}
		}
		var err error
		if models[i], err = (&builtin.Model{Run: "r", Member: "a", Round: 1, Rounds: 1, Task: c.recipe, Weights: weights}).Marshal(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, models[i], 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path, c.data, path+".out")
	}
	if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, c := range all {
		t.Run(c.name, func(t *testing.T) {
			out, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)+".out"))
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, models[i], string(out))
		})
	}
}

// check compares the output of predict.py (out) with the predictions that package task makes with the given model.
func (c comparison) check(t *testing.T, model []byte, out string) {
	t.Helper()
	back, err := builtin.ParseModel(model)
	if err != nil {
		t.Fatal(err)
	}
	p, err := back.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	strangers := 0 // cells with categories that are not in the model
	p.Unknown = func(string, string) { strangers++ }
	said, err := p.Predict("csv:"+c.data, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(said) || len(lines) != c.rows || strangers == 0 {
		t.Fatalf("%d lines for %d predictions, want %d; %d unknown categories", len(lines), len(said), c.rows, strangers)
	}
	worst := 0.0
	for i, line := range lines {
		want := said[i].Probability
		if c.recipe.Target != nil {
			want = []float64{said[i].Number}
		}
		for k, cell := range strings.Split(line, ",") {
			got, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, math.Abs(got-want[k]))
			if !(math.Abs(got-want[k]) <= 1e-6*max(1, math.Abs(want[k]))) { // float32, as in training
				t.Fatalf("line %d: %s, want %v", i+1, line, want)
			}
		}
	}
	t.Logf("at most %.2g apart, %d rows, %d unknown categories", worst, len(lines), strangers)
}

// TestNumpyPredictsTheSame checks that, given one model file, predict.py and package task make the same predictions for
// held-out patients.
func TestNumpyPredictsTheSame(t *testing.T) {
	python := numpy(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	softmax, perceptron := task.ModelSpec{Name: task.SoftmaxModel}, task.ModelSpec{Name: task.PerceptronModel, Hidden: 5}
	linear := task.ModelSpec{Name: task.LinearModel}
	stages := task.Spec{Label: "stage", Drop: []string{"days"}}
	two := task.Spec{Label: "stage", Labels: []string{"III", "I"}, Drop: []string{"days"}}
	days := task.Spec{Target: "days", Drop: []string{"stage"}}
	off := false
	var all []comparison
	for name, c := range map[string]struct {
		spec    task.Spec
		model   task.ModelSpec
		missing string
		pca     int
		plain   bool
	}{
		"softmax, three classes":          {spec: stages, model: softmax},
		"softmax, two classes, PCA":       {spec: two, model: softmax, pca: 3},
		"softmax, plain, mean":            {spec: stages, model: softmax, missing: "mean", plain: true},
		"perceptron, two classes, median": {spec: two, model: perceptron, missing: "median"},
		"perceptron, indicator, PCA":      {spec: stages, model: perceptron, missing: "indicator", pca: 4},
		"softmax, median":                 {spec: two, model: softmax, missing: "median"},
		"softmax, indicator":              {spec: stages, model: softmax, missing: "indicator"},
		"perceptron, three, mean":         {spec: stages, model: perceptron, missing: "mean"},
		"regression":                      {spec: days, model: linear},
		"regression, mean":                {spec: days, model: linear, missing: "mean"},
		"regression, median, PCA":         {spec: days, model: linear, missing: "median", pca: 3},
		"regression, indicator":           {spec: days, model: linear, missing: "indicator"},
		"regression, perceptron, gaps":    {spec: days, model: perceptron, missing: "indicator"},
	} {
		gaps := c.missing != ""
		s := c.spec
		s.Source, s.OneHot, s.Missing, s.PCA = "csv:"+write("fit.csv", patients(200, 1, gaps, false)), []string{"ward"},
			c.missing, c.pca
		if c.plain {
			s.Standardize, s.Bias = &off, &off
		}
		recipe, err := task.Fit(s, c.model, "made up patients")
		if err != nil {
			t.Fatal(err)
		}
		rows := write(fmt.Sprintf("new %v.csv", gaps), patients(300, 2, gaps, true))
		all = append(all, comparison{name, recipe, len(name)%2 == 1, rows, 300})
	}
	compare(t, python, all)
}

// TestNumpyPredictsTheSameOfFourHospitals checks that predict.py and package task make the same predictions for the
// patients of four real hospitals, whose files mark missing values in several ways. The preprocessing is fitted on one
// hospital, so the other hospitals have categories that are not in the model.
func TestNumpyPredictsTheSameOfFourHospitals(t *testing.T) {
	dir := filepath.FromSlash("../../../shared/data/heart-four-hospitals")
	if os.Getenv("SPADE_LONG") == "" {
		t.Skip("SPADE_LONG=1 runs it")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no data: ", err)
	}
	python := numpy(t)
	var all strings.Builder // the rows of all hospitals
	for i, hospital := range []string{"va", "cleveland", "hungarian", "switzerland"} {
		text, err := os.ReadFile(filepath.Join(dir, hospital+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		head, rows, _ := strings.Cut(string(text), "\n")
		if i == 0 {
			all.WriteString(head + "\n")
		}
		all.WriteString(rows)
	}
	file := filepath.Join(t.TempDir(), "all.csv")
	if err := os.WriteFile(file, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var comparisons []comparison
	for _, rule := range []string{"mean", "median", "indicator"} {
		for name, c := range map[string]struct {
			spec  task.Spec
			model task.ModelSpec
		}{
			"softmax":    {task.Spec{Label: "num"}, task.ModelSpec{Name: task.SoftmaxModel}},
			"perceptron": {task.Spec{Label: "num", Labels: []string{"0", "1"}}, task.ModelSpec{Name: task.PerceptronModel, Hidden: 4}},
			"regression": {task.Spec{Target: "age", Drop: []string{"num"}}, task.ModelSpec{Name: task.LinearModel}},
		} {
			s := c.spec
			s.Source, s.Missing = "csv:"+filepath.Join(dir, "va.csv"), rule
			s.OneHot = []string{"cp", "restecg", "slope", "ca", "thal"} // no patient of va has ca above 0
			recipe, err := task.Fit(s, c.model, "one hospital's patients")
			if err != nil {
				t.Fatal(err)
			}
			comparisons = append(comparisons, comparison{rule + ", " + name, recipe, true, file, 920})
		}
	}
	compare(t, python, comparisons)
}
