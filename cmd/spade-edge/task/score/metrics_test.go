package score

import (
	"fmt"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
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

func ratio(hits, trials float64) float64 { return hits / trials }

func TestClassMetricsAreTheirDefinitions(t *testing.T) {
	for _, d := range judged {
		t.Run(d.name, func(t *testing.T) {
			m := Classes(d.classes, d.is, d.said, d.probability)
			count := func(ok func(i int) bool) (n float64) {
				for i := range d.is {
					if ok(i) {
						n++
					}
				}
				return n
			}
			all := float64(len(d.is))
			same(t, "accuracy", &m.Accuracy, ratio(count(func(i int) bool { return d.is[i] == d.said[i] }), all))
			majority, f1s, used := 0.0, 0.0, 0.0
			for k := range d.classes {
				own := count(func(i int) bool { return d.is[i] == k })
				called := count(func(i int) bool { return d.said[i] == k })
				hits := count(func(i int) bool { return d.is[i] == k && d.said[i] == k })
				majority = max(majority, own/all)
				recall, precision := ratio(hits, own), ratio(hits, called)
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
				same(t, "tenth's share", tenth.Found, ratio(count(func(i int) bool { return in(i) && d.is[i] == 1 }), size))
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
		m := Numbers(d.is, d.said)
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
func same(t *testing.T, what string, e *Estimate, want float64) {
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
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestIntervalsCover checks that intervals have about the nominal coverage, in 2,000 draws of 150 samples each, for
// which the true figures are known.
func TestIntervalsCover(t *testing.T) {
	const draws, n = 2000, 150
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	covered := map[string]int{}
	check := func(what string, e *Estimate, truth float64) {
		if e != nil && e.Low <= truth && truth <= e.High {
			covered[what]++
		}
	}
	for range draws {
		is, said, p := make([]int, n), make([]int, n), make([]float64, n)
		y, guess := make([]float64, n), make([]float64, n)
		for i := range n {
			// The scores of each class are normal; their mean is higher by 1 for class 1, which has 20 % of the
			// samples.
			z := s.Normal()
			if s.Float64() < 0.2 {
				is[i], z = 1, z+1
			}
			if z > 0.5 {
				said[i] = 1
			}
			p[i] = vec.Sigmoid(z)
			x := s.Normal()
			y[i], guess[i] = 2*x+s.Normal(), 2*x
		}
		c, r := Classes(2, is, said, p), Numbers(y, guess)
		up := 0.5 * math.Erfc(-0.5/math.Sqrt2) // standard normal distribution function at one half
		check("accuracy", &c.Accuracy, up)
		check("sensitivity", c.Binary.Sensitivity, up)
		check("specificity", c.Binary.Specificity, up)
		ppv := 0.2 * up / (0.2*up + 0.8*(1-up))
		check("PPV", c.Binary.PPV, ppv)
		check("AUC", c.Binary.AUC, 0.5*math.Erfc(-0.5)) // P(score difference > 0)
		check("RMSE", &r.RMSE, 1)
		check("MAE", &r.MAE, math.Sqrt(2/math.Pi))
		check("R2", r.R2, 0.8)
	}
	for _, what := range []string{"accuracy", "sensitivity", "specificity", "PPV", "AUC", "RMSE", "MAE", "R2"} {
		share := float64(covered[what]) / draws
		t.Logf("%s: %.3f", what, share)
		if share < 0.93 || share > 0.97 {
			t.Errorf("%s: %.3f of the intervals cover, want about 0.95", what, share)
		}
	}
}
