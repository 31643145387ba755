package task

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSplitIsStratified(t *testing.T) {
	var y []int
	counts := []int{500, 40, 7, 2, 1, 0}
	for c, n := range counts {
		for range n {
			y = append(y, c)
		}
	}
	s := testStream(3)
	shuffle(&s, y)
	train, test, err := Split(y, len(counts), 0.3, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(train, test)
	slices.Sort(all)
	for i, at := range all {
		if i != at {
			t.Fatalf("sample %d is missing or there twice", i)
		}
	}
	if len(all) != len(y) || !slices.IsSorted(train) || !slices.IsSorted(test) {
		t.Errorf("%d of %d samples, or not in order", len(all), len(y))
	}
	for c, want := range []int{150, 12, 2, 1, 0, 0} {
		got := 0
		for _, i := range test {
			if y[i] == c {
				got++
			}
		}
		if got != want {
			t.Errorf("class %d of %d samples: %d in the test part, want %d", c, counts[c], got, want)
		}
	}
	again, _, _ := Split(y, len(counts), 0.3, 1)
	other, _, _ := Split(y, len(counts), 0.3, 2)
	if !slices.Equal(train, again) || slices.Equal(train, other) {
		t.Error("the split does not follow the seed")
	}
}

func TestSplitLeavesTraining(t *testing.T) {
	train, test, err := Split([]int{0, 0, 1, 1}, 2, 0.99, 1)
	if err != nil || len(train) != 2 || len(test) != 2 {
		t.Errorf("Split = %v, %v, %v; want one of each class in both", train, test, err)
	}
}

func TestSplitFaults(t *testing.T) {
	for _, f := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
		_, _, err := Split([]int{0, 3}, 2, f, 1)
		if err == nil || !strings.Contains(err.Error(), "want more than 0 and less than 1") ||
			!strings.Contains(err.Error(), "class 3") {
			t.Errorf("fraction %v: %v", f, err)
		}
	}
	if _, _, err := Split([]int{0, 0, 1}, 2, 0.1, 1); err == nil ||
		!strings.Contains(err.Error(), "leaves no test sample") {
		t.Errorf("too few: %v", err)
	}
}
