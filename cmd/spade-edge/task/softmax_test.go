package task

import (
	"math"
	"testing"
)

// referenceLoss returns 1/2 |softmax(W a) - y|², computed in float64 from the definition. For two classes, W has the
// rows 0 and x.
func referenceLoss(d *Data, x []float32, sample int) float64 {
	logits := make([]float64, d.Classes)
	for c := range logits {
		for j, a := range d.Row(sample) {
			if d.Classes == 2 {
				logits[c] += float64(c) * float64(x[j]) * float64(a)
			} else {
				logits[c] += float64(x[c*d.Dim+j]) * float64(a)
			}
		}
	}
	sum := 0.0
	for _, z := range logits {
		sum += math.Exp(z)
	}
	loss := 0.0
	for c, z := range logits {
		p := math.Exp(z) / sum
		if c == d.Y[sample] {
			p -= 1
		}
		loss += p * p / 2
	}
	return loss
}

func parameters(n int, scale float64, seed uint64) []float32 {
	s := testStream(seed)
	x := make([]float32, n)
	for j := range x {
		x[j] = float32(scale * s.Normal())
	}
	return x
}

func TestSoftmaxLoss(t *testing.T) {
	for _, classes := range []int{2, 3, 7} {
		d := random(60, 9, classes, 4)
		s := NewSoftmax(d)
		want := 9
		if classes > 2 {
			want = 9 * classes
		}
		if s.Dim() != want || s.Len() != 60 {
			t.Errorf("%d classes: Dim %d, want %d; Len %d", classes, s.Dim(), want, s.Len())
		}
		for _, scale := range []float64{0, 0.01, 0.3, 3} {
			x := parameters(s.Dim(), scale, 8)
			mean := 0.0
			for i := range s.Len() {
				got, err := s.Loss(t.Context(), x, i)
				if err != nil {
					t.Fatal(err)
				}
				want := referenceLoss(d, x, i)
				if math.Abs(got-want) > 1e-4 || !(got >= 0 && got <= 1) {
					t.Errorf("%d classes, sample %d: loss %v, want %v", classes, i, got, want)
				}
				mean += got / 60
			}
			if got := s.MeanLoss(x); math.Abs(got-mean) > 1e-12 {
				t.Errorf("mean loss %v, want %v", got, mean)
			}
		}
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
