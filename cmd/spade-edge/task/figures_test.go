package task_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// judged has samples for all special cases: ties, a single class, classes that are empty or never predicted, and
// probabilities at the bounds of a Tenth.
var judged = []struct {
	name        string
	classes     int
	is, said    []int
	probability []float64
}{
	{"plain", 2, []int{0, 0, 1, 1, 1, 0}, []int{0, 1, 1, 1, 0, 0}, []float64{.1, .7, .8, .6, .4, .2}},
	{"all tied", 2, []int{0, 1, 0, 1, 1}, []int{0, 0, 0, 0, 0}, []float64{.5, .5, .5, .5, .5}},
	{"some tied", 2, []int{0, 1, 0, 1, 1, 0, 0, 1}, []int{0, 1, 1, 1, 0, 0, 0, 1}, []float64{.3, .9, .9, .9, .3, .3, 0, 1}},
	{"ends of tenths", 2, []int{0, 1, 0, 1, 0, 1}, []int{0, 0, 0, 1, 1, 1}, []float64{0, .1, .3, .7, .9, 1}},
	{"one class", 2, []int{1, 1, 1}, []int{1, 0, 1}, []float64{.9, .2, .6}},
	{"other class", 2, []int{0, 0}, []int{0, 0}, []float64{.1, .2}},
	{"one sample", 2, []int{1}, []int{1}, []float64{1}},
	{"perfect", 2, []int{0, 0, 0, 1, 1}, []int{0, 0, 0, 1, 1}, []float64{.1, .2, .3, .8, .9}},
	{"never right", 2, []int{1, 0, 1}, []int{0, 1, 0}, []float64{.1, .9, .3}},
	{"one positive", 2, []int{0, 0, 1, 0}, []int{0, 0, 0, 1}, []float64{.1, .2, .3, .8}},
	{"no probability", 2, []int{0, 1, 1, 0}, []int{0, 1, 0, 0}, nil},
	{"three", 3, []int{0, 1, 2, 2, 1, 0, 2}, []int{0, 2, 2, 2, 1, 1, 0}, nil},
	{"empty class", 4, []int{0, 3, 3, 0, 3}, []int{0, 3, 0, 0, 0}, nil},
	{"only said", 3, []int{0, 0}, []int{1, 1}, nil},
}

func TestClassMetricsAreTheirDefinitions(t *testing.T) {
	for _, d := range judged {
		t.Run(d.name, func(t *testing.T) {
			m := score.Classes(d.classes, d.is, d.said, d.probability)
			count := func(ok func(i int) bool) (n float64) {
				for i := range d.is {
					if ok(i) {
						n++
					}
				}
				return n
			}
			all := float64(len(d.is))
			same(t, "accuracy", &m.Accuracy, count(func(i int) bool { return d.is[i] == d.said[i] })/all)
			majority, f1s, used := 0.0, 0.0, 0.0
			for k := range d.classes {
				own := count(func(i int) bool { return d.is[i] == k })
				called := count(func(i int) bool { return d.said[i] == k })
				hits := count(func(i int) bool { return d.is[i] == k && d.said[i] == k })
				majority = max(majority, own/all)
				recall, precision := hits/own, hits/called
				same(t, fmt.Sprint("recall of ", k), m.PerClass[k].Recall, recall)
				same(t, fmt.Sprint("precision of ", k), m.PerClass[k].Precision, precision)
				f1 := 2 / (1/recall + 1/precision)
				switch {
				case own == 0 && called == 0:
					if m.PerClass[k].F1 != nil {
						t.Errorf("class %d has an F1 of nothing", k)
					}
					continue
				case hits == 0:
					f1 = 0
				}
				f1s += f1
				used++
				near(t, fmt.Sprint("F1 of ", k), *m.PerClass[k].F1, f1)
				for j := range d.classes {
					want := count(func(i int) bool { return d.is[i] == k && d.said[i] == j })
					near(t, fmt.Sprint("confusion ", k, j), float64(m.Confusion[k][j]), want)
				}
			}
			near(t, "majority", m.Majority, majority)
			near(t, "macro F1", m.MacroF1, f1s/used)
			if (m.Binary != nil) != (d.probability != nil) {
				t.Fatalf("binary metrics are %v", m.Binary)
			}
			if m.Binary == nil {
				return
			}
			wins, pairs, brier := 0.0, 0.0, 0.0
			for i, p := range d.probability {
				brier += (p - float64(d.is[i])) * (p - float64(d.is[i]))
				for j, q := range d.probability {
					if d.is[i] == 1 && d.is[j] == 0 {
						pairs++
						if p > q {
							wins++
						} else if p == q {
							wins += 0.5
						}
					}
				}
			}
			b := m.Binary
			same(t, "AUC", b.AUC, wins/pairs)
			same(t, "Brier", &b.Brier, brier/all)
			if b.Sensitivity != m.PerClass[1].Recall || b.Specificity != m.PerClass[0].Recall ||
				b.PPV != m.PerClass[1].Precision || b.NPV != m.PerClass[0].Precision {
				t.Error("shares of two classes are not those by class")
			}
			for k, tenth := range b.Calibration {
				in := func(i int) bool {
					return math.Floor(10*d.probability[i]) == float64(k) || k == 9 && d.probability[i] == 1
				}
				sum, size := 0.0, count(in)
				for i, p := range d.probability {
					if in(i) {
						sum += p
					}
				}
				near(t, "tenth's size", float64(tenth.Samples), size)
				near(t, "tenth's mean", tenth.Said, sum/max(1, size))
				same(t, "tenth's share", tenth.Found, count(func(i int) bool { return in(i) && d.is[i] == 1 })/size)
			}
		})
	}
}

func TestNumberMetricsAreTheirDefinitions(t *testing.T) {
	for _, d := range []struct{ is, said []float64 }{
		{[]float64{1, 2, 3, 4}, []float64{1.5, 1.5, 3.5, 3}},
		{[]float64{5, 5, 5}, []float64{5, 5, 4}}, // R2 is nil
		{[]float64{1, 2, 2}, []float64{1, 2, 2}}, // all predictions are right
		{[]float64{-3}, []float64{2}},            // one sample
		{[]float64{1, 2, 3}, []float64{3, 2, 1}}, // worse than the mean
		{[]float64{1e6, 2e6, 0}, []float64{1, 0, 1e6}},
	} {
		m := score.Numbers(d.is, d.said)
		n := float64(len(d.is))
		mean, square, size, own, ownSize := 0.0, 0.0, 0.0, 0.0, 0.0
		for _, y := range d.is {
			mean += y / n
		}
		for i, y := range d.is {
			square += (d.said[i] - y) * (d.said[i] - y)
			own += (y - mean) * (y - mean)
			size += math.Abs(d.said[i] - y)
			ownSize += math.Abs(y - mean)
		}
		same(t, "RMSE", &m.RMSE, math.Sqrt(square/n))
		same(t, "MAE", &m.MAE, size/n)
		near(t, "RMSE of the mean", m.MeanRMSE, math.Sqrt(own/n))
		near(t, "MAE of the mean", m.MeanMAE, ownSize/n)
		r2 := math.NaN()
		if own > 0 {
			r2 = 1 - square/own
		}
		same(t, "R2", m.R2, r2)
	}
}

// same fails the test if a figure differs from want or lies outside its interval. If want is NaN, the figure must be
// nil.
func same(t *testing.T, what string, e *score.Estimate, want float64) {
	t.Helper()
	if e == nil || math.IsNaN(want) {
		if e != nil || !math.IsNaN(want) {
			t.Errorf("%s: %v, want %v", what, e, want)
		}
		return
	}
	near(t, what, e.Value, want)
	if !(e.Low <= e.Value && e.Value <= e.High) {
		t.Errorf("%s: %v lies outside of its interval", what, *e)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-11*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// lived is a random set of samples of a survival task with many ties.
type lived struct {
	times, risks []float64
	events       []int
	curves       [][]float64
	cuts         survival.Intervals
}

func randomLives(r *rand.Rand) (t lived) {
	n, steps := 1+r.IntN(60), 1+r.IntN(30)
	t.cuts, _ = survival.ParseIntervals("2d,5d,11d")
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
func (t lived) pairs(f func(i, j int)) {
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
func (t lived) c(weight []float64) float64 {
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
func (t lived) beyond(at float64, censoring bool, in func(i int) bool) (share float64) {
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
func (t lived) brier(at float64, said func(i int) float64) float64 {
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

// TestSurvivalMetricsAreTheirDefinitions compares all figures with their definitions, on 300 random tables with ties and
// censoring.
func TestSurvivalMetricsAreTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := randomLives(r)
		m := survival.Judge(d.cuts, d.times, d.events, d.risks, d.curves)
		pairs, ones := 0, slices.Repeat([]float64{1}, len(d.times))
		d.pairs(func(int, int) { pairs++ })
		near(t, "pairs", float64(m.Pairs), float64(pairs))
		same(t, "C-index", m.CIndex, d.c(ones))
		if pairs > 10 {
			c, i := survival.Concord(d.times, d.events, d.risks), r.IntN(len(d.times))
			ones[i] += 1e-6
			if slope := (d.c(ones) - m.CIndex.Value) / 1e-6; math.Abs(slope-c.Influence[i]) > 1e-4 {
				t.Errorf("influence %v, want %v", c.Influence[i], slope)
			}
		}
		last := slices.Max(d.times)
		for j, end := range d.cuts.Ends {
			h := m.Horizons[j]
			want := d.beyond(end, false, everybody)
			if (h.Observed == nil) != (last < end && want > 0) {
				t.Fatalf("survival beyond %v is %v, observed until %v", end, h.Observed, last)
			} else if h.Observed != nil {
				same(t, "Kaplan-Meier", h.Observed, want)
			}
			if left := d.beyond(end, true, everybody); (h.Brier == nil) != (left == 0) {
				t.Fatalf("Brier %v, with %v left", h.Brier, left)
			} else if h.Brier != nil {
				same(t, "Brier", h.Brier, d.brier(end, func(i int) float64 { return d.curves[i][j] }))
				near(t, "Brier of a constant", *h.Constant, d.brier(end, func(int) float64 { return want }))
			}
		}
		samples, lowest, sorted := 0, math.Inf(-1), slices.Sorted(slices.Values(d.risks))
		for _, g := range m.Groups {
			samples += g.Samples
			highest := sorted[samples-1]
			in := func(i int) bool { return d.risks[i] > lowest && d.risks[i] <= highest }
			for j, end := range d.cuts.Ends {
				if g.Observed[j] != nil {
					same(t, "Kaplan-Meier of a group", g.Observed[j], d.beyond(end, false, in))
				}
			}
			lowest = highest
		}
		if samples != len(d.times) {
			t.Errorf("the groups have %d samples, want %d", samples, len(d.times))
		}
	}
}

// TestIntervalsCover checks that intervals have about the nominal coverage, in 1,000 draws of 150 samples each, for which the
// true figures are known. The standard error of a share of 0.95 is then 0.007.
func TestIntervalsCover(t *testing.T) {
	const draws, n = 1000, 150
	up := 0.5 * math.Erfc(-0.5/math.Sqrt2) // standard normal distribution function at one half
	truth := map[string]float64{
		"accuracy": up, "sensitivity": up, "specificity": up, "PPV": 0.2 * up / (0.2*up + 0.8*(1-up)), "AUC": 0.5 * math.Erfc(-0.5), // P(score difference > 0)
		"RMSE": 1, "MAE": math.Sqrt(2 / math.Pi), "R2": 0.8, "C-index": 0.7312, "Kaplan-Meier": 0.5617, // these two by integration over the densities
	}
	r, covered := rand.New(rand.NewPCG(3, 4)), map[string]int{}
	check := func(what string, e *score.Estimate) {
		if e != nil && e.Low <= truth[what] && truth[what] <= e.High {
			covered[what]++
		}
	}
	for range draws {
		is, said, p, events := make([]int, n), make([]int, n), make([]float64, n), make([]int, n)
		y, guess, times, risks := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			// The scores of each class are normal; their mean is higher by 1 for class 1, which has 20 % of the
			// samples.
			z := r.NormFloat64()
			if r.Float64() < 0.2 {
				is[i], z = 1, z+1
			}
			if z > 0.5 {
				said[i] = 1
			}
			p[i] = vec.Sigmoid(z)
			x := r.NormFloat64()
			y[i], guess[i] = 2*x+r.NormFloat64(), 2*x
			// Times are exponential with hazard exp(x), so one of two samples is first with probability
			// exp(x1)/(exp(x1)+exp(x2)); they are censored at 1.
			if risks[i], times[i], events[i] = x, r.ExpFloat64()/math.Exp(x), 1; times[i] > 1 {
				times[i], events[i] = 1, 0
			}
		}
		c, numbers := score.Classes(2, is, said, p), score.Numbers(y, guess)
		check("accuracy", &c.Accuracy)
		check("sensitivity", c.Binary.Sensitivity)
		check("specificity", c.Binary.Specificity)
		check("PPV", c.Binary.PPV)
		check("AUC", c.Binary.AUC)
		check("RMSE", &numbers.RMSE)
		check("MAE", &numbers.MAE)
		check("R2", numbers.R2)
		check("C-index", survival.Concord(times, events, risks).Estimate(n))
		check("Kaplan-Meier", survival.Estimate(times, events, nil, false).Beyond(0.5))
	}
	for what := range truth {
		if share := float64(covered[what]) / draws; share < 0.93 || share > 0.97 {
			t.Errorf("%s: %.3f of the intervals cover, want about 0.95", what, share)
		}
	}
}
