package scorer_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// several is a Python program that runs predict.py once for each model, in one process, because starting Python takes most
// of the time. The arguments are triples of files: a model, the data, and the output.
const several = `
import runpy, sys
files = sys.argv[1:]
for i in range(0, len(files), 3):
    sys.argv = ["predict.py", *files[i:i+2]]
    with open(files[i+2], "w") as sys.stdout:
        runpy.run_path("predict.py", run_name="__main__")
`

// numpy runs the program several with the first Python that has numpy.
func numpy(t *testing.T, files []string) {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		out, err := exec.Command(name, append([]string{"-c", several}, files...)...).CombinedOutput()
		if err == nil {
			return
		} else if len(out) > 0 && !strings.Contains(string(out), "No module named 'numpy'") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Skip("needs python3 with numpy")
}

// TestNumpyPredictsTheSame checks that, given one model file with random weights, predict.py and package task make the same
// predictions for held-out patients. Some patients have categories that are not in the model.
func TestNumpyPredictsTheSame(t *testing.T) {
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
	var files []string
	answers := map[string][][]float64{} // of package task, by the file of predict.py's answers
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
		"regression":                      {spec: days, model: linear},
		"regression, median, PCA":         {spec: days, model: linear, missing: "median", pca: 3},
		"regression, indicator":           {spec: days, model: linear, missing: "indicator"},
		"regression, perceptron, gaps":    {spec: days, model: perceptron, missing: "indicator"},
	} {
		gaps, s := c.missing != "", c.spec
		s.Source, s.OneHot, s.Missing, s.PCA = "csv:"+write("fit.csv", patients(200, 1, gaps, false)), []string{"ward"}, c.missing, c.pca
		if c.plain {
			s.Standardize, s.Bias = &off, &off
		}
		recipe, err := task.Fit(s, c.model, "made up patients")
		if err != nil {
			t.Fatal(err)
		}
		draw, weights := rng.New(7, rng.Address{Purpose: rng.Start}), make([]float32, recipe.Dim())
		for j := range weights {
			weights[j] = float32(draw.Normal() / 3)
		}
		text, err := (&builtin.Model{Run: "r", Member: "a", Round: 1, Rounds: 1, Task: recipe, Weights: weights}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		model, err := builtin.ParseModel(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		strangers := 0 // cells with categories that are not in the model
		p.Unknown = func(string, string) { strangers++ }
		data := write(fmt.Sprintf("new %v.csv", gaps), patients(100, 2, gaps, true))
		said, err := p.Predict("csv:"+data, nil, 0)
		if err != nil || len(said) != 100 || strangers == 0 {
			t.Fatalf("%s: %d predictions, %d unknown categories, %v", name, len(said), strangers, err)
		}
		path, out := write(name, string(text)), filepath.Join(dir, name+".out")
		for _, one := range said {
			answer := one.Probability
			if recipe.Target != nil {
				answer = []float64{one.Number}
			}
			answers[out] = append(answers[out], answer)
		}
		files = append(files, path, data, out)
	}
	numpy(t, files)
	for path, want := range answers {
		out, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		same := slices.EqualFunc(lines, want, func(line string, want []float64) bool {
			return slices.EqualFunc(strings.Split(line, ","), want, func(cell string, want float64) bool {
				got, err := strconv.ParseFloat(cell, 64)
				return err == nil && math.Abs(got-want) <= 1e-6*max(1, math.Abs(want)) // float32, as in training
			})
		})
		if !same {
			t.Errorf("%s: predict.py says %q, want about %v", path, lines, want)
		}
	}
}
