package task

import (
	"math"
	"testing"
)

func TestStandardizer(t *testing.T) {
	train := &Data{Dim: 3, Classes: 2, Y: []int{0, 1, 0, 1}, X: []float32{
		1, 0.1, 1e6 + 1,
		2, 0.1, 1e6 + 3,
		3, 0.1, 1e6 + 1,
		6, 0.1, 1e6 + 3,
	}}
	s, err := FitStandardizer(train)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Apply(train)
	if err != nil {
		t.Fatal(err)
	}
	std := math.Sqrt(3.5) // standard deviation of 1, 2, 3, 6
	for i, first := range []float64{-2 / std, -1 / std, 0, 3 / std} {
		want := []float64{first, 0, float64(2*(i%2) - 1)}
		for j, x := range got.Row(i) {
			if math.Abs(float64(x)-want[j]) > 1e-6 {
				t.Errorf("row %d column %d: %v, want %v", i, j, x, want[j])
			}
		}
	}
	// New rows are standardized with the statistics of the training set. A column that is constant in the training set
	// becomes 0.
	test, err := s.Apply(&Data{Dim: 3, Classes: 2, Y: []int{0}, X: []float32{3 + 10, 7, 1e6 + 2}})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(test.X[0])-10/std) > 1e-6 || test.X[1] != 0 || test.X[2] != 0 {
		t.Errorf("test row %v", test.X)
	}
	if train.X[0] != 1 {
		t.Error("Apply changed its source")
	}
	if _, err := s.Apply(random(3, 4, 2, 1)); err == nil {
		t.Error("took 4 columns for 3")
	}
}
