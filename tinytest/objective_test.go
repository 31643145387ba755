package tinytest_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

var objectives = map[string]func(seed uint64, client, dim, samples int) *tinytest.Objective{
	"SquaredProbability": tinytest.SquaredProbability,
	"BoundedNonconvex":   tinytest.BoundedNonconvex,
}

// TestObjectives checks the documented properties of objectives at 200 points near the minimizer and 200 points far
// from it.
func TestObjectives(t *testing.T) {
	const d = 6
	for name, build := range objectives {
		judge(t, name, build, d, 9)
		judge(t, name, build, d, 1) // with one sample, the steepest point is known
	}
}

// judge checks the documented properties of one objective with d parameters and m samples.
func judge(t *testing.T, name string, build func(uint64, int, int, int) *tinytest.Objective, d, m int) {
	o := build(3, 2, d, m)
	least := single(o.Minimizer())
	floor := o.Mean(least)
	for k := range 400 {
		s := rng.New(uint64(k), rng.Address{Purpose: rng.Generate})
		spread := float32(1)
		if k%2 == 1 {
			spread = 20
		}
		x := randomPoint(&s, d, spread)
		v := o.Mean(x)
		if v < 0 || v > 1 || v < floor {
			t.Fatalf("%s: %v at %v, want it within 0 and 1, and at least %v", name, v, x, floor)
		}
	}
	if floor > 1e-12 {
		t.Errorf("%s: %v at the minimizer, want 0", name, floor)
	}
	if _, err := o.Loss(t.Context(), least[1:], 0); err == nil {
		t.Errorf("%s: a loss at a point that is too short", name)
	}
	for _, h := range []int{-1, m} {
		if _, err := o.Loss(t.Context(), least, h); err == nil {
			t.Errorf("%s: a loss of sample %d", name, h)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := build(1, 0, n, n).Loss(t.Context(), nil, 0); err == nil {
			t.Errorf("%s: a loss without a sample", name)
		}
	}
}

// TestObjectivesOfClients checks that clients with the same seed have the same minimizer but different losses.
func TestObjectivesOfClients(t *testing.T) {
	for name, build := range objectives {
		a, b, c := build(3, 0, 4, 5), build(3, 1, 4, 5), build(4, 0, 4, 5)
		x := []float32{0.5, -1, 2, 0}
		if a.Mean(x) == b.Mean(x) || a.Mean(x) == c.Mean(x) {
			t.Errorf("%s: clients or seeds are alike", name)
		}
		same := true
		for i, v := range a.Minimizer() {
			same = same && v == b.Minimizer()[i]
		}
		if !same {
			t.Errorf("%s: minimizers %v and %v", name, a.Minimizer(), b.Minimizer())
		}
	}
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// randomPoint returns a point with d coordinates. Each coordinate is a random multiple of spread/64 in [-2*spread,
// 2*spread].
func randomPoint(s *rng.Stream, d int, spread float32) []float32 {
	x := make([]float32, d)
	for i := range x {
		x[i] = spread * float32(s.IntN(257)-128) / 64
	}
	return x
}
