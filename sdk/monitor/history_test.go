package monitor

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// TestHistory checks that the history of a long run has bounded length, and that its points are evenly spaced over the
// run.
func TestHistory(t *testing.T) {
	var h history
	const rounds = 100_003
	for k := 1; k <= rounds; k++ {
		h.add(Point{Round: k, Epsilon: Value(k), ConsensusError: Unknown()})
		h.set(k-1, func(p *Point) { p.ConsensusError = Value(2 * p.Round) })
		if k > maxPoints+1 && k%997 > 0 {
			continue
		}
		s := h.snapshot()
		if k < maxPoints && (len(s.Points) != k || s.Stride != 1) || len(s.Points) > maxPoints ||
			s.Points[len(s.Points)-1].Round != k {
			t.Fatalf("round %d: %d points, every %d", k, len(s.Points), s.Stride)
		}
	}
	s := h.snapshot()
	if s.Stride != 256 || len(s.Points) != rounds/256+1 {
		t.Errorf("%d points, every %d", len(s.Points), s.Stride)
	}
	for i, p := range s.Points[:len(s.Points)-1] {
		if p.Round%s.Stride != 0 || i > 0 && p.Round <= s.Points[i-1].Round || int(p.Epsilon) != p.Round {
			t.Errorf("point %+v", p)
		}
	}
	before := h.snapshot()
	h.add(Point{Round: 3})
	if len(h.snapshot().Points) != len(before.Points) {
		t.Error("an old round was taken")
	}
	var empty history
	if text, err := json.Marshal(empty.snapshot()); err != nil || string(text) != `{"stride":1,"points":[]}` {
		t.Errorf("%s: %v", text, err)
	}
}

// TestMixing checks that in a run with mixing rounds, charts, scores and the consensus error only use releases that no
// mixing round follows, because the noise of any other release is not yet averaged out. Status and history must agree.
func TestMixing(t *testing.T) {
	f := pair(func(f *sdk.Fleet) { f.Method.Mixing, f.Method.Cooldown = 2, 1 })
	scored := map[float32]bool{}
	var w *world
	w = newWorld(t, f, func(c *Config) {
		c.Score = func(x []float32) (float64, float64) {
			scored[x[0]] = true // no lock needed: Score is called by one goroutine only
			return 0.5, 0.75
		}
	}, func(context.Context) error { // in the middle of the run
		if st := w.mon.Status(); st.Compared%3 != 0 || st.ConsensusError.Known() != (st.Compared > 0) {
			t.Errorf("consensus error %v of release %d", st.ConsensusError, st.Compared)
		}
		return nil
	})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, points := w.mon.Status(), w.mon.history().Points
	var rounds []int
	for _, p := range points {
		rounds = append(rounds, p.Round)
		if !p.ConsensusError.Known() || !p.Epsilon.Known() {
			t.Errorf("%+v", p)
		}
		if p.Round == st.Compared && p.ConsensusError != st.ConsensusError {
			t.Errorf("consensus error %v in status and %v in the chart", st.ConsensusError, p.ConsensusError)
		}
	}
	if want := []int{3, 6, 9, 12, 15, 18, 19}; !slices.Equal(rounds, want) || st.Compared != 19 || st.Local.Round != 19 {
		t.Errorf("points of rounds %v, want %v; compared in %d, scored in %d", rounds, want, st.Compared, st.Local.Round)
	}
	if len(scored) == 0 || len(scored) > len(points) {
		t.Errorf("%d models scored, want at most %d", len(scored), len(points))
	}
}
