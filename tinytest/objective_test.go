package tinytest_test

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestObjective checks the documented properties at 200 points near the minimizer and 200 points far from it, of an
// objective with several samples and of one with a single sample, where the steepest point is known.
func TestObjective(t *testing.T) {
	const d = 6
	for _, m := range []int{9, 1} {
		o := tinytest.SquaredProbability(3, 2, d, m)
		var least []float32
		for _, v := range o.Minimizer() {
			least = append(least, float32(v))
		}
		floor := o.Mean(least)
		if floor > 1e-12 {
			t.Errorf("%v at the minimizer, want 0", floor)
		}
		for k := range 400 {
			s := rng.New(uint64(k), rng.Address{Purpose: rng.Generate})
			x := make([]float32, d)
			for i := range x {
				x[i] = []float32{1, 20}[k%2] * float32(s.IntN(257)-128) / 64
			}
			if v := o.Mean(x); v < 0 || v > 1 || v < floor {
				t.Fatalf("%v at %v, want it within 0 and 1, and at least %v", v, x, floor)
			}
		}
		if _, err := o.Loss(t.Context(), least[1:], 0); err == nil {
			t.Error("a loss at a point that is too short")
		}
		for _, h := range []int{-1, m} {
			if _, err := o.Loss(t.Context(), least, h); err == nil {
				t.Errorf("a loss of sample %d", h)
			}
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := tinytest.SquaredProbability(1, 0, n, n).Loss(t.Context(), nil, 0); err == nil {
			t.Error("a loss without a sample")
		}
	}
}

// TestObjectivesOfClients checks that clients with the same seed have the same minimizer but different losses.
func TestObjectivesOfClients(t *testing.T) {
	a, b, c := tinytest.SquaredProbability(3, 0, 4, 5), tinytest.SquaredProbability(3, 1, 4, 5), tinytest.SquaredProbability(4, 0, 4, 5)
	x := []float32{0.5, -1, 2, 0}
	if a.Mean(x) == b.Mean(x) || a.Mean(x) == c.Mean(x) {
		t.Error("clients or seeds are alike")
	}
	if !slices.Equal(a.Minimizer(), b.Minimizer()) {
		t.Errorf("minimizers %v and %v", a.Minimizer(), b.Minimizer())
	}
}
