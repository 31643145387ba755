package task

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const scaled = "id,age,ward,bmi,ill\n1,20,a,18,no\n2,40,b,,yes\n3,60,c,31,no\n4,80,a,25,yes\n5,30,b,22,no\n6,50,c,27,yes\n"

// Each column is multiplied by its declared factor; all columns made from a column of categories have the same factor.
// Columns that mark missing cells, and the column of ones, are unchanged.
func TestScale(t *testing.T) {
	path := ownFile(t, scaled)
	spec := Spec{Source: path, Label: "ill", Drop: []string{"id"}, OneHot: []string{"ward"}, Missing: "indicator", Whole: true}
	plain := must(Load(spec))(t)
	spec.Scale = map[string]float64{"a\u200bge": 2, "ward": 0.25} // a character without width
	set := must(Load(spec))(t)
	want := []float64{2, 0.25, 0.25, 0.25, 1, 1, 1} // age, three wards, bmi, marker of missing bmi, ones
	spec.Scale["*"] = 0.5
	rest := must(Load(spec))(t)
	for i := range plain.Train.Len() {
		for j, x := range plain.Train.Row(i) {
			for of, by := range map[*Set]float64{set: want[j], rest: map[bool]float64{true: 0.5, false: want[j]}[j == 4]} {
				// The factor is applied before the rounding to float32.
				if got := of.Train.Row(i)[j]; math.Abs(float64(got)-by*float64(x)) > 1e-6*math.Abs(by*float64(x)) {
					t.Errorf("row %d, column %d: %v, want %v times %v", i, j, got, by, x)
				}
			}
		}
	}
	if !slices.ContainsFunc(set.Fitted, func(s string) bool { return strings.Contains(s, "public knowledge: age 2, ward 0.25") }) {
		t.Errorf("not declared: %q", set.Fitted)
	}
	// The recipe has the scale and produces the same bits. If no scale is declared, the recipe has none.
	r := must(set.Recipe(ModelSpec{Name: SoftmaxModel}, "x"))(t)
	again, err := r.Apply(Spec{Source: spec.Source, Whole: true})
	if err != nil || !slices.Equal(again.Train.X, set.Train.X) || plain.recipe.Standardize.Scale != nil {
		t.Errorf("by the recipe %v: %v", again, err)
	}
	for _, bad := range [][]float64{{2}, {0, 1, 1, 1, 1, 1}, {math.NaN(), 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1e4}, {-1, 1, 1, 1, 1, 1}} {
		r.Standardize.Scale = bad
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "standardize.scale") {
			t.Errorf("scale %v: %v", bad, err)
		}
	}
	no := false
	for want, change := range map[string]func(s *Spec){
		`scale "size" is not the name`:                   func(s *Spec) { s.Scale = map[string]float64{"size": 2} },
		`scale "id" is not the name`:                     func(s *Spec) { s.Scale = map[string]float64{"id": 2} },
		`scale "ill" is not the name`:                    func(s *Spec) { s.Scale = map[string]float64{"ill": 2, "age": 1} },
		`scale "age" is 0, want`:                         func(s *Spec) { s.Scale = map[string]float64{"age": 0} },
		`scale "age" is -1, want`:                        func(s *Spec) { s.Scale = map[string]float64{"age": -1} },
		`scale "age" is NaN, want`:                       func(s *Spec) { s.Scale = map[string]float64{"age": math.NaN()} },
		`scale "age" is +Inf, want`:                      func(s *Spec) { s.Scale = map[string]float64{"age": math.Inf(1)} },
		`want none with idx data or without standardize`: func(s *Spec) { s.Standardize = &no },
		`want none with pca 2`:                           func(s *Spec) { s.PCA = 2 },
		`scale "*" is 10000, want 0.001`:                 func(s *Spec) { s.Scale = map[string]float64{"*": 1e4} },
	} {
		s := spec
		change(&s)
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
