package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

// drawn returns probabilities of the given number of classes and, drawn from the corrected probabilities, the classes.
func drawn(n int, truth *Recalibration) (said [][]float64, is []int) {
	s := rand.New(rand.NewPCG(1, 2))
	for range n {
		p, sum := make([]float64, len(truth.Intercepts)), 0.0
		for k := range p {
			p[k] = math.Exp(2 * s.NormFloat64())
			sum += p[k]
		}
		for k := range p {
			p[k] /= sum
		}
		at, class := s.Float64(), 0
		for _, v := range truth.Apply(p)[:len(p)-1] {
			if at -= v; at > 0 {
				class++
			}
		}
		said, is = append(said, p), append(is, class)
	}
	return said, is
}

// steepness returns the length of the gradient, by differences, of the function that fitClasses minimizes.
func steepness(said [][]float64, is []int, r *Recalibration) (norm float64) {
	x := append(slices.Clone(r.Intercepts), r.Slope)
	last := len(x) - 1
	loss := func(x []float64) (sum float64) {
		for _, b := range x[:last] {
			sum += weak * b * b
		}
		sum += weak / 2 * (x[last] - 1) * (x[last] - 1)
		for i, p := range said {
			total := 0.0
			for k, v := range p {
				total += math.Exp(x[k]) * math.Pow(v, x[last])
			}
			sum -= math.Log(math.Exp(x[is[i]]) * math.Pow(p[is[i]], x[last]) / total)
		}
		return sum
	}
	const h = 1e-5
	for k := range x {
		up, down := slices.Clone(x), slices.Clone(x)
		up[k], down[k] = x[k]+h, x[k]-h
		norm = math.Hypot(norm, (loss(up)-loss(down))/(2*h))
	}
	return norm
}

// TestRecalibrationOfClasses checks that a fit ends where the function is flat. By the prior its curvature is at least
// weak, so the one minimum is closer than steepness/weak.
func TestRecalibrationOfClasses(t *testing.T) {
	two, twoIs := drawn(60, &Recalibration{Slope: 0.5, Intercepts: []float64{0.75, -0.75}})
	three, threeIs := drawn(60, &Recalibration{Slope: 0.4, Intercepts: []float64{0.5, 0.5, -1}})
	apart, apartIs := drawn(40, &Recalibration{Slope: 1e6, Intercepts: []float64{0, 0}})
	for name, c := range map[string]struct {
		said [][]float64
		is   []int
	}{
		"two classes":   {two, twoIs},
		"three classes": {three, threeIs},
		"separated":     {apart, apartIs},
		"equal answers": {slices.Repeat([][]float64{{0.5, 0.5}}, 4), []int{0, 0, 0, 1}},
	} {
		r, d := new(Recalibration), &task.Data{Y: c.is}
		if err := r.fit(c.said, d); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if off := steepness(c.said, c.is, r) / weak; !(off < 1e-3) || r.Slope > 100 {
			t.Errorf("%s: slope %v and intercepts %v may be off by %v", name, r.Slope, r.Intercepts, off)
		}
	}
	// A single class moves the intercepts, not the slope.
	for _, n := range []int{1, len(two)} {
		r := new(Recalibration)
		err := r.fit(two[:n], &task.Data{Y: make([]int, n)})
		if err != nil || math.Abs(r.Slope-1) > 1e-3 || !(r.Intercepts[0] > 0 && r.Intercepts[0] < 10) {
			t.Errorf("%d rows of a single class: found %+v, %v", n, r, err)
		}
	}
	// The truth is found from enough rows, and the corrected mean is the observed share.
	said, is := drawn(20000, &Recalibration{Slope: 0.5, Intercepts: []float64{0.75, -0.75}})
	r := new(Recalibration)
	if err := r.fit(said, &task.Data{Y: is}); err != nil || math.Abs(r.Slope-0.5) > 0.03 || math.Abs(r.Intercepts[1]+0.75) > 0.03 {
		t.Errorf("found %+v, %v", r, err)
	}
	off := 0.0
	for i, p := range said {
		off += (r.Apply(p)[1] - float64(is[i])) / float64(len(is))
	}
	if math.Abs(off) > 1e-4 {
		t.Errorf("the mean probability is off by %v", off)
	}
	// Extreme answers stay finite, and answers the wrong way round are refused.
	sure := [][]float64{{0, 1}, {1, 0}, {0, 1}, {1, 0}}
	if err := r.fit(sure, &task.Data{Y: []int{1, 0, 1, 1}}); err != nil || math.IsNaN(r.Slope+r.Apply([]float64{0, 1})[1]) {
		t.Errorf("found %+v, %v", r, err)
	}
	if err := r.fit(slices.Repeat(sure, 9), &task.Data{Y: slices.Repeat([]int{0, 1}, 18)}); err == nil {
		t.Errorf("answers the wrong way round: found %+v", r)
	}
}

func TestRecalibrationOfNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		said, is         []float64
		slope, intercept float64
	}{
		"a line":        {[]float64{1, 2, 3, 4}, []float64{5, 7, 9, 11}, 2, 3},
		"shifted":       {[]float64{1, 2, 3}, []float64{11, 12, 13}, 1, 10},
		"equal answers": {[]float64{2, 2, 2}, []float64{1, 5, 9}, 1, 3},
		"one row":       {[]float64{2}, []float64{9}, 1, 7},
		"wrong way":     {[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, 0, 0},
	} {
		var said [][]float64
		for _, v := range c.said {
			said = append(said, []float64{v})
		}
		r := new(Recalibration)
		err := r.fit(said, &task.Data{Target: c.is})
		if c.slope == 0 && err != nil {
			continue
		}
		if err != nil || math.Abs(r.Slope-c.slope) > 0.05 || math.Abs(r.Apply([]float64{2})[0]-(2*c.slope+c.intercept)) > 0.05 {
			t.Errorf("%s: found %+v, %v", name, r, err)
		}
	}
}

// TestRecalibrationOfSurvival checks that the slope and the shift of drawn lives are found, that the corrected survival is
// that of the truth, and that a site without an event keeps its slope.
func TestRecalibrationOfSurvival(t *testing.T) {
	s := rand.New(rand.NewPCG(1, 2))
	h := &survival.Horizon{Time: "t", Unit: "d", Intervals: "100d,200d,400d", Rate: 0.05}
	d, starts := &task.Data{Horizon: h}, []float64{0, 100, 200, 400}
	var said, truth [][]float64
	for range 4000 {
		score, left, right, time, event := s.NormFloat64(), 1.0, 1.0, 900.0, 0
		var curve, is []float64
		for j, b := range []float64{-2, -1, -1.5} {
			stay := 1 / (1 + math.Exp(0.5*(b+score)-0.75))
			if left, right = left/(1+math.Exp(b+score)), right*stay; event == 0 && s.Float64() > stay {
				time, event = starts[j]+1+98*s.Float64(), 1
			}
			curve, is = append(curve, left), append(is, right)
		}
		if end := 1200 * s.Float64(); end < time {
			time, event = end, 0
		}
		said, truth, d.Time, d.Y = append(said, curve), append(truth, is), append(d.Time, time), append(d.Y, event)
	}
	r := new(Recalibration)
	if err := r.fit(said, d); err != nil || math.Abs(r.Slope-0.5) > 0.05 || math.Abs(r.Intercepts[1]-r.Intercepts[0]+0.75) > 0.1 {
		t.Fatalf("found %+v, %v", r, err)
	}
	for i, curve := range said[:100] {
		for j, p := range r.Survival(curve) {
			if math.Abs(p-truth[i][j]) > 0.03 {
				t.Errorf("survival %v of row %d, want about %v", p, i, truth[i][j])
			}
		}
	}
	clear(d.Y)
	if err := r.fit(said, d); err != nil || math.Abs(r.Slope-1) > 1e-3 || !(r.Survival(said[0])[2] > said[0][2]) {
		t.Errorf("without an event: found %+v, %v", r, err)
	}
	if p := r.Survival([]float64{0, 0, 0}); math.IsNaN(p[2]) {
		t.Errorf("of no survival: %v", p)
	}
	d.Time = make([]float64, len(d.Y))
	if err := r.fit(said, d); err == nil {
		t.Error("rows that show nothing are no error")
	}
}
