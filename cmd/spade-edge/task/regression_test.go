package task

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// targets returns random data with a target that is linear in the columns and sometimes outside its range.
func targets(n, dim int, seed uint64) *Data {
	d, s := random(n, dim, 2, seed), testStream(seed)
	d.Range = &Range{Low: -2, High: 6}
	for i := range d.Y {
		y := 2 + float64(5*s.Normal())
		for _, x := range d.Row(i) {
			y += float64(x)
		}
		d.Target = append(d.Target, float64(float32(y)))
		d.Y[i] = d.Range.side(d.Target[i])
	}
	return d
}

func TestRangeOf(t *testing.T) {
	for _, c := range []struct {
		targets   []float64
		low, high float64 // expected range; both ends are 0 if an error is expected
	}{
		{[]float64{0, 10}, 0, 10},                                    // the range is cut to minimum and maximum
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1001}, 1, 101 + 2*300}, // the outlier is outside the range
		{[]float64{7, 7, 7}, 0, 0},
		{[]float64{-math.MaxFloat32, math.MaxFloat32}, -math.MaxFloat32, math.MaxFloat32},
	} {
		r, err := rangeOf(c.targets)
		if c.low == c.high {
			if err == nil {
				t.Errorf("%v have the range %v", c.targets, r)
			}
		} else if err != nil || math.Abs(r.Low/c.low-1) > 1e-9 && r.Low != c.low || math.Abs(r.High/c.high-1) > 1e-9 {
			t.Errorf("%v have the range %+v, %v; want %v to %v", c.targets, r, err, c.low, c.high)
		}
	}
}

// TestTargetRecipe checks that Load reads, scales and splits data with a target, and that the recipe produces the same
// results, even for a member's file with further columns and another decimal mark.
func TestTargetRecipe(t *testing.T) {
	source := func(name string) string {
		return "csv:" + filepath.Join(realData(t, "heart-four-hospitals"), name+".csv")
	}
	s := Spec{Source: source("cleveland"), Target: "thalach", Missing: fillMedian, Drop: []string{"num"}, Seed: 2}
	set, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Fit(s, ModelSpec{PerceptronModel, 2}, "Cleveland")
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.Apply(Spec{Source: s.Source, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for k, d := range []*Data{set.Train, set.Test} {
		got := []*Data{again.Train, again.Test}[k]
		if digest(got.X...) != digest(d.X...) || digest(got.Target...) != digest(d.Target...) || *got.Range != *d.Range ||
			!slices.Equal(got.Y, d.Y) {
			t.Errorf("part %d differs", k)
		}
		for i, y := range d.Target {
			if high := 2*float64(y) >= d.Range.Low+d.Range.High; high != (d.Y[i] == 1) || y < 60 || y > 220 {
				t.Errorf("a heart rate of %v is on side %d of %v", y, d.Y[i], *d.Range)
			}
		}
	}
	if r.Dim() != 2*13+3 || r.Classes != nil || again.Train.Dim != 13 || set.Train.Len()+set.Test.Len() != 303 {
		t.Errorf("%d parameters, classes %q, %d rows", r.Dim(), r.Classes, set.Train.Len()+set.Test.Len())
	}
	// At another hospital, a patient whose heart rate is missing is dropped.
	if other, err := r.Apply(Spec{Source: source("va"), Seed: 2}); err != nil || other.Train.Len()+other.Test.Len() != 147 {
		t.Errorf("va: %+v, %v", other, err)
	}
	for want, s := range map[string]Spec{
		`target "thalach" and label "num", want only one`: {Source: s.Source, Target: "thalach", Label: "num"},
		`labels ["a" "b"], want none: target`:             {Source: s.Source, Target: "thalach", Labels: []string{"a", "b"}},
		`target "age": only for`:                          {Source: "synthetic:clinical", Target: "age"},
		`target "rate": `:                                 {Source: s.Source, Target: "rate"},
		`label "thalach" has 91 values that are numbers`:  {Source: s.Source, Label: "thalach", Missing: fillMean},
		`column "chol": empty label`: {Source: source("va"), Target: "chol", Drop: []string{"ca", "thal", "slope", "trestbps",
			"fbs", "thalach", "exang", "oldpeak"}},
	} {
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}
