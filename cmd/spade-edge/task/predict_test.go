package task

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ward returns a CSV file with two columns of numbers, a column of categories, and a label column with three classes.
func ward(rows int) string {
	var b strings.Builder
	b.WriteString("id,a,ward,class,b\n")
	for i := range rows {
		fmt.Fprintf(&b, "p%d,%d,%c,%s,%v\n", i, i%7, 'x'+i%3, []string{"no", "yes", "maybe"}[i*i%3], float64(i%5)/4)
	}
	return b.String()
}

// predictor holds a Predictor, its arbitrary weights, and the source of the data that its recipe was fitted on.
type predictor struct {
	*Predictor
	source string
	model  []float32
}

// predictors returns predictors for all kinds of models, whose recipes together use every preprocessing step.
func predictors(t *testing.T) map[string]predictor {
	t.Helper()
	whole := ward(60)
	gaps := strings.ReplaceAll(strings.ReplaceAll(whole, ",3,", ",?,"), "9,z,", "9,,")
	dir := folder(t, map[string][]byte{"whole.csv": []byte(whole), "gaps.csv": []byte(strings.ReplaceAll(gaps, "5,y,", "5,NA,"))})
	no := false
	all := map[string]predictor{}
	for name, s := range map[string]Spec{
		"three":                    {Label: "class"},
		"two":                      {Label: "class", Labels: []string{"yes", "no"}},
		"two, PCA":                 {Label: "class", Labels: []string{"yes", "no"}, PCA: 3},
		"PCA, not standardized":    {Label: "class", PCA: 2, Standardize: &no},
		"as it is":                 {Label: "class", Standardize: &no, Bias: &no},
		"three, PCA, not constant": {Label: "class", PCA: 4, Bias: &no},
		"gaps":                     {Label: "class", Missing: "mean"},
		"gaps, PCA":                {Label: "class", Missing: "indicator", PCA: 3},
		"number":                   {Target: "b"},
		"number, gaps":             {Target: "b", Missing: "indicator"},
	} {
		for kind, model := range map[string]ModelSpec{"linear": {SoftmaxModel, 0}, "perceptron": {PerceptronModel, 3}} {
			s.Drop, s.OneHot, s.Source = []string{"id"}, []string{"ward"}, "csv:"+filepath.Join(dir, "whole.csv")
			if s.Missing != "" {
				s.Source = "csv:" + filepath.Join(dir, "gaps.csv")
			}
			if s.Target != "" {
				s.Drop = append(s.Drop, "class")
				if kind == "linear" {
					model.Name = LinearModel
				}
			}
			r, err := Fit(s, model, "itself")
			if err != nil {
				t.Fatal(err)
			}
			x := parameters(r.Dim(), 1, 3)
			p, err := r.Predictor(x)
			if err != nil {
				t.Fatal(err)
			}
			all[kind+", "+name] = predictor{p, s.Source, x}
		}
	}
	return all
}

// TestPredictorIsTheModel checks that the predictions agree with the losses and the accuracy of the model in training.
func TestPredictorIsTheModel(t *testing.T) {
	for name, p := range predictors(t) {
		t.Run(name, func(t *testing.T) {
			source := p.source
			table, err := p.read(source, nil, 0, true)
			if err != nil {
				t.Fatal(err)
			}
			said, err := p.predict(table)
			if err != nil {
				t.Fatal(err)
			}
			// This data has all samples, without a test split, as a device reads them.
			d := table.data(p.recipe)
			is := d.Y
			m, x := p.recipe.Model.New(p.recipe.prepare(d)), p.model
			right := 0
			for i, one := range said {
				loss, err := m.Loss(context.Background(), x, i)
				if err != nil {
					t.Fatal(err)
				}
				if r := p.recipe.Target; r != nil {
					off := (one.Number-r.Low)/(r.High-r.Low) - r.scale(d.Target[i])
					close(t, "loss", loss, off*off)
					continue
				}
				want, sum := 0.0, 0.0
				for k, q := range one.Probability {
					if k == is[i] {
						q = 1 - q
					}
					want += q * q / 2
					sum += one.Probability[k]
				}
				close(t, "loss", loss, want)
				near(t, "sum of probabilities", sum, 1)
				if one.Class != m.predict(x, i) {
					t.Errorf("sample %d: class %d, want %d", i, one.Class, m.predict(x, i))
				}
				if one.Class == is[i] {
					right++
				}
			}
			scores, err := p.Evaluate(source, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			judged, errors := scores.Classes, scores.Numbers
			if p.recipe.Target != nil {
				want, err := m.Errors(x)
				if err != nil || judged != nil {
					t.Fatalf("%v, %v", judged, err)
				}
				close(t, "R2", errors.R2.Value, want.R2.Value)
				close(t, "RMSE", errors.RMSE.High, want.RMSE.High)
				return
			}
			near(t, "accuracy", judged.Accuracy.Value, m.Accuracy(x))
			near(t, "accuracy by hand", judged.Accuracy.Value, float64(right)/float64(len(said)))
		})
	}
}

// TestContributions checks that a column's contribution is the decrease of the score when the column, before PCA, is
// set to its mean.
func TestContributions(t *testing.T) {
	for name, p := range predictors(t) {
		t.Run(name, func(t *testing.T) {
			source := p.source
			said, err := p.Predict(source, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			table, err := p.read(source, nil, 0, false)
			if err != nil {
				t.Fatal(err)
			}
			r := p.recipe
			raw := table.data(r)
			if r.Missing != nil {
				raw = r.fill(raw)
			}
			if r.Standardize != nil {
				if raw, err = r.Standardize.Apply(raw); err != nil {
					t.Fatal(err)
				}
			}
			// The score is computed from its definition; TestPredictorIsTheModel checks the outputs.
			score := func(row []float64, class int) float64 {
				z := p.outputs(row)
				if r.Target != nil {
					return r.Target.Low + (r.Target.High-r.Target.Low)/(1+math.Exp(-z[0]))
				}
				if len(z) == 1 {
					return z[0]
				}
				sum := 0.0
				for _, v := range z {
					sum += v
				}
				return z[class] - sum/float64(len(z))
			}
			for i, one := range said {
				row := make([]float64, raw.Dim)
				for j, x := range raw.Row(i) {
					row[j] = float64(x)
				}
				at := 0
				for c, column := range r.Columns {
					moved := slices.Clone(row)
					for range max(1, len(column.Categories)) {
						moved[at] = p.origin[at]
						at++
					}
					if r.Missing != nil {
						if k := slices.Index(r.Missing.Columns, column.Name); k >= 0 {
							moved[r.raw()+k] = p.origin[r.raw()+k]
						}
					}
					want := score(row, one.Class) - score(moved, one.Class)
					if math.Abs(one.Contribution[c]-want) > 1e-5 {
						t.Fatalf("sample %d: column %q contributes %v, want %v", i, column.Name, one.Contribution[c], want)
					}
				}
			}
		})
	}
}

func TestPredictFaults(t *testing.T) {
	all := predictors(t)
	p := all["linear, three"]
	for input, want := range map[string]string{
		"a,b\n1,2\n":               `no column "ward"`,
		"a,b,ward\n1,2,w\n":        `line 2: column "ward": "w" is not one of its categories`,
		"a,b,ward\n":               "no rows",
		"a,b,ward\n3e38,-3e38,x\n": "sample 1 has numbers too large for the model", // only the contribution overflows
	} {
		_, err := p.Predict("csv:-", strings.NewReader(input), 0)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
	// Predict does not read the label, whatever its content; only Evaluate does.
	if _, err := p.Predict("csv:-", strings.NewReader("class,a,b,ward\n,1,2,x\n?,1,2,y\n"), 0); err != nil {
		t.Error(err)
	}
	for input, want := range map[string]string{
		"a,b,ward\n1,2,x\n":         `no column "class", which the recipe needs as the label`,
		"a,b,ward,class\n1,2,x,?\n": `"?" is not one of its categories`,
		"a,b,ward,class\n1,2,x,\n":  "empty label",
	} {
		if _, err := p.Evaluate("csv:-", strings.NewReader(input), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
	two := all["linear, two"]
	_, err := two.Evaluate("csv:-", strings.NewReader("a,b,ward,class\n1,2,x,maybe\n"), 0)
	if err == nil || !strings.Contains(err.Error(), "no sample with one of the labels") {
		t.Errorf("no sample of a class: %v", err)
	}
	if _, err := p.Predict("idx:x", nil, 0); err == nil || !strings.Contains(err.Error(), "want csv data") {
		t.Errorf("images for a model of columns: %v", err)
	}
	var unknown []string
	p.Unknown = func(column, value string) { unknown = append(unknown, column+"="+value) }
	if said, err := p.Predict("csv:-", strings.NewReader("a,b,ward\n1,2,w\n"), 0); err != nil || len(said) != 1 ||
		!slices.Equal(unknown, []string{"ward=w"}) {
		t.Errorf("%v, %v, reported %v, want the ward reported", said, err, unknown)
	}
	for _, model := range [][]float32{nil, {1}, append(make([]float32, len(p.x)-1), float32(math.NaN()))} {
		if _, err := p.recipe.Predictor(model); err == nil {
			t.Errorf("a model of %d numbers is taken", len(model))
		}
	}
}

// close fails the test if got and want differ by more than the float32 rounding of training can explain.
func close(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
