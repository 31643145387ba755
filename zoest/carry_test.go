package zoest

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestCarryAgainstSum checks that Carry returns the weighted mean of all updates so far, for every kind and across a
// restart.
func TestCarryAgainstSum(t *testing.T) {
	const b = 0.8
	for _, kind := range []Kind{Paper, Tracking} {
		cfg := Config{Dim: 6, Samples: 5, Seed: 3, Kind: kind, Directions: Walsh, Momentum: b}
		e, s := newTest(t, cfg), rng.New(4, rng.Address{Purpose: rng.Generate})
		if len(e.Memory()) != cfg.Memory() {
			t.Fatalf("kind %v: a memory of %d numbers, want %d", kind, len(e.Memory()), cfg.Memory())
		}
		want, x := make([]float64, cfg.Dim), make([]float32, cfg.Dim)
		for round := range 9 {
			if round == 5 {
				next := newTest(t, cfg)
				copy(next.Memory(), e.Memory())
				e = next
			}
			e.Fill(round, x, 0.3)
			drive(t, e, wild)
			e.Step(x)
			drive(t, e, wild)
			update := make([]float32, cfg.Dim)
			for i := range update {
				update[i] = float32(s.Normal())
				want[i] = b*want[i] + (1-b)*float64(update[i])
			}
			e.Carry(update)
			for i, x := range update {
				if !(math.Abs(float64(x)-want[i]) < 1e-6) {
					t.Fatalf("kind %v, round %d: coordinate %d is %v, want %v", kind, round, i, x, want[i])
				}
			}
		}
	}
}

// TestCarryForgetsWhatIsTooLarge checks that Carry returns even values that are too large for any useful run, so that
// callers can refuse or clip them. It must not keep such values in its memory, which must stay finite to be stored.
func TestCarryForgetsWhatIsTooLarge(t *testing.T) {
	e := newTest(t, Config{Dim: 4, Samples: 2, Momentum: 0.5})
	s := []float32{float32(math.NaN()), float32(math.Inf(1)), 3e30, 2}
	e.Carry(s)
	if s[0] == s[0] || s[1] < math.MaxFloat32 || s[2] != 1.5e30 || s[3] != 1 {
		t.Errorf("%v is handed out", s)
	}
	for i, want := range []float32{0, 0, 0, 1} {
		if got := e.Memory()[i]; got != want {
			t.Errorf("coordinate %d: %v is remembered, want %v", i, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { e.Carry(s) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
