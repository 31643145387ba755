package task

import (
	"fmt"
	"math"
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
	here, there := "age,rate,sex,num\n", "note;rate;sex;age\n"
	for i := range 60 {
		sex := []string{"0", "1", ""}[min(i%2+2*(i%15/14), 2)]
		here += fmt.Sprintf("%d,%d,%s,%d\n", 40+i%23, 90+i*37%91, sex, i%5)
		there += fmt.Sprintf("x;%d,5;%s;%d,0\n", 90+i*37%91, sex, 40+i%23)
	}
	s := Spec{Source: ownFile(t, here), Target: "rate", Missing: fillMedian, Drop: []string{"num"}, Seed: 2}
	set := must(Load(s))(t)
	r := must(Fit(s, ModelSpec{PerceptronModel, 2}, "here"))(t)
	again := must(r.Apply(Spec{Source: s.Source, Seed: 2}))(t)
	for k, d := range []*Data{set.Train, set.Test} {
		got := []*Data{again.Train, again.Test}[k]
		if digest(got.X...) != digest(d.X...) || digest(got.Target...) != digest(d.Target...) || *got.Range != *d.Range ||
			!slices.Equal(got.Y, d.Y) {
			t.Errorf("part %d differs", k)
		}
		for i, y := range d.Target {
			if high := 2*y >= d.Range.Low+d.Range.High; high != (d.Y[i] == 1) || y < 90 || y > 180 {
				t.Errorf("a rate of %v is on side %d of %v", y, d.Y[i], *d.Range)
			}
		}
	}
	if r.Dim() != 2*3+3 || r.Classes != nil || again.Train.Dim != 3 || set.Train.Len()+set.Test.Len() != 60 {
		t.Errorf("%d parameters, classes %q, %d rows", r.Dim(), r.Classes, set.Train.Len()+set.Test.Len())
	}
	// Elsewhere, a row whose target is missing is dropped.
	other, err := r.Apply(Spec{Source: ownFile(t, strings.Replace(there, ";90,5;", ";;", 1)), Seed: 2})
	if err != nil || other.Train.Len()+other.Test.Len() != 59 || other.Train.Target[0] != math.Floor(other.Train.Target[0])+0.5 {
		t.Errorf("there: %+v, %v", other, err)
	}
	for want, s := range map[string]Spec{
		`target "rate" and label "num", want only one`: {Source: s.Source, Target: "rate", Label: "num"},
		`labels ["a" "b"], want none: target`:          {Source: s.Source, Target: "rate", Labels: []string{"a", "b"}},
		`target "age": only for`:                       {Source: "synthetic:clinical", Target: "age"},
		`target "size": `:                              {Source: s.Source, Target: "size"},
		`label "rate" has 60 values that are numbers`:  {Source: s.Source, Label: "rate", Missing: fillMean},
		`column "sex": empty label`:                    {Source: s.Source, Target: "sex"},
	} {
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}
