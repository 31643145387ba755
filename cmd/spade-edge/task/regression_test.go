package task

import (
	"context"
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

func targetModels(d *Data) []*Model {
	return []*Model{ModelSpec{Name: LinearModel}.New(d), ModelSpec{PerceptronModel, 1}.New(d), ModelSpec{PerceptronModel, 7}.New(d)}
}

// TestTargetOfTwoValues checks that, if a target takes only the two ends of its range, the loss of the linear model
// equals the loss of a model for two classes.
func TestTargetOfTwoValues(t *testing.T) {
	d := random(40, 5, 2, 1)
	two := *d
	two.Range = &Range{Low: -3, High: 5}
	for _, y := range d.Y {
		two.Target = append(two.Target, float64(8*y-3))
	}
	x := parameters(5, 0.5, 2)
	for i := range d.Y {
		a, _ := NewSoftmax(d).Loss(t.Context(), x, i)
		b, err := ModelSpec{Name: LinearModel}.New(&two).Loss(t.Context(), x, i)
		if math.Abs(a-b) > 1e-12 || err != nil {
			t.Errorf("sample %d: %v as a class, %v as a target, %v", i, a, b, err)
		}
	}
}

// TestTargetGolden pins the losses and errors on generated data, which must have the same bits on every processor and
// in every version.
func TestTargetGolden(t *testing.T) {
	d := targets(200, 33, 11)
	for i, want := range []uint64{0x43250e26b3fddea2, 0x7a1c242832de518f, 0x22cbda12fc77edd3} {
		m := targetModels(d)[i]
		var losses []float64
		for k := range 20 {
			x := parameters(m.Dim(), math.Pow(10, float64(k%5-3)), uint64(k))
			for s := range d.Y {
				loss, err := m.Loss(t.Context(), x, s)
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, loss)
			}
			scores, err := m.Judge(x)
			if err != nil {
				t.Fatal(err)
			}
			e := scores.Numbers
			losses = append(losses, e.RMSE.Value, e.MAE.Value, m.MeanLoss(x))
		}
		if got := digest(losses...); got != want {
			t.Errorf("%v: digest %#x, want %#x as on every processor", m.spec, got, want)
		}
	}
}

func TestTargetFaults(t *testing.T) {
	d, nan := targets(9, 2, 1), math.NaN()
	classes := random(9, 2, 2, 1)
	for want, m := range map[string]*Model{
		"model is softmax":                    ModelSpec{Name: SoftmaxModel}.New(d),
		"model is linear":                     ModelSpec{Name: LinearModel}.New(classes),
		"model linear has 3 hidden units":     ModelSpec{LinearModel, 3}.New(d),
		"data set has 9 targets":              ModelSpec{Name: LinearModel}.New(with(d, func(d *Data) { d.Range = nil })),
		"data set has 8 targets":              ModelSpec{Name: LinearModel}.New(with(d, func(d *Data) { d.Target = d.Target[1:] })),
		"data set has 0 targets":              ModelSpec{Name: SoftmaxModel}.New(with(d, func(d *Data) { d.Target = nil })),
		"a valid Range":                       ModelSpec{Name: LinearModel}.New(with(d, func(d *Data) { d.Range = &Range{1, 1} })),
		"9 targets, want 9 (one finite numbe": ModelSpec{Name: LinearModel}.New(with(d, func(d *Data) { d.Range = &Range{nan, 1} })),
		"one finite number for each sample":   ModelSpec{Name: LinearModel}.New(with(d, func(d *Data) { d.Target = append(slices.Clone(d.Target[1:]), nan) })),
	} {
		if _, err := m.Loss(context.Background(), make([]float32, 2), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
		if _, err := m.Judge(make([]float32, 2)); err == nil {
			t.Errorf("scores of a model that has none: %s", want)
		}
	}
}

func with(d *Data, change func(*Data)) *Data {
	c := *d
	change(&c)
	return &c
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
