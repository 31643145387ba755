package task

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestLoadCSV(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,a,ward,class\n")
	for i := range 50 {
		b.WriteString(strings.Join([]string{string(rune('A' + i%26)), string(rune('0' + i%10)), string(rune('x' + i%2)),
			[]string{"no", "yes", "maybe"}[i%3]}, ",") + "\n")
	}
	spec := Spec{Source: ownFile(t, b.String()), Label: "class", Drop: []string{"id"},
		OneHot: []string{"ward"}, Labels: []string{"yes", "no"}}
	set := must(Load(spec))(t)
	// There are 17 samples of each of the classes "no" and "yes"; a fifth of 17, rounded, is 3.
	if set.Train.Len() != 28 || set.Test.Len() != 6 || set.Train.Classes != 2 ||
		!slices.Equal(set.Test.ClassNames, []string{"yes", "no"}) {
		t.Errorf("%d + %d samples of %q", set.Train.Len(), set.Test.Len(), set.Train.ClassNames)
	}
	if want := []string{"a", "ward=x", "ward=y", "bias"}; !slices.Equal(set.Train.Features, want) || set.Test.Dim != 4 {
		t.Errorf("columns %q, want %q", set.Train.Features, want)
	}
	s := set.Spec
	if !*s.Standardize || !*s.Bias || s.TestFraction != 0.2 || !slices.Equal(s.Labels, spec.Labels) {
		t.Errorf("chose %+v", s)
	}
	if want := []string{`categories of column "ward" taken from all rows`,
		"test split of 0.2, stratified by label, seed 0", "standardization fitted on the training split",
	}; !slices.Equal(set.Fitted, want) {
		t.Errorf("fitted %q, want %q", set.Fitted, want)
	}

	no, yes := false, true
	spec.Labels, spec.Standardize, spec.Bias, spec.PCA, spec.TestFraction = nil, &no, &yes, 2, 0.5
	set = must(Load(spec))(t)
	if !slices.Equal(set.Spec.Labels, []string{"maybe", "no", "yes"}) || set.Train.Dim != 3 || set.Train.Classes != 3 {
		t.Errorf("loaded %d columns, %+v", set.Train.Dim, set.Spec)
	}
	// Columns are projected without standardization. The bias column is 1, because it is appended after the projection.
	square := 0.0
	for i := range set.Train.Y {
		r := set.Train.Row(i)
		square += (float64(r[0])*float64(r[0]) + float64(r[1])*float64(r[1])) / float64(set.Train.Len())
		if r[2] != 1 {
			t.Errorf("bias %v", r[2])
		}
	}
	if math.Abs(square-2) > 1e-5 {
		t.Errorf("mean squared norm %v of two components", square)
	}
}

// Preprocessing is fitted on the training rows alone: changing a test row does not change any other row.
func TestLoadFitsOnTrainingAlone(t *testing.T) {
	base := must(Load(Spec{Source: "synthetic:clinical", Seed: 3, PCA: 3}))(t)
	all := Clinical(clinicalPatients, 3)
	train, test, err := Split(all.Y, 2, 0.2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range test {
		all.Row(i)[0] += 1000
	}
	held := all.Select(train)
	s := must(FitStandardizer(held))(t)
	held = must(s.Apply(held))(t)
	p := must(FitPCA(held, 3))(t)
	held = must(p.Apply(held))(t)
	if !slices.Equal(held.WithBias().X, base.Train.X) {
		t.Error("the training set depends on test rows")
	}
	if base.Train.Len() != 3200 || base.Test.Len() != 800 {
		t.Errorf("%d + %d patients", base.Train.Len(), base.Test.Len())
	}
}

func TestSpecFaults(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"nothing":  {Spec{}, []string{`data "", want idx:DIR, csv:FILE or synthetic:clinical`}},
		"no colon": {Spec{Source: "file.csv"}, []string{`data "file.csv", want`}},
		"no path":  {Spec{Source: "idx:"}, []string{`data "idx:", want idx:DIR`}},
		"unknown":  {Spec{Source: "synthetic:moons"}, []string{`data "synthetic:moons", want idx:DIR, csv:FILE or synthetic:clinical`}},
		"CSV flags": {Spec{Source: "synthetic:clinical", Label: "y", Drop: []string{"a"}},
			[]string{`label "y": only for data csv:FILE`, `drop "a": only for data csv:FILE`}},
		"several": {Spec{Source: "csv:x", PCA: -1, TestFraction: 1, Labels: []string{"a"}},
			[]string{"label is missing", "pca -1", "test_fraction 1", `labels ["a"]`}},
		"twice": {Spec{Source: "csv:x", Label: "a", Drop: []string{"a", "b", "b"}, OneHot: []string{"b", "c", "c"},
			Labels: []string{"1", "2", "1"}}, []string{`drop "a": that column is already in label`,
			`drop "b": that column is already in drop`, `onehot "b": that column is already in drop`,
			`onehot "c": that column is already in onehot`, `"1" is listed twice`}},
		"NaN":           {Spec{Source: "synthetic:clinical", TestFraction: math.NaN()}, []string{"test_fraction NaN"}},
		"PCA too large": {Spec{Source: "synthetic:clinical", PCA: 6}, []string{"pca 6, want 1 to 5"}},
	} {
		_, err := Load(c.spec)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
		for line := range strings.Lines(err.Error()) {
			if !strings.HasPrefix(line, "task: ") {
				t.Errorf("%s: error line %q", name, line)
			}
		}
	}
	if _, err := Load(Spec{Source: "csv:/no/such.csv", Label: "y"}); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "/no/such.csv") {
		t.Errorf("no file: %v", err)
	}
}

// TestOnce checks that a file is read once for several seeds, with the same result as alone, and that data sets share no
// mark of a lost record.
func TestOnce(t *testing.T) {
	text := "a,y\n" + strings.Repeat("1,no\n2,yes\n3,no\n", 10)
	clean, broken := ownFile(t, text), ownFile(t, text+"4,perhaps\nx,no\n")
	recipe := must(Fit(Spec{Source: clean, Label: "y"}, ModelSpec{Name: SoftmaxModel}, "a test"))(t)
	once := new(Once)
	for seed := range uint64(3) {
		spec := Spec{Source: broken, TestFraction: 0.5, Records: true, Seed: seed}
		alone, err := recipe.Apply(spec)
		if err != nil && seed == 0 {
			t.Fatal(err)
		}
		spec.Once = once
		set, failed := recipe.Apply(spec)
		if failed != nil || set.Lost != 2 || seed == 0 && !slices.Equal(set.Test.X, alone.Test.X) {
			t.Fatalf("seed %d: %+v, %v", seed, set, failed)
		}
		if err := os.Remove(strings.TrimPrefix(broken, "csv:")); seed == 0 && err != nil {
			t.Fatal(err)
		}
	}
}
