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

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// patients are made up: two numbers, a category, a class of three and a number to predict. With gaps, cells are missing
// in every way, and with strangers there are wards that no model knows.
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

// predict.py says of held out patients what package task says, from the same model file.
func TestNumpyPredictsTheSame(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("needs python3 with numpy")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	softmax, perceptron := task.ModelSpec{Name: task.SoftmaxModel}, task.ModelSpec{Name: task.PerceptronModel, Hidden: 5}
	stages := task.Spec{Label: "stage", Drop: []string{"days"}}
	two := task.Spec{Label: "stage", Labels: []string{"III", "I"}, Drop: []string{"days"}}
	days := task.Spec{Target: "days", Drop: []string{"stage"}}
	off := false
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
		"regression":                      {spec: days, model: task.ModelSpec{Name: task.LinearModel}},
		"regression, perceptron, gaps":    {spec: days, model: perceptron, missing: "indicator"},
	} {
		t.Run(name, func(t *testing.T) {
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
			draw := rng.New(7, rng.Address{Purpose: rng.Start})
			weights := make([]float32, recipe.Dim())
			for j := range weights {
				weights[j] = float32(draw.Normal() / (1 + 9*float64(len(name)%2)))
			}
			file := &fleetfile.Model{Run: "r", Member: "a", Round: 1, Rounds: 1, Task: recipe, Weights: weights}
			text, err := file.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			data := write("new.csv", patients(300, 2, gaps, true))
			out, err := exec.Command(python, "predict.py", write("model.json", string(text)), data).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			back, err := fleetfile.ParseModel(text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := back.Predictor()
			if err != nil {
				t.Fatal(err)
			}
			strangers := 0
			p.Unknown = func(string, string) { strangers++ }
			said, err := p.Predict("csv:"+data, nil, 0)
			if err != nil || strangers == 0 {
				t.Fatal(err, strangers)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != len(said) || len(said) != 300 {
				t.Fatalf("%d lines for %d predictions", len(lines), len(said))
			}
			worst := 0.0
			for i, line := range lines {
				want := said[i].Probability
				if recipe.Target != nil {
					want = []float64{said[i].Number}
				}
				for k, cell := range strings.Split(line, ",") {
					got, err := strconv.ParseFloat(cell, 64)
					if err != nil {
						t.Fatal(err)
					}
					worst = max(worst, math.Abs(got-want[k]))
					if !(math.Abs(got-want[k]) <= 1e-6) {
						t.Fatalf("line %d: %s, want %v", i+1, line, want)
					}
				}
			}
			t.Logf("at most %.2g apart, %d unknown categories", worst, strangers)
		})
	}
}
