package stat

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestAdjustOnPublishedData checks the 15 comparisons in section 4 of Benjamini and Hochberg: their method makes four
// discoveries at a rate of 0.05, and Bonferroni's method makes three.
func TestAdjustOnPublishedData(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
		0.7590, 1}
	want := []float64{0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.0638571, 0.0638571, 0.0645, 0.0765, 0.486, 0.5811818,
		0.714875, 0.7532308, 0.8132143, 1}
	got, err := Adjust(p)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range got {
		if !near(got[i], want[i], 1e-7) {
			t.Errorf("p = %v becomes %v, want %v", p[i], got[i], want[i])
		}
		if got[i] <= 0.05 {
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d discoveries, want 4", found)
	}
}

// TestAdjustAgainstStepUp compares Adjust with the definition: the discoveries at a rate q are the sorted p values up
// to the largest i with p_(i) <= i*q/m.
func TestAdjustAgainstStepUp(t *testing.T) {
	s := rng.New(2, rng.Address{Purpose: rng.Generate})
	for range 200 {
		m := 1 + s.IntN(12)
		p := make([]float64, m)
		for i := range p {
			p[i] = math.Round(20*s.Float64()*s.Float64()) / 20 // so coarse that some are equal
		}
		adjusted, err := Adjust(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			if adjusted[i] < p[i] || adjusted[i] > 1 {
				t.Fatalf("%v becomes %v", p, adjusted)
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] || p[i] == p[j] && adjusted[i] != adjusted[j] {
					t.Fatalf("%v becomes %v: not in order", p, adjusted)
				}
			}
		}
		for _, q := range []float64{0.013, 0.051, 0.117, 0.31, 0.77} {
			var bound float64 // the largest p among the discoveries
			for i := range p {
				rank := 0
				for j := range p {
					if p[j] <= p[i] {
						rank++
					}
				}
				if p[i] <= float64(rank)*q/float64(m) {
					bound = max(bound, p[i])
				}
			}
			for i := range p {
				if called := adjusted[i] <= q; called != (p[i] <= bound && (bound > 0 || p[i] == 0)) {
					t.Fatalf("rate %v: %v of %v called %v, the largest to be called is %v", q, p[i], p, called, bound)
				}
			}
		}
	}
}

func TestAdjustEdges(t *testing.T) {
	if got, err := Adjust(nil); err != nil || len(got) != 0 {
		t.Errorf("none: %v, %v", got, err)
	}
	if got, err := Adjust([]float64{0.04}); err != nil || got[0] != 0.04 {
		t.Errorf("a single test is adjusted: %v, %v", got, err)
	}
	for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := Adjust([]float64{0.5, bad}); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
