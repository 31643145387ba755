package task

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// gaps has missing numbers and categories. The missing numbers of columns a and b are in rows that TestMissing holds
// out for the test part.
const gaps = "a,ward,b,y\n1,x,10,no\n,z,20,yes\n3,,30,no\n4,x,40,yes\n5,x,?,no\n9,z,60,yes\n2,z,70,no\n4,x,80,yes\n"

func TestMissing(t *testing.T) {
	source := ownFile(t, gaps)
	no := false
	for rule, want := range map[string]struct {
		features string
		rows     int
		fill     []float64 // of the six training rows, which are all rows but the second and the fifth
	}{
		"mean":      {"a ward=x ward=z b bias", 8, []float64{23. / 6, 0.6, 0.4, 290. / 6}},
		"median":    {"a ward=x ward=z b bias", 8, []float64{3.5, 1, 0, 50}},
		"indicator": {"a ward=x ward=z b ward missing bias", 8, []float64{23. / 6, 0.6, 0.4, 290. / 6}},
		"drop":      {"a ward=x ward=z b bias", 5, nil},
	} {
		s := Spec{Source: source, Label: "y", OneHot: []string{"ward"}, Missing: rule, Standardize: &no, Seed: 1, TestFraction: 0.25}
		set := must(Load(s))(t)
		r := must(Fit(s, ModelSpec{Name: SoftmaxModel}, "itself"))(t)
		got := strings.Join(set.Train.Features, " ")
		if n := set.Train.Len() + set.Test.Len(); n != want.rows || got != want.features || r.Missing.Rule != rule {
			t.Errorf("%s: %d rows of %s, want %d of %s", rule, n, got, want.rows, want.features)
		}
		if !slices.Equal(r.Missing.Fill, want.fill) {
			t.Errorf("%s: filled with %v, want %v", rule, r.Missing.Fill, want.fill)
		}
		for _, d := range []*Data{set.Train, set.Test} {
			if slices.ContainsFunc(d.X, func(x float32) bool { return x != x }) {
				t.Errorf("%s: a number is still missing", rule)
			}
		}
		again, err := r.Apply(Spec{Source: source, TestFraction: 0.25, Seed: 1})
		if err != nil || digest(again.Train.X...) != digest(set.Train.X...) || digest(again.Test.X...) != digest(set.Test.X...) {
			t.Errorf("%s: applied, other bits than loaded (%v)", rule, err)
		}
		if told := strings.Contains(strings.Join(set.Fitted, "; "), "missing cells"); !told {
			t.Errorf("%s: fitted %q", rule, set.Fitted)
		}
		if strings.Contains(strings.Join(again.Fitted, "; "), "missing") {
			t.Errorf("%s: a recipe was applied, and yet %q", rule, again.Fitted)
		}
	}
	for want, s := range map[string]Spec{
		`missing "guess", want mean, median, indicator or drop`: {Source: source, Label: "y", Missing: "guess"},
		`missing "mean": only for data csv:FILE`:                {Source: "synthetic:clinical", Missing: "mean"},
		`column "b" is empty in all training rows`: {Source: ownFile(t, "a,b,y\n1,,no\n2,,yes\n3,,no\n4,,yes\n"), Missing: "mean", Label: "y",
			TestFraction: 0.5},
	} {
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}

// A column named in the rule is marked even if it has no missing cell in the data that the recipe is fitted on. A
// missing cell in the data of another site then becomes a one in the marking column. Naming the column changes nothing
// else.
func TestMissingNamed(t *testing.T) {
	there := ownFile(t, "b,a,y,ward\n,1,no,x\n20,,yes,\n")
	s := Spec{Source: ownFile(t, "a,ward,b,y\n1,x,10,no\n,z,20,yes\n3,x,30,no\n4,x,40,yes\n"), Label: "y", OneHot: []string{"ward"}, Whole: true}
	for missing, want := range map[string][]string{
		"indicator":        {"a missing"},
		"indicator:b":      {"a missing", "b missing"},
		"indicator:b,a":    {"a missing", "b missing"},
		"indicator:ward":   {"a missing", "ward missing"},
		"indicator:*":      {"a missing", "ward missing", "b missing"},
		"indicator:ward,*": {"a missing", "ward missing", "b missing"},
	} {
		s.Missing = missing
		r := must(Fit(s, ModelSpec{Name: SoftmaxModel}, "here"))(t)
		set := must(r.Apply(Spec{Source: there, Whole: true, Seed: 1}))(t)
		if r.Missing.Rule != "indicator" || !slices.Equal(set.Train.Features[4:len(set.Train.Features)-1], want) {
			t.Errorf("%s: rule %s, columns %q, want %q at the end", missing, r.Missing.Rule, set.Train.Features, want)
		}
		for row, gaps := range [][]string{{"b missing"}, {"a missing", "ward missing"}} {
			for j, name := range set.Train.Features {
				told, known := set.Train.Row(row)[j] > 0.5, slices.Contains(want, name)
				if known && told != slices.Contains(gaps, name) {
					t.Errorf("%s: row %d has %v in %q", missing, row, set.Train.Row(row)[j], name)
				}
			}
		}
	}
	for missing, want := range map[string]string{
		"indicator:c": `"c" is not the name of a feature column`, "indicator:y": `"y" is not the name of a feature column`, "indicator:": `"" is not the name of a feature column`, "mean:a": "want mean, median",
	} {
		s.Missing = missing
		if _, err := Fit(s, ModelSpec{Name: SoftmaxModel}, "here"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", missing, err, want)
		}
	}
}

// TestMissingAtAMember checks that a member's file may have missing cells in columns in which the public data had none,
// and that rows without a label are dropped.
func TestMissingAtAMember(t *testing.T) {
	r := handmade()
	r.Missing = &Missing{Rule: indicate, Fill: []float64{7, 0.25, 0.75, -1}, Columns: []string{"ward"}}
	r.Standardize = nil
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	own := ownFile(t, "a;ward;class;b\n1,5;Z;NO;2\n-;;yes;NA\n3;x;;4\n5,25;x;Yes;6\n7;z;no;8\n1;x;yes;2\n3;z;no;1\n")
	set := must(r.Apply(Spec{Source: own, TestFraction: 0.34, Seed: 1}))(t)
	var rows []string
	for _, d := range []*Data{set.Train, set.Test} {
		for i := range d.Y {
			rows = append(rows, fmt.Sprint(d.Row(i), d.ClassNames[d.Y[i]]))
		}
	}
	slices.Sort(rows)
	want := []string{
		"[1 1 0 3 0 1]no", "[2 0 1 1 0 1]yes", "[2 1 0 1.5 0 1]no", "[6 0 1 5.25 0 1]yes",
		"[7 0.25 0.75 -1 1 1]yes", "[8 1 0 7 0 1]no",
	}
	if !slices.Equal(rows, want) || r.Dim() != 3*6+4 {
		t.Errorf("%d parameters, rows %q, want %q", r.Dim(), rows, want)
	}
}
