package survival

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
)

// table is a random set of samples with many ties.
type table struct {
	times, risks []float64
	events       []int
	curves       [][]float64
	cuts         Intervals
}

func random(r *rand.Rand) table {
	n, steps := 1+r.IntN(60), 1+r.IntN(30)
	t := table{cuts: Intervals{Ends: []float64{2, 5, 11}, unit: 'd'}}
	often := r.Float64()
	for range n {
		t.times = append(t.times, float64(r.IntN(steps)))
		t.risks = append(t.risks, float64(r.IntN(steps))/3)
		event := 0
		if r.Float64() < often {
			event = 1
		}
		t.events = append(t.events, event)
		s := r.Float64()
		t.curves = append(t.curves, []float64{s, s * s, s * s * s})
	}
	return t
}

// pairs calls f for each pair in which sample i has the event first.
func (t table) pairs(f func(i, j int)) {
	for i := range t.times {
		for j := range t.times {
			equal := t.times[i] == t.times[j]
			if t.events[i] == 1 && (t.times[i] < t.times[j] || equal && t.events[j] == 0) {
				f(i, j)
			}
		}
	}
}

// c returns the C-index with a weight for each sample.
func (t table) c(weight []float64) float64 {
	right, all := 0.0, 0.0
	t.pairs(func(i, j int) {
		w := weight[i] * weight[j]
		all += w
		switch {
		case t.risks[i] > t.risks[j]:
			right += w
		case t.risks[i] == t.risks[j]:
			right += w / 2
		}
	})
	return right / all
}

// beyond is the Kaplan-Meier estimate by its definition, for the samples for which in is true.
func (t table) beyond(at float64, censoring bool, in func(i int) bool) (share float64) {
	share = 1
	for step := 0.0; step <= at; step++ { // all times are whole numbers
		risk, fall := 0.0, 0.0
		for i, time := range t.times {
			if !in(i) || time < step || censoring && time == step && t.events[i] == 1 {
				continue
			}
			risk++
			if time == step && (t.events[i] == 1) != censoring {
				fall++
			}
		}
		if fall > 0 {
			share *= 1 - fall/risk
		}
	}
	return share
}

func everybody(int) bool { return true }

// brier is the weighted score by its definition.
func (t table) brier(at float64, said func(i int) float64) float64 {
	sum := 0.0
	for i, time := range t.times {
		switch p := said(i); {
		case time > at:
			sum += (1 - p) * (1 - p) / t.beyond(at, true, everybody)
		case t.events[i] == 1:
			sum += p * p / t.beyond(time-1, true, everybody)
		}
	}
	return sum / float64(len(t.times))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func figure(t *testing.T, what string, e *score.Estimate, want float64) {
	t.Helper()
	near(t, what, e.Value, want)
	if !(e.Low <= e.Value && e.Value <= e.High) {
		t.Errorf("%s: %v lies outside of its interval", what, *e)
	}
}

// TestReference compares all figures with their definitions, on 1,000 random tables with ties and censoring.
func TestReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		d := random(r)
		m := Judge(d.cuts, d.times, d.events, d.risks, d.curves)
		pairs, ones := 0, make([]float64, len(d.times))
		d.pairs(func(int, int) { pairs++ })
		for i := range ones {
			ones[i] = 1
		}
		near(t, "pairs", float64(m.Pairs), float64(pairs))
		if (m.CIndex == nil) != (pairs == 0) {
			t.Fatalf("C-index %v of %d pairs", m.CIndex, pairs)
		}
		if pairs > 0 {
			figure(t, "C-index", m.CIndex, d.c(ones))
			c, i := Concord(d.times, d.events, d.risks), r.IntN(len(d.times))
			ones[i] += 1e-6
			if slope := (d.c(ones) - m.CIndex.Value) / 1e-6; pairs > 10 && math.Abs(slope-c.Influence[i]) > 1e-4 {
				t.Errorf("influence %v, want %v", c.Influence[i], slope)
			}
		}
		last := 0.0
		for _, time := range d.times {
			last = max(last, time)
		}
		for j, end := range d.cuts.Ends {
			h := m.Horizons[j]
			want := d.beyond(end, false, everybody)
			if (h.Observed == nil) != (last < end && want > 0) {
				t.Fatalf("survival beyond %v is %v, observed until %v", end, h.Observed, last)
			} else if h.Observed != nil {
				figure(t, "Kaplan-Meier", h.Observed, want)
			}
			if left := d.beyond(end, true, everybody); (h.Brier == nil) != (left == 0) {
				t.Fatalf("Brier %v, with %v left", h.Brier, left)
			} else if h.Brier != nil {
				figure(t, "Brier", h.Brier, d.brier(end, func(i int) float64 { return d.curves[i][j] }))
				near(t, "Brier of a constant", *h.Constant, d.brier(end, func(int) float64 { return want }))
			}
		}
		samples, highest := 0, math.Inf(-1)
		for _, g := range m.Groups {
			samples += g.Samples
			next := math.Inf(-1)
			of := func(i int) bool { return d.risks[i] > highest }
			left := g.Samples
			for at := 0.0; left > 0; at++ { // risks are thirds
				for i, risk := range d.risks {
					if of(i) && risk == at/3 {
						left--
						next = risk
					}
				}
			}
			lowest := highest
			in := func(i int) bool { return d.risks[i] > lowest && d.risks[i] <= next }
			for j, end := range d.cuts.Ends {
				if g.Observed[j] != nil {
					figure(t, "Kaplan-Meier of a group", g.Observed[j], d.beyond(end, false, in))
				}
			}
			highest = next
		}
		if samples != len(d.times) {
			t.Errorf("the groups have %d samples, want %d", samples, len(d.times))
		}
	}
}

// TestIntervalsCover checks that intervals of the C-index and of Kaplan-Meier have about the nominal coverage.
func TestIntervalsCover(t *testing.T) {
	const draws, n = 1000, 120
	r := rand.New(rand.NewPCG(3, 4))
	c, km := 0, 0
	for range draws {
		times, events, risks := make([]float64, n), make([]int, n), make([]float64, n)
		for i := range times {
			// Times are exponential with hazard exp(x), so one of two samples is first with probability
			// exp(x1)/(exp(x1)+exp(x2)); they are censored at 1.
			x := r.NormFloat64()
			risks[i], times[i], events[i] = x, r.ExpFloat64()/math.Exp(x), 1
			if end := 1.0; times[i] > end {
				times[i], events[i] = end, 0
			}
		}
		const trueC, trueS = 0.7312, 0.5617 // by integration over the two densities
		e := Concord(times, events, risks).Estimate(n)
		if e.Low <= trueC && trueC <= e.High {
			c++
		}
		if e := Estimate(times, events, nil, false).Beyond(0.5); e.Low <= trueS && trueS <= e.High {
			km++
		}
	}
	for what, covered := range map[string]int{"C-index": c, "Kaplan-Meier": km} {
		share := float64(covered) / draws
		t.Logf("%s: %.3f", what, share)
		if share < 0.93 || share > 0.97 {
			t.Errorf("%s: %.3f of the intervals cover, want about 0.95", what, share)
		}
	}
}
