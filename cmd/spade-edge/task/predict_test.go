package task

import (
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

// predictor holds a Predictor with arbitrary weights, and the source of the data that its recipe was fitted on.
type predictor struct {
	*Predictor
	source string
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
			r := must(Fit(s, model, "itself"))(t)
			p := must(r.Predictor(parameters(r.Dim(), 1, 3)))(t)
			all[kind+", "+name] = predictor{p, s.Source}
		}
	}
	return all
}

// TestPredictions checks that predictions agree with the losses of the model in training, and that a column's contribution
// is the decrease of the score when the column, before PCA, is set to its mean.
func TestPredictions(t *testing.T) {
	for name, p := range predictors(t) {
		t.Run(name, func(t *testing.T) {
			r := p.recipe
			table := must(p.read(p.source, nil, 0, true))(t)
			d := table.data(r) // all samples, without a test split
			of := func(clean *Data) [][]float64 {
				answers := must(r.Model.New(r.project(clean)).Answers(p.model))(t)
				return answers
			}
			score := func(answer []float64, class int) float64 {
				switch len(answer) {
				case 1:
					return answer[0]
				case 2:
					return math.Log(answer[1] / answer[0])
				}
				sum := 0.0
				for _, q := range answer {
					sum += math.Log(q)
				}
				return math.Log(answer[class]) - sum/float64(len(answer))
			}
			said := must(p.Predict(p.source, nil, 0))(t)
			clean, m, answers, at := r.clean(d), r.Model.New(r.prepare(d)), of(r.clean(d)), 0
			for i, one := range said {
				loss := must(m.Loss(t.Context(), p.model, i))(t)
				want := 0.0
				for k, q := range one.Probability {
					if k == d.Y[i] {
						q = 1 - q
					}
					want += q * q / 2
				}
				if r.Target != nil {
					off := r.Target.scale(one.Number) - r.Target.scale(d.Target[i])
					want = off * off
				}
				close(t, "loss", loss, want)
			}
			for c, column := range r.Columns {
				marker := -1
				if r.Missing != nil {
					marker = slices.Index(r.Missing.Columns, column.Name)
				}
				end := at + max(1, len(column.Categories))
				without := of(clean.mapped(clean.Dim, func(to, from []float64) {
					for j, x := range from {
						if to[j] = x; j >= at && j < end || marker >= 0 && j == r.raw()+marker {
							to[j] = 0
							if r.PCA != nil && r.Standardize == nil {
								to[j] = r.PCA.Mean[j]
							}
						}
					}
				}))
				for i, one := range said {
					want := score(answers[i], one.Class) - score(without[i], one.Class)
					if math.Abs(one.Contribution[c]-want) > 1e-5 {
						t.Fatalf("sample %d: column %q contributes %v, want %v", i, column.Name, one.Contribution[c], want)
					}
				}
				at = end
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
	dir := folder(t, map[string][]byte{"images-idx3-ubyte": threeImages, "labels-idx1-ubyte": threeLabels})
	for pixels, want := range map[int]string{2: "<nil>", 3: "images of 2 pixels, want 3 as in the recipe"} {
		images := &Recipe{FittedOn: "x", Source: "idx", Pixels: pixels, Classes: []string{"5", "6"}, Subset: true, Model: ModelSpec{Name: SoftmaxModel}}
		q := must(images.Predictor(make([]float32, pixels)))(t)
		said, err := q.Predict("idx:"+dir, nil, 0)
		if !strings.Contains(fmt.Sprint(err), want) || err == nil && len(said) != 3 {
			t.Errorf("%d predictions of 3 images, %v, want %s", len(said), err, want)
		}
	}
	var unknown []string
	p.Unknown = func(column, value string) { unknown = append(unknown, column+"="+value) }
	if said, err := p.Predict("csv:-", strings.NewReader("a,b,ward\n1,2,w\n"), 0); err != nil || len(said) != 1 ||
		!slices.Equal(unknown, []string{"ward=w"}) {
		t.Errorf("%v, %v, reported %v, want the ward reported", said, err, unknown)
	}
	for _, model := range [][]float32{nil, {1}, append(make([]float32, len(p.model)-1), float32(math.NaN()))} {
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
