package losses

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// curveOf returns the curve of a run whose round k has mean loss f(k).
func curveOf(rounds int, f func(k int) float64) *Curve {
	c := new(Curve)
	for k := range rounds {
		c.Add([]float64{f(k) - 1, f(k) + 1, math.NaN()})
		c.Close()
		c.Close() // a mixing round
	}
	return c
}

func TestTrend(t *testing.T) {
	s := rng.New(5, rng.Address{Purpose: rng.Fault})
	wave := func(size float64) func(int) float64 { return func(int) float64 { return 0.5 + size*s.Normal() } }
	for _, c := range []struct {
		name    string
		rounds  int
		loss    func(k int) float64
		falling bool
	}{
		{"a straight line", 40, func(k int) float64 { return 1 - 0.001*float64(k) }, true},
		{"a straight line of many rounds", 5000, func(k int) float64 { return 1 - 0.0001*float64(k) }, true},
		{"1/sqrt(k)", 80, func(k int) float64 { return 1 / math.Sqrt(float64(1+k)) }, true},
		{"a line under little noise", 400, func(k int) float64 { return 1 - 0.001*float64(k) + 0.01*s.Normal() }, true},
		{"rising", 40, func(k int) float64 { return 0.5 + 0.01*float64(k) }, false},
		{"constant", 40, func(int) float64 { return 0.7 }, false},
		{"settled", 200, func(k int) float64 { return math.Exp(-float64(k) / 10) }, false},
		{"noise alone", 80, wave(0.01), false},
		{"noise that hides a line", 40, func(k int) float64 { return 1 - 0.0001*float64(k) + 0.1*s.Normal() }, false},
		{"one outlier", 80, func(k int) float64 { return 0.5 + map[bool]float64{true: 1}[k == 64] }, false},
		{"fallen, then noise", 400, func(k int) float64 { return math.Exp(-float64(k)/20) + 0.02*s.Normal() }, false},
	} {
		got := curveOf(c.rounds, c.loss).Trend()
		if got == nil || got.Falling != c.falling || got.Rounds > c.rounds || got.Rounds <= c.rounds-c.rounds/100-1 {
			t.Errorf("%s: %+v, want falling %v", c.name, got, c.falling)
		}
	}
	if got := curveOf(leastTrend-1, func(k int) float64 { return -float64(k) }).Trend(); got != nil {
		t.Errorf("a trend of too few rounds: %+v", got)
	}
	if c := curveOf(100_000, func(k int) float64 { return -float64(k) }); len(c.means) >= mostMeans {
		t.Errorf("%d means, want fewer than %d", len(c.means), mostMeans)
	}
}

// TestTrendOfNoise checks that noise is not mistaken for a falling loss. The losses of different rounds are either
// independent or, as in a private run, correlated.
func TestTrendOfNoise(t *testing.T) {
	const runs = 2000
	for _, c := range []struct{ memory, most float64 }{{0, 0.02}, {0.5, 0.05}, {0.9, 0.15}} {
		falls := 0
		for i := range runs {
			s := rng.New(uint64(i), rng.Address{Purpose: rng.Fault})
			level := s.Normal() / math.Sqrt(1-c.memory*c.memory)
			if curveOf(48, func(int) float64 {
				level = c.memory*level + s.Normal()
				return level
			}).Trend().Falling {
				falls++
			}
		}
		t.Logf("memory %v: %.3f of %d runs of 48 rounds", c.memory, float64(falls)/runs, runs)
		if share := float64(falls) / runs; share > c.most || share == 0 {
			t.Errorf("memory %v: %.3f of noise alone falls, want at most %v, and some", c.memory, share, c.most)
		}
	}
}
