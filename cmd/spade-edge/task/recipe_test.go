package task

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRecipeIsLoad checks that a recipe, applied to the data that it was fitted on, produces the same bits as Load.
func TestRecipeIsLoad(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,a,ward,class,b\n")
	for i := range 60 {
		b.WriteString(strings.Join([]string{string(rune('A' + i%26)), string(rune('0' + i%7)), string(rune('x' + i%3)),
			[]string{"no", "yes", "maybe"}[i%3], string(rune('1' + i%5))}, ",") + "\n")
	}
	csv := ownFile(t, b.String())
	no, yes := false, true
	for name, c := range map[string]struct {
		spec func(t *testing.T) Spec
		dim  int
	}{
		"generated": {func(t *testing.T) Spec { return Spec{Source: "synthetic:clinical", Seed: 3} }, 6},
		"generated, PCA": {func(t *testing.T) Spec {
			return Spec{Source: "synthetic:clinical", Seed: 3, PCA: 2,
				TestFraction: 0.4}
		}, 3},
		"CSV": {func(t *testing.T) Spec {
			return Spec{Source: csv, Label: "class", Drop: []string{"id"}, OneHot: []string{"ward"}}
		}, 18},
		"CSV, plain, subset": {func(t *testing.T) Spec {
			return Spec{Source: csv, Label: "class", Drop: []string{"id", "ward"}, Labels: []string{"yes", "no"},
				Standardize: &no, Bias: &no}
		}, 2},
		"images": {func(t *testing.T) Spec {
			return Spec{Source: "idx:" + digits(t), Labels: []string{"6", "7"}, PCA: 4, Bias: &yes}
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.spec(t)
			set := must(Load(s))(t)
			r := must(Fit(s, ModelSpec{Name: SoftmaxModel}, "itself"))(t)
			got := must(r.Apply(Spec{Source: s.Source, TestFraction: s.TestFraction, Seed: s.Seed}))(t)
			for part, pair := range map[string][2]*Data{"training": {set.Train, got.Train}, "test": {set.Test, got.Test}} {
				want, got := pair[0], pair[1]
				if !slices.Equal(got.X, want.X) || !slices.Equal(got.Y, want.Y) || got.Dim != want.Dim ||
					got.Classes != want.Classes ||
					!slices.Equal(got.Features, want.Features) || !slices.Equal(got.ClassNames, want.ClassNames) {
					t.Errorf("the %s part differs: %d x %d, want %d x %d", part, got.Len(), got.Dim, want.Len(), want.Dim)
				}
			}
			if got.Train.Len() == 0 || got.Test.Len() == 0 || r.Dim() != c.dim || NewSoftmax(got.Train).Dim() != c.dim ||
				r.Start(1) != nil {
				t.Errorf("%d parameters, want %d", r.Dim(), c.dim)
			}
			for _, what := range got.Fitted {
				if !strings.HasPrefix(what, "test split of ") {
					t.Errorf("a recipe was applied, and yet %q", what)
				}
			}
			if *got.Spec.Standardize != *set.Spec.Standardize || *got.Spec.Bias != *set.Spec.Bias ||
				got.Spec.TestFraction != set.Spec.TestFraction {
				t.Errorf("did %+v, want %+v", got.Spec, set.Spec)
			}
		})
	}
}

// digits returns a folder with 40 images for training and 20 for tests, of three labels.
func digits(t *testing.T) string {
	t.Helper()
	files, s := map[string][]byte{}, testStream(1)
	for part, n := range map[string]uint32{"train-": 40, "t10k-": 20} {
		var pixels, labels []byte
		for i := range n {
			labels = append(labels, byte(6+i%3))
			for range 12 {
				pixels = append(pixels, byte(s.IntN(256)))
			}
		}
		files[part+"images-idx3-ubyte"] = idxFile(imagesMagic, []uint32{n, 4, 3}, pixels...)
		files[part+"labels-idx1-ubyte"] = idxFile(labelsMagic, []uint32{n}, labels...)
	}
	return folder(t, files)
}

func handmade() *Recipe {
	return &Recipe{
		FittedOn: "nobody", Source: "csv", Columns: []Column{{Name: "b"}, {Name: "ward", Categories: []string{"z", "x"}},
			{Name: "a"}}, Label: "class",
		Classes: []string{"no", "yes"}, Standardize: &Standardizer{Mean: []float64{1, 0, 0.5, 0},
			Std: []float64{2, 1, 0.25, 0}}, Bias: true,
		Model: ModelSpec{PerceptronModel, 3},
	}
}

// A device's file may have further columns, in any order, and need not have all classes or categories.
func TestRecipeApply(t *testing.T) {
	r := handmade()
	own := ownFile(t, "class,ward,junk,a,b\nyes, x ,?,7,3\nyes,z,?,8,5\nyes,x,,9,1\nyes,x,,9,1\nyes,x,,9,1\n")
	set := must(r.Apply(Spec{Source: own, Seed: 1}))(t)
	if set.Train.Len() != 4 || set.Test.Len() != 1 || set.Train.Classes != 2 || slices.Contains(set.Train.Y, 0) {
		t.Errorf("%d + %d samples %v", set.Train.Len(), set.Test.Len(), set.Train.Y)
	}
	rows := map[[5]float32]int{}
	for i := range set.Train.Y {
		rows[[5]float32(set.Train.Row(i))]++
	}
	rows[[5]float32(set.Test.Row(0))]++
	if len(rows) != 3 || rows[[5]float32{1, 0, 2, 0, 1}] != 1 || rows[[5]float32{2, 1, -2, 0, 1}] != 1 ||
		rows[[5]float32{0, 0, 2, 0, 1}] != 3 {
		t.Errorf("rows %v", rows)
	}
	if want := []string{"b", "ward=z", "ward=x", "a", "bias"}; !slices.Equal(set.Train.Features, want) {
		t.Errorf("columns %q, want %q", set.Train.Features, want)
	}
	if want := 3*5 + 4; r.Dim() != want || r.Model.New(set.Train).Dim() != want || len(r.Start(1)) != want {
		t.Errorf("%d parameters, want %d", r.Dim(), want)
	}
	r.Subset = true
	own = ownFile(t, "ward,a,b,class\nx,1,1,maybe\nz,1,1,no\nx,1,1,no\nx,1,1,no\n")
	if set, err := r.Apply(Spec{Source: own, TestFraction: 0.5, Seed: 1}); err != nil || set.Train.Len()+set.Test.Len() != 3 {
		t.Errorf("with other labels left out: %+v, %v", set, err)
	}
}

// With Spec.Whole no sample is held out: Fit uses every row, and the result of Apply has no test part.
func TestWhole(t *testing.T) {
	source := ownFile(t, "age,ward,ill\n40,a,no\n60,b,yes\n40,c,no\n60,,yes\n")
	s := Spec{Source: source, Label: "ill", OneHot: []string{"ward"}, Missing: "indicator", Whole: true}
	set, err := Load(s)
	if err != nil || set.Train.Len() != 4 || set.Test.Len() != 0 || set.Spec.TestFraction != 0 {
		t.Fatalf("%+v, %v", set, err)
	}
	r := must(Fit(s, ModelSpec{Name: SoftmaxModel}, "nobody"))(t)
	third := 1. / 3
	if !slices.Equal(r.Missing.Fill, []float64{50, third, third, third}) || r.Standardize.Mean[0] != 50 || r.Standardize.Std[0] != 10 {
		t.Errorf("fill %v, %+v", r.Missing.Fill, r.Standardize)
	}
	again, err := r.Apply(Spec{Source: source, Whole: true, Seed: 1})
	if err != nil || !slices.Equal(again.Train.X, set.Train.X) || again.Test.Len() != 0 || again.Test.Dim != again.Train.Dim {
		t.Errorf("applied: %+v, %v", again, err)
	}
	for _, what := range again.Fitted {
		if strings.Contains(what, "test split") {
			t.Errorf("fitted: %s", what)
		}
	}
	if _, err := r.Apply(Spec{Source: "csv:", Whole: true, Seed: 1}); err == nil {
		t.Error("no file, and no error")
	}
}

// Every mismatch in a device's file is reported with line and column.
func TestRecipeApplyFaults(t *testing.T) {
	dir := folder(t, map[string][]byte{
		"lacks.csv":         []byte("class,a\nyes,1\n"),
		"cells.csv":         []byte("class,ward,a,b\nyes,x,1,1\nno,w,?,1\nmaybe,z,1,1\n,z,1,1\n"),
		"other.csv":         []byte("class,ward,a,b\nmaybe,x,1,1\n"),
		"text.csv":          []byte("class,ward,a,b\n" + strings.Repeat("yes,x,low,1\n", 5)),
		"one.csv":           []byte("class,ward,a,b\nyes,x,1,1\n"),
		"images-idx3-ubyte": threeImages,
		"labels-idx1-ubyte": threeLabels,
	})
	csv := func(name string) string { return "csv:" + filepath.Join(dir, name) }
	images := &Recipe{FittedOn: "x", Source: "idx", Pixels: 2, Classes: []string{"100", "101"},
		Model: ModelSpec{Name: SoftmaxModel}}
	clinic := &Recipe{FittedOn: "x", Source: "synthetic", Columns: []Column{{Name: "age_years"}},
		Classes: []string{"no", "yes"}, Model: ModelSpec{Name: SoftmaxModel}}
	small := *images
	small.Pixels = 3
	subset := handmade()
	subset.Subset = true
	for name, c := range map[string]struct {
		recipe   *Recipe
		source   string
		fraction float64
		want     []string
	}{
		"columns": {handmade(), csv("lacks.csv"), 0, []string{`has no column "b", which the recipe needs as a number`,
			`has no column "ward", which the recipe needs as a category`, `the columns of`, `"class", "a"`}},
		"cells": {handmade(), csv("cells.csv"), 0,
			[]string{`cells.csv: line 3: column "ward": "w" is not one of its categories, which are "z", "x"`,
				`line 3: column "a": "?" is not a finite number`,
				`line 4: column "class": "maybe" is not one of its categories, which are "no", "yes"`,
				`line 5: column "class": empty label`}},
		"text":         {handmade(), csv("text.csv"), 0, []string{`text.csv: column "a" holds text in 5 lines, such as "low", want numbers`}},
		"no sample":    {subset, csv("other.csv"), 0.2, []string{"leaves no test sample"}},
		"one sample":   {handmade(), csv("one.csv"), 0.2, []string{"leaves no test sample"}},
		"no file":      {handmade(), csv("none.csv"), 0, []string{"none.csv"}},
		"another kind": {handmade(), "idx:" + dir, 0, []string{`want csv data`}},
		"no kind":      {handmade(), "p.csv", 0, []string{`data "p.csv", want idx:DIR`}},
		"fraction":     {handmade(), csv("own.csv"), 1, []string{`test_fraction 1, want`}},
		"labels":       {images, "idx:" + dir, 0, []string{`sample 0 has the label "7", want one of`}},
		"pixels":       {&small, "idx:" + dir, 0, []string{`images of 2 pixels, want 3 as in the recipe`}},
		"generated":    {clinic, "synthetic:clinical", 0, []string{`want the columns of the recipe`}},
		"recipe":       {&Recipe{}, "synthetic:clinical", 0, []string{`fitted_on is ""`, `source is ""`}},
	} {
		_, err := c.recipe.Apply(Spec{Source: c.source, TestFraction: c.fraction, Seed: 1})
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
	}
}

// TestRecipeFaults checks that every error in a recipe is reported. Package builtin tests the errors that a JSON file
// can have; the errors here need numbers that JSON cannot express.
func TestRecipeFaults(t *testing.T) {
	nan := math.NaN()
	for want, change := range map[string]func(r *Recipe){
		"standardize.mean[0] is NaN, want a float32, of magnitude at most 3.4e+38": func(r *Recipe) { r.Standardize.Mean[0] = nan },
		"standardize.mean[2] is 1e+39, want a float32, of magnitude at most":       func(r *Recipe) { r.Standardize.Mean[2] = 1e39 },
		"standardize.std[1] is 1e+39, want a float32, of magnitude at most":        func(r *Recipe) { r.Standardize.Std[1] = 1e39 },
		"standardize.std[1] is -1, want 0, or a deviation of at least":             func(r *Recipe) { r.Standardize.Std[1] = -1 },
		"standardize.std[1] is 1e-39, want 0, or a deviation of at least":          func(r *Recipe) { r.Standardize.Std[1] = 1e-39 },
		"missing.fill[1] is 1e+39, want a float32, of magnitude at most": func(r *Recipe) {
			r.Missing = &Missing{Rule: fillMean, Fill: []float64{0, 1e39, 0, 0}}
		},
		"target is {-1e+39 1}, want two float32 numbers": func(r *Recipe) {
			r.Target, r.Classes, r.Model = &Range{-1e39, 1}, nil, ModelSpec{Name: LinearModel}
		},
		"pca.components[0][2] is -1e+39, want a float32, of magnitude at most": func(r *Recipe) {
			r.PCA = &PCA{Mean: make([]float64, 4), Components: [][]float64{{1, 0, -1e39, 0}}, Scale: 1}
		},
		"pca.scale is 1e+39, want": func(r *Recipe) {
			r.PCA = &PCA{Mean: make([]float64, 4), Components: [][]float64{{1, 0, 0, 0}}, Scale: 1e39}
		},
		"pca.mean[3] is NaN, want a float32, of magnitude at most": func(r *Recipe) {
			r.PCA = &PCA{Mean: []float64{0, 0, 0, nan}, Components: [][]float64{{1, 0, 0, 0}}, Scale: 1}
		},
		"pca.scale is +Inf": func(r *Recipe) {
			r.PCA = &PCA{Mean: make([]float64, 4), Components: [][]float64{{1, 0, 0, 0}}, Scale: math.Inf(1)}
		},
		"pca.components has 0 components, want 1 to 4": func(r *Recipe) { r.PCA = &PCA{Mean: make([]float64, 4), Scale: 1} },
		"columns has 0 columns, want none for":         func(r *Recipe) { r.Columns, r.Standardize = nil, nil },
		`label is "class", want the column of the`:     func(r *Recipe) { r.Source = "synthetic" },
		"pixels is 3, want 1 to 268435456 for":         func(r *Recipe) { r.Pixels, r.Standardize = 3, nil },
		"perceptron has 0 hidden units":                func(r *Recipe) { r.Model.Hidden = 0 },
		"the model has about 536870912 parameters": func(r *Recipe) {
			*r = Recipe{FittedOn: "x", Source: "idx", Pixels: 1 << 21, Classes: r.Classes,
				Model: ModelSpec{PerceptronModel, 256}}
		},
	} {
		r := handmade()
		change(r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if err := handmade().Validate(); err != nil {
		t.Error(err)
	}
	if _, err := Fit(Spec{}, ModelSpec{}, ""); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three faults gave %v", err)
	}
	if _, err := Fit(Spec{Source: "csv:none", Label: "x"}, ModelSpec{Name: SoftmaxModel}, "x"); err == nil {
		t.Error("fitted on no file")
	}
}
