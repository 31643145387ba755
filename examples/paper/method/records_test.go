package method

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
)

func everyRecord() []Method {
	return []Method{DPSGD{}, DPSGD{Local: true}, DPZero{}, DPZero{Local: true}, LTADMMDP{PerSample: true}, Suggested{}}
}

// TestNoiseForRecords checks that, at record-level privacy, the noise is what dpmech requires for one record's part in
// a release. As in TestNoise, the noise is measured on the models after the first round on flat losses.
func TestNoiseForRecords(t *testing.T) {
	const d, rounds, clip = 20000, 7, 0.3
	sigma := func(radius float64, releases int) float64 {
		s, err := budget.SigmaFor(radius, releases, 2, 1e-5, dpmech.GDP)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sizes := []int{6, 4, 8, 15}
	each := func(int) float64 { return sigma(clip/33, 4*rounds) }
	for _, c := range []struct {
		m    Method
		s    Setting
		want func(client int) float64 // after four steps with eta 1/2: twice the noise of one release
	}{
		{DPSGD{}, Setting{"tau": 4, "eta": 0.5, "clip": clip}, each},
		{DPSGD{Local: true}, Setting{"tau": 4, "eta": 0.5, "clip": clip}, func(int) float64 { return 2 * each(0) }}, // of 4 clients
		{LTADMMDP{PerSample: true}, Setting{"tau": 4, "gamma": 0.5, "clip": clip},
			func(i int) float64 { return sigma(clip/float64(sizes[i]), 4*rounds) }},
	} {
		w := worldOf(t, d, sizes, func(int, int, []float32) float64 { return 0 })
		w.Rounds, w.Queries, w.Privacy = rounds, 8, &Privacy{Epsilon: 2, Delta: 1e-5, Unit: dpmech.Record}
		stop := errors.New("enough")
		_, err := c.m.Run(context.Background(), w, with(c.m, w, c.s), func(_ int, models [][]float32) error {
			for i, x := range models {
				if got, want := norm(x)/math.Sqrt(d), c.want(i); math.Abs(got/want-1) > 0.03 {
					t.Errorf("%s: model %d has noise %.5f, want %.5f", c.m.Name(), i, got, want)
				}
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v, want the error of the callback", c.m.Name(), err)
		}
	}
}

// TestNoiseOfDPZero measures the random number that DPZero adds along its direction in each round. Over many rounds on
// flat losses, the standard deviation of these numbers must be what dpmech requires.
func TestNoiseOfDPZero(t *testing.T) {
	const rounds, clip = 20000, 0.3
	one, err := budget.SigmaFor(clip/33, rounds, 2, 1e-5, dpmech.GDP)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []DPZero{{}, {Local: true}} {
		w := worldOf(t, 1, []int{6, 4, 8, 15}, func(int, int, []float32) float64 { return 0 })
		w.Rounds, w.Privacy = rounds, &Privacy{Epsilon: 2, Delta: 1e-5, Unit: dpmech.Record}
		last, sum := 0.0, 0.0
		_, err := m.Run(context.Background(), w, with(m, w, Setting{"eta": 1, "clip": clip}), func(_ int, x [][]float32) error {
			sum += math.Pow(float64(x[0][0])-last, 2)
			last = float64(x[0][0])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := one
		if m.Local {
			want *= 2
		}
		if got := math.Sqrt(sum / rounds); math.Abs(got/want-1) > 0.03 {
			t.Errorf("%s: noise %.6f, want %.6f", m.Name(), got, want)
		}
	}
}

// TestOneRecord checks, with almost no noise, that one record moves the models in one round by at most its clipped
// share, however steep its loss is.
func TestOneRecord(t *testing.T) {
	const clip, eta = 0.1, 2.0
	for _, c := range []struct {
		m    Method
		step string
		want float64 // bound on the move, in units of 2*clip*eta
	}{
		{DPSGD{}, "eta", 1.0 / 12}, {DPSGD{Local: true}, "eta", 1.0 / 12}, {DPZero{}, "eta", math.Sqrt(3) / 12},
		{LTADMMDP{PerSample: true}, "gamma", 1.0 / 3},
	} {
		models := func(slope float64) [][]float32 {
			w := worldOf(t, 3, []int{3, 4, 5}, func(i, h int, x []float32) float64 {
				if i == 0 && h == 1 {
					return slope * float64(x[0])
				}
				return 0.01 * float64(x[1])
			})
			w.Rounds, w.Privacy = 1, &Privacy{Epsilon: 1e6, Delta: 1e-5, Unit: dpmech.Record}
			x, _ := run(t, c.m, w, with(c.m, w, Setting{c.step: eta, "clip": clip, "mu": 0.1, "tau": 1}))
			return x
		}
		up, down := models(1e6), models(-1e6)
		for i := range up {
			diff := make([]float32, 3)
			for j := range diff {
				diff[j] = up[i][j] - down[i][j]
			}
			want := 2 * clip * eta * c.want
			if i > 0 { // a client without the record, before any exchange
				want = 0
			}
			if got := norm(diff); got > want+1e-4 || got < 0.9*want {
				t.Errorf("%s: model %d moves by %v, want %v", c.m.Name(), i, got, want)
			}
		}
	}
}

// TestCountsForRecords checks that the same number of losses is queried for every record, within the budget.
func TestCountsForRecords(t *testing.T) {
	sizes := []int{10, 7, 12, 9}
	for _, m := range everyRecord() {
		var mu sync.Mutex // clients are asked concurrently
		asked := make(map[[2]int]int)
		w := worldOf(t, 6, sizes, func(i, h int, _ []float32) float64 {
			mu.Lock()
			defer mu.Unlock()
			asked[[2]int{i, h}]++
			return 0.5
		})
		w.Rounds, w.Queries, w.Privacy = 5, 16, &Privacy{Epsilon: 2, Delta: 1e-5, Unit: dpmech.Record}
		_, spent := run(t, m, w, with(m, w, Setting{"tau": 3}))
		total, first := 0, asked[[2]int{}]
		for at, n := range asked {
			if n != first {
				t.Errorf("%s: record %v is asked %d times, another one %d", m.Name(), at, n, first)
			}
			total += n
		}
		if len(asked) != 38 || first > 5*16 || int64(total) != spent.Queries {
			t.Errorf("%s: %d records, %d losses each and %d in all, want 38, at most 80, and the %d that it says", m.Name(),
				len(asked), first, total, spent.Queries)
		}
	}
}

func TestUnitIsRefused(t *testing.T) {
	for _, m := range append(everyMethod(), TwoPointDSG{}, Spade{}) {
		if slices.Contains(everyRecord(), m) {
			continue
		}
		w := worldOf(t, 3, []int{5, 5, 5}, func(int, int, []float32) float64 { return 0 })
		w.Queries, w.Privacy = 4, &Privacy{Epsilon: 2, Delta: 1e-5, Unit: dpmech.Record}
		_, err := m.Run(context.Background(), w, with(m, w, nil), func(int, [][]float32) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "record") {
			t.Errorf("%s: %v, want a refusal of the unit", m.Name(), err)
		}
	}
}

// TestExactGradients checks that, with exact gradients, one step from zero moves the model by the mean of the clipped
// gradients.
func TestExactGradients(t *testing.T) {
	w := worldOf(t, 2, []int{2, 1}, nil)
	w.Rounds = 1
	for i := range w.Clients {
		w.Clients[i].Gradient = func(g, _ []float32, h int) { g[0], g[1] = float32(3*(1+i)), float32(4*h) }
	}
	m := DPSGD{Exact: true}
	x, spent := run(t, m, w, Setting{"tau": 1, "eta": 1})
	if want := []float32{-4, -4.0 / 3}; math.Abs(float64(x[0][0]-want[0]))+math.Abs(float64(x[0][1]-want[1])) > 1e-5 || spent.Queries != 0 {
		t.Errorf("%v, %d losses, want %v and none", x[0], spent.Queries, want)
	}
	w.Clients[1].Gradient = nil
	if _, err := m.Run(context.Background(), w, Setting{"tau": 1, "eta": 1}, nil); err == nil || !strings.Contains(err.Error(), "Gradient") {
		t.Errorf("%v, want an error that names Gradient", err)
	}
}
