package method

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestNoise checks the noise of private methods on flat losses, where a method releases only noise. The standard
// deviation of the models after the first round must equal the noise that dpmech requires for the method's sensitivity
// and number of releases.
func TestNoise(t *testing.T) {
	const d, n, rounds, clip = 20000, 4, 7, 0.3
	p := &Privacy{Epsilon: 8, Delta: 1e-5}
	sigma := func(radius float64, releases int) float64 {
		s, err := budget.SigmaFor(radius, releases, p.Epsilon, p.Delta, dpmech.GDP)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	third := 1 / math.Sqrt(3) // on a ring every weight is 1/3: a mean of three
	admm := Setting{"tau": 4, "gamma": 0.5, "clip": clip, "reset": 1, "paired": 0}
	for _, c := range []struct {
		m    Method
		s    Setting
		want float64
	}{
		{LTADMMVR{}, admm, 0.5 * 2 * sigma(clip, 4*rounds)}, // four steps: twice the noise of one
		{LTADMMDP{}, admm, 0.5 * 2 * sigma(clip, 4*rounds)},
		{LTADMMDP{PerSample: true}, admm, 0.5 * 2 * sigma(clip, 4*rounds)},
		// the largest client has 15 of the 33 samples of a lot
		{DPSGD{}, Setting{"tau": 4, "dirs": 1, "eta": 0.5, "clip": clip}, 0.5 * 2 * sigma(clip*15/33, 4*rounds)},
		{DPSGD{OneClient: true}, Setting{"tau": 4, "dirs": 1, "eta": 0.5, "clip": clip}, 0.5 * 2 * sigma(clip, 4*rounds)},
		{DPFedAvg{}, Setting{"tau": 4, "clip": clip}, sigma(clip, rounds) / 2}, // a mean of four
		{DPFedAvg{Central: true}, Setting{"tau": 4, "clip": clip}, sigma(clip/n, rounds)},
		{OnePointDSG{}, Setting{"alpha": 2, "clip": clip}, 2 * third * sigma(clip, rounds)},
		{OnePointDSGT{}, Setting{"alpha": 2, "clip": clip}, 2 * third * sigma(clip, rounds)},
	} {
		w := worldOf(t, d, []int{6, 4, 8, 15}, func(int, int, []float32) float64 { return 0 })
		w.Rounds, w.Privacy = rounds, p
		stop := errors.New("enough")
		_, err := c.m.Run(context.Background(), w, with(c.m, w, c.s), func(_ int, models [][]float32) error {
			for i, x := range models {
				// With d coordinates, the measured standard deviation has a relative error of 0.5 %. The tolerance is
				// six times this error. Wrong noise exceeds the tolerance, whether it is wrong by a factor of two,
				// computed for one release too many, or the noise of another method.
				if got := norm(x) / math.Sqrt(d); math.Abs(got/c.want-1) > 0.03 {
					t.Errorf("%s: model %d has noise %.5f, want %.5f", c.m.Name(), i, got, c.want)
				}
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v, want the error of the callback", c.m.Name(), err)
		}
	}
}

// TestClip checks that no contribution of a client is longer than the clipping norm, however steep its losses. Clipping
// leaves shorter vectors unchanged, and replaces a vector that is not finite with zero.
func TestClip(t *testing.T) {
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	for range 1000 {
		v := make([]float32, 1+s.IntN(50))
		size := math.Pow(10, 8*s.Float64()-4)
		for i := range v {
			v[i] = float32(size * s.Normal())
		}
		before := slices.Clone(v)
		release{clip: 0.25}.bound(v)
		switch n := norm(before); {
		case n <= 0.25:
			if !slices.Equal(v, before) {
				t.Fatalf("a vector of length %v is changed", n)
			}
		default:
			if got := norm(v); got > 0.25*(1+1e-6) || got < 0.25*(1-1e-6) {
				t.Fatalf("a vector of length %v has length %v after the clip, want 0.25", n, got)
			}
			if math.Signbit(float64(v[0])) != math.Signbit(float64(before[0])) {
				t.Fatalf("%v is turned to %v", before, v)
			}
		}
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		v := []float32{1, bad, 2}
		release{clip: 1}.bound(v)
		if !slices.Equal(v, []float32{0, 0, 0}) {
			t.Errorf("%v becomes %v, want zeros", bad, v)
		}
	}

	// With a huge epsilon there is almost no noise, so steep losses move the models by the clipping norm.
	steep := func(_, _ int, x []float32) float64 { return 1e6 * float64(x[0]) }
	for _, c := range []struct {
		m    Method
		s    Setting
		want float64 // how far a model moves in the first round, at most
	}{
		{LTADMMVR{}, Setting{"tau": 3, "gamma": 2, "clip": 0.1, "mu": 0.1, "reset": 1}, 3 * 2 * 0.1},
		{LTADMMDP{}, Setting{"tau": 3, "gamma": 2, "clip": 0.1, "mu": 0.1}, 3 * 2 * 0.1},
		{LTADMMDP{PerSample: true}, Setting{"tau": 3, "gamma": 2, "clip": 0.1, "mu": 0.1}, 3 * 2 * 0.1},
		{DPSGD{}, Setting{"tau": 3, "dirs": 2, "eta": 2, "clip": 0.1, "mu": 0.1}, 3 * 2 * 0.1},
		{DPFedAvg{}, Setting{"tau": 3, "eta": 2, "clip": 0.1, "mu": 0.1}, 0.1},
		{DPFedAvg{Central: true}, Setting{"tau": 3, "eta": 2, "clip": 0.1, "mu": 0.1}, 0.1},
		{OnePointDSG{}, Setting{"alpha": 2, "gamma": 0.5, "clip": 0.1}, 2 * 0.1},
		{OnePointDSGT{}, Setting{"alpha": 2, "gamma": 0.5, "clip": 0.1}, 2 * 0.1},
	} {
		w := worldOf(t, 3, []int{20, 30, 20}, steep)
		w.Rounds, w.Privacy = 1, &Privacy{Epsilon: 1e6, Delta: 1e-5}
		x, _ := run(t, c.m, w, with(c.m, w, c.s))
		for i := range x {
			if got := norm(x[i]); got > c.want*1.02 || got < c.want*0.05 {
				t.Errorf("%s: model %d has moved by %v, want at most %v and not much less", c.m.Name(), i, got, c.want)
			}
		}
	}
}
