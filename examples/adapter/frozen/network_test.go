package frozen

import (
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestGradient checks that the gradients used in training are the derivatives of the loss.
func TestGradient(t *testing.T) {
	draw := rng.New(5, rng.Address{Purpose: rng.Generate})
	n := Large
	hidden := n.Hidden
	bias, weights, last := n.offsets()
	x := make([]float32, n.Params())
	for i := range x {
		x[i] = float32(0.1 * draw.Normal())
	}
	d := Digit{at: []int{3, 400, 783}, ink: []float32{0.5, 1, 0.25}, label: 4}
	g := make([]float32, n.Params())
	n.learn(g, x, &d, -1)
	for _, i := range []int{3*hidden + 7, 400*hidden + 100, 783*hidden + 127, 5 * hidden, bias + 9, weights + 4*hidden + 3, weights, last + 4, last} {
		const h = 1e-2
		at := x[i]
		x[i] = at + h
		up := n.loss(x, &d)
		x[i] = at - h
		down := n.loss(x, &d)
		x[i] = at
		if slope := (up - down) / (2 * h); math.Abs(slope-float64(g[i])) > 1e-3 {
			t.Errorf("parameter %d: gradient %v, difference %v", i, g[i], slope)
		}
	}
}

// TestDeal checks that different seeds deal different digits, and that no test digit is used both to choose settings
// and to report results.
func TestDeal(t *testing.T) {
	s := &Source{Network: Small, train: make([]Digit, 100), test: make([]Digit, 40)}
	for i := range s.train {
		s.train[i].label = i
	}
	for i := range s.test {
		s.test[i].label = i
	}
	seen := map[int]bool{}
	for seed := range uint64(3) {
		own, eval, err := s.Deal(30, 20, seed, seed == 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range own {
			if seen[d.label] {
				t.Errorf("seed %d has digit %d again", seed, d.label)
			}
			seen[d.label] = true
		}
		if first := eval[0].label; first != map[bool]int{false: 20, true: 0}[seed == 2] {
			t.Errorf("seed %d is evaluated from digit %d on", seed, first)
		}
	}
	for _, c := range [][2]int{{0, 1}, {101, 1}, {1, 0}, {1, 21}} {
		if _, _, err := s.Deal(c[0], c[1], 1, false); err == nil || !strings.Contains(err.Error(), "want 1..100 and 1..20") {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, clean := range []int{0, 60_000} {
		if _, err := Open(Small, "", clean); err == nil || !strings.Contains(err.Error(), "number of clean digits is") {
			t.Errorf("%d clean digits: %v", clean, err)
		}
	}
}
