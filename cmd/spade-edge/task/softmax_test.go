package task

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// reference returns the loss of a built-in model, computed in float64 from its definition.
func reference(m *Model, x []float32, sample int) float64 {
	d := m.data
	var row []float64
	for _, a := range d.Row(sample) {
		row = append(row, float64(a))
	}
	output := func(w []float32) (z float64) {
		for j, a := range row {
			z += float64(w[j]) * a
		}
		return z
	}
	var units []float64
	for h := range m.spec.Hidden {
		z := output(x[h*d.Dim:])
		units = append(units, max(z, z/8))
	}
	if units != nil {
		row, x = append(units, 1), x[m.spec.Hidden*d.Dim:]
	}
	if d.Horizon != nil {
		return lived(d, sample, output(x), x[d.Dim:])
	}
	if d.Target != nil {
		t := (d.Target[sample] - d.Range.Low) / (d.Range.High - d.Range.Low)
		return math.Pow(1/(1+math.Exp(-output(x)))-max(0, min(t, 1)), 2)
	}
	logits, sum, loss := make([]float64, d.Classes), 0.0, 0.0 // for two classes, of the rows 0 and x
	for c := range logits {
		if d.Classes > 2 {
			logits[c] = output(x[c*len(row):])
		} else if c == 1 {
			logits[c] = output(x)
		}
		sum += math.Exp(logits[c])
	}
	for c, z := range logits {
		p := math.Exp(z) / sum
		if c == d.Y[sample] {
			p -= 1
		}
		loss += p * p / 2
	}
	return loss
}

// lived returns the loss of hazards for a sample with the score z. b has the constant of each interval.
func lived(d *Data, sample int, z float64, b []float32) (loss float64) {
	ends, days := append(d.Horizon.Cuts().Ends, math.Inf(1)), d.Time[sample]
	start := 0.0
	for j, end := range ends {
		length := end - start
		if j == len(ends)-1 {
			length = start - ends[j-2]
		}
		event, stay := math.Log1p(math.Exp(-z-float64(b[j]))), math.Log1p(math.Exp(z+float64(b[j])))
		switch {
		case days > end, days <= end && (days > start || j == 0) && d.Y[sample] == 0 && days-start >= length/2:
			loss += stay / 4
		case days <= end && (days > start || j == 0) && d.Y[sample] == 1:
			loss += event / 4
		}
		start = end
	}
	return min(loss, survival.MostLoss)
}

func parameters(n int, scale float64, seed uint64) []float32 {
	s := testStream(seed)
	x := make([]float32, n)
	for j := range x {
		x[j] = float32(scale * s.Normal())
	}
	return x
}

// TestModels checks each kind of model against its definition, alone and in batches.
func TestModels(t *testing.T) {
	two, three, seven, number, lives := random(60, 9, 2, 4), random(60, 9, 3, 4), random(60, 9, 7, 4), targets(60, 9, 4), observed(60, 9, 4)
	for _, c := range []struct {
		spec ModelSpec
		data *Data
		dim  int
	}{
		{ModelSpec{SoftmaxModel, 0}, two, 9}, {ModelSpec{SoftmaxModel, 0}, three, 27}, {ModelSpec{SoftmaxModel, 0}, seven, 63},
		{ModelSpec{PerceptronModel, 1}, two, 11}, {ModelSpec{PerceptronModel, 5}, two, 51}, {ModelSpec{PerceptronModel, 4}, three, 51},
		{ModelSpec{PerceptronModel, MaxHidden}, seven, MaxHidden*9 + 7*(MaxHidden+1)},
		{ModelSpec{LinearModel, 0}, number, 9}, {ModelSpec{PerceptronModel, 1}, number, 11}, {ModelSpec{PerceptronModel, 7}, number, 71},
		{ModelSpec{HazardsModel, 0}, lives, 13},
	} {
		t.Run(fmt.Sprint(c.spec, " ", c.dim), func(t *testing.T) {
			m, most := c.spec.New(c.data), 1.0
			if c.data == lives {
				most = survival.MostLoss
			}
			if m.Dim() != c.dim || c.spec.Dim(9, c.data.outputs()) != c.dim || m.Len() != 60 {
				t.Errorf("%d parameters, want %d; %d samples", m.Dim(), c.dim, m.Len())
			}
			for _, scale := range []float64{0, 0.01, 0.3, 1, 1e6} {
				x, s, mean := parameters(m.Dim(), scale, 8), testStream(3), 0.0
				var queries []zoest.Query
				var want []float64
				for i := range m.Len() {
					got, err := m.Loss(t.Context(), x, i)
					if err != nil || !(got >= 0 && got <= most) {
						t.Fatalf("scale %v: loss %v, %v", scale, got, err)
					}
					if ref := reference(m, x, i); scale < 1e3 && math.Abs(got-ref) > 2e-4*max(1, ref) {
						t.Errorf("scale %v, sample %d: loss %v, want %v", scale, i, got, ref)
					}
					queries, want = append(queries, zoest.Query{Point: x, Sample: i}, zoest.Query{Point: x, Sample: -1 - s.IntN(9)}),
						append(want, got, math.NaN())
					mean += got / 60
				}
				near(t, "mean loss", m.MeanLoss(x), mean)
				got := make([]float64, len(queries))
				if err := m.Losses(t.Context(), queries, got); err != nil || !slices.EqualFunc(got, want, func(a, b float64) bool {
					return a == b || math.IsNaN(a) && math.IsNaN(b)
				}) {
					t.Errorf("scale %v: other losses in a batch (%v)", scale, err)
				}
				if n := testing.AllocsPerRun(10, func() { m.Losses(t.Context(), queries, got) }); n != 0 {
					t.Errorf("%v allocations a batch, want none", n)
				}
			}
			if err := tinytest.TestOracle(m, m.Dim(), m.Len()); err != nil {
				t.Error(err)
			}
			if math.IsNaN(m.Accuracy(make([]float32, m.Dim()))) != (c.data == number || c.data == lives) {
				t.Error("only models of classes have an accuracy")
			}
		})
	}
}

func TestSoftmaxExtremes(t *testing.T) {
	const huge = 1e38
	nan := float32(math.NaN())
	two := &Data{X: []float32{1, 1, 100, 100}, Y: []int{1, 0}, Dim: 2, Classes: 2}
	three := &Data{X: []float32{1, 100}, Y: []int{1, 0}, Dim: 1, Classes: 3}
	for name, c := range map[string]struct {
		data   *Data
		x      []float32
		sample int
		want   float64
	}{
		"right":                  {two, []float32{huge, huge}, 0, 0},
		"wrong":                  {two, []float32{-huge, -huge}, 0, 1},
		"right by overflow":      {two, []float32{-huge, -huge}, 1, 0},
		"wrong by overflow":      {two, []float32{huge, huge}, 1, 1},
		"two NaN":                {two, []float32{nan, 0}, 0, math.NaN()},
		"three, right":           {three, []float32{0, huge, 0}, 0, 0},
		"three, wrong":           {three, []float32{huge, 0, 0}, 0, 1},
		"three, all overflow":    {three, []float32{huge, huge, huge}, 1, 1.0 / 3},
		"three, two wrong":       {three, []float32{-huge, huge, huge}, 1, 0.75},
		"three, right, overflow": {three, []float32{huge, -huge, -huge}, 1, 0},
		"three, NaN":             {three, []float32{0, 0, nan}, 0, math.NaN()},
		"three, NaN of its own":  {three, []float32{0, nan, 0}, 0, math.NaN()},
	} {
		got, err := NewSoftmax(c.data).Loss(t.Context(), c.x, c.sample)
		if err != nil || math.Abs(got-c.want) > 1e-15 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: loss %v, %v; want %v", name, got, err, c.want)
		}
	}
	// The loss keeps its relative precision when the prediction is nearly certain.
	p := 1 / (1 + math.Exp(20))
	if got, _ := NewSoftmax(two).Loss(t.Context(), []float32{10, 10}, 0); math.Abs(got/(p*p)-1) > 1e-12 {
		t.Errorf("loss %v, want %v", got, p*p)
	}
}

func TestSoftmaxAccuracy(t *testing.T) {
	nan := float32(math.NaN())
	two := NewSoftmax(&Data{X: []float32{1, -1, 2, -3}, Y: []int{1, 0, 0, 0}, Dim: 1, Classes: 2})
	three := NewSoftmax(&Data{X: []float32{1, -1, 2, 1}, Y: []int{2, 0, 2, 1}, Dim: 1, Classes: 3})
	for name, c := range map[string]struct {
		model *Model
		x     []float32
		want  float64
	}{
		"two":             {two, []float32{5}, 0.75},
		"two, reversed":   {two, []float32{-5}, 0.25},
		"two, undecided":  {two, []float32{0}, 0.75},
		"two, NaN":        {two, []float32{nan}, 0},
		"three":           {three, []float32{-1, 0, 1}, 0.75},
		"three, equal":    {three, []float32{0, 0, 0}, 0.25},
		"three, one NaN":  {three, []float32{-1, nan, 1}, 0},
		"three, overflow": {three, []float32{-1, -3e38, 3e38}, 0.5},
	} {
		if got := c.model.Accuracy(c.x); got != c.want {
			t.Errorf("%s: accuracy %v, want %v", name, got, c.want)
		}
	}
}
