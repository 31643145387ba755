package admm

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestShrink checks that the model after the last release is that release with each coordinate moved toward X0 by
// Shrink times the square root of the number of rounds, but not beyond X0. The release itself and every earlier model
// must be unchanged.
func TestShrink(t *testing.T) {
	start := []float32{0.25, -0.5, 0, 1, 2}
	run := func(shrink float64, rounds int) (models, released [][]float32, earlier []float32) {
		net := newNetwork(t, configs(4, kite, func(i int, c *Config) {
			private(dpmech.Gaussian{Clip: 0.01, Sigma: 0.01})(i, c)
			c.X0, c.Shrink, c.Mixing, c.Cooldown, c.Rounds = start[:c.Estimator.Dim], shrink, 1, 3, rounds
		}))
		net.loss = func(client int, _ []float32, sample int) float64 { return float64((7*client + 3*sample) % 5) }
		net.reserved = func(i int) { earlier = append(earlier, net.machines[i].Model()...) }
		if err := net.run(); err != nil {
			t.Fatal(err)
		}
		for _, m := range net.machines {
			models, released = append(models, m.Model()), append(released, m.State().X)
		}
		return models, released, earlier
	}
	for _, rounds := range []int{6, 2} {
		plain, x, before := run(0, rounds)
		toStart := 0
		const shrink = 0.006
		got, same, early := run(shrink, rounds)
		most := float32(shrink * math.Sqrt(float64(rounds)))
		for i := range plain {
			if !slices.Equal(plain[i], x[i]) || !slices.Equal(same[i], x[i]) {
				t.Errorf("client %d: the model without shrinking is %v, and the releases are %v and %v", i, plain[i], x[i], same[i])
			}
			for j, v := range x[i] {
				moved := v - start[j]
				want := v - float32(math.Copysign(float64(most), float64(moved)))
				if max(moved, -moved) <= most {
					want, toStart = start[j], toStart+1
				}
				if math.Abs(float64(got[i][j]-want)) > 1e-7 {
					t.Errorf("client %d: coordinate %d of %v is %v, want %v", i, j, v, got[i][j], want)
				}
			}
		}
		if !slices.Equal(before, early) || toStart == 0 || toStart == len(x)*len(x[0]) {
			t.Errorf("%d coordinates are back at the start, and models before the end are the same: %v", toStart, slices.Equal(before, early))
		}
	}
}

func TestShrinkIsChecked(t *testing.T) {
	for _, shrink := range []float64{-1, math.NaN(), math.Inf(1)} {
		c := configs(2, [][2]int{{0, 1}}, private(dpmech.Gaussian{Clip: 0.01, Sigma: 0.01}))[0]
		if c.Shrink = shrink; c.Validate() == nil {
			t.Errorf("Shrink %v is taken", shrink)
		}
	}
	c := configs(2, [][2]int{{0, 1}}, func(int, *Config) {})[0]
	if c.Shrink = 1; c.Validate() == nil {
		t.Error("Shrink is taken without noise")
	}
}
