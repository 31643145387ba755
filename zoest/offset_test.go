package zoest

import (
	"math"
	"slices"
	"testing"
)

// bowl is a loss whose minimum is at 1 in each coordinate, in multiples of 2^-12.
func bowl(x []float32) (loss float64) {
	for _, v := range x {
		loss += (float64(v) - 1) * (float64(v) - 1)
	}
	return math.Round(0x1p12*loss) / 0x1p12
}

// descend returns the points that an estimator's steps reach from zero, two in each of 60 rounds.
func descend(t *testing.T, cfg Config, loss func(x []float32, h int) float64) (path [][]float32) {
	e, x := newTest(t, cfg), make([]float32, cfg.Dim)
	for round := range 60 {
		if cfg.Records {
			askRound(t, e, round, 2, x, 0.125, loss)
			rows, factor := e.Rows()
			for i, v := range rows {
				x[i%cfg.Dim] -= float32(0.8 * factor * float64(v) / float64(cfg.Samples))
			}
			path = append(path, slices.Clone(x))
			continue
		}
		e.Fill(round, x, 0.125)
		for range 2 {
			e.Step(x)
			drive(t, e, func(q Query) float64 { return loss(q.Point, q.Sample) })
			for i, v := range e.Estimate() {
				x[i] -= 0.4 * v
			}
			path = append(path, slices.Clone(x))
		}
	}
	return path
}

// TestConstantInLoss checks that a large constant in the losses changes no bit of the steps, whatever its size and its
// sign, and that the steps reach the minimum, also if the constant differs between components.
func TestConstantInLoss(t *testing.T) {
	for _, records := range []bool{false, true} {
		for _, dist := range []Distribution{Rademacher, Walsh} {
			cfg := Config{Dim: 3, Samples: 40, Directions: dist, Kind: Tracking, Seed: 3, Records: records}
			of := func(constant func(h int) float64) [][]float32 {
				return descend(t, cfg, func(x []float32, h int) float64 { return bowl(x) + constant(h) })
			}
			want := of(func(int) float64 { return 0x1p12 })
			for name, constant := range map[string]func(h int) float64{
				"0": func(int) float64 { return 0 }, "2^31": func(int) float64 { return 0x1p31 },
				"-2^20": func(int) float64 { return -0x1p20 },
				"1e12":  func(int) float64 { return 1e12 },
				"mixed": func(h int) float64 { return float64(h%3-1) * 0x1p20 },
			} {
				path := of(constant)
				if (name == "2^31" || name == "-2^20") && !slices.EqualFunc(path, want, slices.Equal) {
					t.Errorf("records %v, %v: a constant of %s changes the steps", records, dist, name)
				}
				for _, v := range path[len(path)-1] {
					if math.Abs(float64(v)-1) > 0.1 {
						t.Errorf("records %v, %v: with a constant of %s the model is %v, want ones", records, dist, name, path[len(path)-1])
						break
					}
				}
			}
		}
	}
}

// TestOffsetAnswersForFailure checks that a query without a loss leaves the offset of its component.
func TestOffsetAnswersForFailure(t *testing.T) {
	e, x := newTest(t, Config{Dim: 2, Samples: 2, Kind: Tracking, Seed: 1}), make([]float32, 2)
	for round, want := range []float64{0, 1e7, 1e7, 1e7, 0} {
		e.Fill(round, x, 0.1)
		e.Step(x)
		drive(t, e, func(q Query) float64 {
			return []float64{e.Offset(q.Sample), 1e7, 1e7 + 1, e.Offset(q.Sample), 3}[round]
		})
		if got := e.Offset(1); got != want {
			t.Errorf("round %d: the offset is %v, want %v", round, got, want)
		}
	}
	if paper := newTest(t, Config{Dim: 1, Samples: 1}); paper.Offset(0) != 0 {
		t.Error("the paper's estimator has an offset")
	}
}

// TestOffsetFollows checks that the offset of a loss that falls keeps the digits of the loss, and that the level keeps
// its distance from it.
func TestOffsetFollows(t *testing.T) {
	o := newOffsets(make([]float32, 3), 1)
	for i, loss := range []float64{-1e8, -6e7, -3e7 - 0.25, -2e4, 1, 0.5} {
		before := o.of(0) + float64(o.levels[0])
		rest := o.subtract(0, loss)
		if o.of(0)+rest != loss || math.Abs(rest) > math.Abs(loss) {
			t.Errorf("loss %v is %v plus %v", loss, o.of(0), rest)
		}
		if level := o.of(0) + float64(o.levels[0]); i > 0 && math.Abs(level-before) > 1e-7*math.Abs(before) {
			t.Errorf("loss %v: the level moves from %v to %v", loss, before, level)
		}
		o.levels[0] = float32(rest)
	}
	if o.of(0) != 0 {
		t.Errorf("a small loss leaves the offset %v", o.of(0))
	}
}
