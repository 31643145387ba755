package data

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

const dir = "../../../../shared/data"

// source reads a data set. It skips the test if the data set is missing.
func source(t *testing.T, name string) *Source {
	if _, err := os.Stat(filepath.Join(dir, "alzheimers")); err != nil {
		t.Skipf("no data sets in %s: %v", dir, err)
	}
	s, err := Load(name, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShapes compares the dimensions of the data with the paper: 10 components, 39 clinical features, 40 parameters.
func TestShapes(t *testing.T) {
	for name, want := range map[string][3]int{"fashion": {705, 176, 10}, "alzheimers": {1719, 430, 39}} {
		split, err := source(t, name).Split(1, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]int{split.Train.Len(), split.Test.Len(), task.NewSoftmax(split.Train).Dim()}; got != want {
			t.Errorf("%s: %v samples, test samples and parameters, want %v", name, got, want)
		}
	}
}

// TestValidationIsCutFromTraining checks that validation uses no sample of the test set.
func TestValidationIsCutFromTraining(t *testing.T) {
	s := source(t, "fashion")
	split, err := s.Split(1001, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	search, err := s.Split(1001, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := search.Train.Len() + search.Test.Len(); n != split.Train.Len() {
		t.Errorf("%d samples to search on, want the %d of the training set", n, split.Train.Len())
	}
}

func TestFolds(t *testing.T) {
	y := make([]int, 103)
	for i := range y {
		y[i] = i % 3 / 2
	}
	var all []int
	for fold := range Folds {
		in, out := folds(y, 2, fold, 5)
		if len(in)+len(out) != len(y) {
			t.Fatalf("fold %d: %d and %d samples of %d", fold, len(in), len(out), len(y))
		}
		ones := 0
		for _, i := range out {
			ones += y[i]
		}
		if share := float64(ones) / float64(len(out)); math.Abs(share-1.0/3) > 0.05 {
			t.Errorf("fold %d: a share of %.2f of class 1, want a third", fold, share)
		}
		all = append(all, out...)
	}
	slices.Sort(all)
	for i, v := range all {
		if i != v {
			t.Fatalf("the folds are no partition: %v", all)
		}
	}
}

// TestGradient compares the gradients that train the ceiling model with finite differences of the losses that the
// methods query.
func TestGradient(t *testing.T) {
	for _, classes := range []int{2, 4} {
		d := task.Clinical(50, 3)
		d.Classes = classes
		for i := range d.Y {
			d.Y[i] = i % classes
		}
		std, err := task.FitStandardizer(d)
		if err != nil {
			t.Fatal(err)
		}
		if d, err = std.Apply(d); err != nil {
			t.Fatal(err)
		}
		oracle := task.NewSoftmax(d)
		rows := oracle.Dim() / d.Dim
		x := make([]float64, oracle.Dim())
		for j := range x {
			x[j] = 0.3 * math.Cos(float64(j))
		}
		g := make([]float64, len(x))
		gradient(g, x, d, rows, false)
		for j := range x {
			const h = 1.0 / 64
			at := func(shift float64) float64 {
				p := make([]float32, len(x))
				for k, v := range x {
					p[k] = float32(v)
				}
				p[j] += float32(shift)
				return oracle.MeanLoss(p)
			}
			want := (at(h) - at(-h)) / (2 * h)
			if math.Abs(g[j]-want) > 1e-4 {
				t.Errorf("%d classes, coordinate %d: %v, differences say %v", classes, j, g[j], want)
			}
		}
	}
}

// TestSplitRows checks that, in a split for record-level privacy, changing one record's label moves no other record.
func TestSplitRows(t *testing.T) {
	for _, name := range []string{"fashion", "alzheimers"} {
		a, b := source(t, name), source(t, name)
		b.train.Y[7] = 1 - b.train.Y[7]
		for _, validate := range []bool{false, true} {
			one, err := a.SplitRows(3, validate)
			if err != nil {
				t.Fatal(err)
			}
			two, err := b.SplitRows(3, validate)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(one.Test.X, two.Test.X) || !slices.Equal(one.Train.X, two.Train.X) {
				t.Errorf("%s, validate %v: a label moves other records", name, validate)
			}
		}
	}
}

// TestSampleGradient checks that the mean of the per-sample gradients equals the gradient that trains the ceiling
// model.
func TestSampleGradient(t *testing.T) {
	for _, classes := range []int{2, 4} {
		d := task.Clinical(30, 3)
		d.Classes = classes
		for i := range d.Y {
			d.Y[i] = i % classes
		}
		dim := task.NewSoftmax(d).Dim()
		x, at := make([]float32, dim), make([]float64, dim)
		for j := range x {
			x[j] = float32(j%5) / 64
			at[j] = float64(x[j])
		}
		want := make([]float64, dim)
		gradient(want, at, d, dim/d.Dim, false)
		one, each := make([]float32, dim), Gradient(d)
		for i := range d.Len() {
			each(one, x, i)
			for j, v := range one {
				want[j] -= float64(v) / float64(d.Len())
			}
		}
		for j, v := range want {
			if math.Abs(v) > 1e-5 {
				t.Errorf("%d classes, coordinate %d: the means differ by %v", classes, j, v)
			}
		}
	}
}
