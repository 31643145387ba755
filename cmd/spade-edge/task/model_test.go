package task

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

var _ zoest.BatchOracle = (*Model)(nil)

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

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestModels checks each kind of model against its definition. In batches of any size the losses have the same bits as
// alone, and a query without a loss does not affect the others. Figures of all samples agree with the losses.
func TestModels(t *testing.T) {
	two, three, seven, number, lives := random(60, 9, 2, 4), random(60, 9, 3, 4), random(60, 9, 7, 4), targets(60, 9, 4), observed(60, 9, 4)
	for _, c := range []struct {
		spec ModelSpec
		data *Data
		dim  int
	}{
		{ModelSpec{SoftmaxModel, 0}, two, 9}, {ModelSpec{SoftmaxModel, 0}, three, 27}, {ModelSpec{SoftmaxModel, 0}, seven, 63},
		{ModelSpec{SoftmaxModel, 0}, random(60, 784, 2, 1), 784}, {ModelSpec{SoftmaxModel, 0}, random(60, 1, 2, 1), 1},
		{ModelSpec{PerceptronModel, 1}, two, 11}, {ModelSpec{PerceptronModel, 5}, two, 51}, {ModelSpec{PerceptronModel, 4}, three, 51},
		{ModelSpec{PerceptronModel, MaxHidden}, seven, MaxHidden*9 + 7*(MaxHidden+1)},
		{ModelSpec{LinearModel, 0}, number, 9}, {ModelSpec{PerceptronModel, 1}, number, 11}, {ModelSpec{PerceptronModel, 7}, number, 71},
		{ModelSpec{HazardsModel, 0}, lives, 13},
	} {
		t.Run(fmt.Sprint(c.spec, " ", c.dim), func(t *testing.T) {
			ctx, m, most := t.Context(), c.spec.New(c.data), 1.0
			if c.data == lives {
				most = survival.MostLoss
			}
			if m.Dim() != c.dim || c.spec.Dim(c.data.Dim, c.data.outputs()) != c.dim || m.Len() != 60 {
				t.Errorf("%d parameters, want %d; %d samples", m.Dim(), c.dim, m.Len())
			}
			scales := []float64{0, 0.01, 0.3, 1, 1e6}
			var points [][]float32
			for _, scale := range scales {
				points = append(points, parameters(m.Dim(), scale*min(1, 3/math.Sqrt(float64(c.data.Dim))), 8))
			}
			var queries []zoest.Query
			var want []float64
			mean := make([]float64, len(points))
			for i := range m.Len() {
				for k, x := range points {
					got, err := m.Loss(ctx, x, i)
					if err != nil || !(got >= 0 && got <= most) {
						t.Fatalf("scale %v: loss %v, %v", scales[k], got, err)
					}
					if ref := reference(m, x, i); scales[k] < 1e3 && math.Abs(got-ref) > 2e-4*max(1, ref) {
						t.Errorf("scale %v, sample %d: loss %v, want %v", scales[k], i, got, ref)
					}
					queries, want = append(queries, zoest.Query{Point: x, Sample: i}), append(want, got)
					mean[k] += got / 60
				}
			}
			for k, x := range points {
				near(t, "mean loss", m.MeanLoss(x), mean[k])
			}
			for _, window := range []int{1, 7, survival.Batch, len(queries)} {
				var got []float64
				for part := range slices.Chunk(queries, window) {
					losses := make([]float64, len(part))
					if err := m.Losses(ctx, part, losses); err != nil {
						t.Fatal(err)
					}
					got = append(got, losses...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("batches of %d have other losses", window)
				}
			}
			got := make([]float64, len(queries))
			if n := testing.AllocsPerRun(10, func() { m.Losses(ctx, queries, got) }); n != 0 {
				t.Errorf("%v allocations a batch, want none", n)
			}
			x := points[2]
			for i, bad := range []zoest.Query{{Point: x, Sample: -1}, {Point: x[1:]}, {Point: x, Sample: 60}, {}} {
				queries[3*i+1], want[3*i+1] = bad, math.NaN()
				if _, err := m.Loss(ctx, bad.Point, bad.Sample); err == nil {
					t.Errorf("%d parameters, sample %d: no error", len(bad.Point), bad.Sample)
				}
			}
			if err := m.Losses(ctx, queries, got); err != nil || digest(got...) != digest(want...) {
				t.Errorf("with bad queries %v, want %v, and %v", got, want, err)
			}
			if err := tinytest.TestOracle(m, m.Dim(), m.Len()); err != nil {
				t.Error(err)
			}
			scores, err := m.Judge(x)
			if err != nil || (scores.Classes == nil) != math.IsNaN(m.Accuracy(x)) || (scores.Numbers != nil) != (c.data == number) ||
				(scores.Survival != nil) != (c.data == lives) {
				t.Fatalf("%+v, %v, accuracy %v", scores, err, m.Accuracy(x))
			}
			if s := scores.Classes; s != nil {
				near(t, "accuracy", s.Accuracy.Value, m.Accuracy(x))
				near(t, "majority", s.Majority, m.Majority())
				if (s.Binary != nil) != (c.data.Classes == 2) {
					t.Errorf("%d classes: %+v", c.data.Classes, s.Binary)
				} else if s.Binary != nil { // with two classes the loss is the squared error of the probability
					near(t, "Brier", s.Binary.Brier.Value, mean[2])
				}
			}
			if _, err := m.Judge(x[1:]); err == nil || !math.IsNaN(m.Accuracy(x[1:])) || !math.IsNaN(m.MeanLoss(x[1:])) {
				t.Error("figures without all parameters")
			}
			x[0] = float32(math.NaN())
			if got, err := m.Judge(x); err == nil || !strings.Contains(err.Error(), "sample 1 has numbers too large") {
				t.Errorf("with a NaN: %+v, %v", got, err)
			}
		})
	}
}

// TestModelFaults checks that a model that cannot be, or has no valid data, has no losses and says why.
func TestModelFaults(t *testing.T) {
	softmax, linear := ModelSpec{Name: SoftmaxModel}, ModelSpec{Name: LinearModel}
	good, number, lives, nan := random(9, 2, 2, 1), targets(9, 2, 1), observed(9, 2, 1), math.NaN()
	with := func(d *Data, change func(*Data)) *Data {
		c := *d
		change(&c)
		return &c
	}
	for want, m := range map[string]struct {
		spec ModelSpec
		data *Data
	}{
		"the data set has no samples":                     {softmax, nil},
		"data set has no samples":                         {ModelSpec{PerceptronModel, 2}, &Data{Dim: 1, Classes: 2}},
		"data set has 0 numbers in X":                     {softmax, &Data{Y: []int{0, 1}, Classes: 2}},
		"data set has 3 numbers in X, want 2 samples x 2": {softmax, &Data{X: make([]float32, 3), Y: []int{0, 1}, Dim: 2, Classes: 2}},
		"data set has 5 numbers in X, want 2 samples x 2": {softmax, &Data{X: make([]float32, 5), Y: []int{0, 1}, Dim: 2, Classes: 2}},
		"data set has 1 classes, want at least 2":         {softmax, &Data{X: make([]float32, 2), Y: []int{0, 0}, Dim: 1, Classes: 1}},
		"sample 1 has class 2, want 0 to 1":               {softmax, with(good, func(d *Data) { d.Y = []int{0, 2, 0, 0, 0, 0, 0, 0, 0} })},
		"sample 1 has class -1":                           {softmax, with(good, func(d *Data) { d.Y = []int{0, -1, 0, 0, 0, 0, 0, 0, 0} })},
		"data set has 9 targets":                          {linear, with(number, func(d *Data) { d.Range = nil })},
		"data set has 8 targets":                          {linear, with(number, func(d *Data) { d.Target = d.Target[1:] })},
		"data set has 0 targets":                          {softmax, with(number, func(d *Data) { d.Target = nil })},
		"data set with targets also needs a valid Range":  {linear, with(number, func(d *Data) { d.Range = &Range{1, 1} })},
		"9 targets, want 9 (one finite numbe":             {linear, with(number, func(d *Data) { d.Range = &Range{nan, 1} })},
		"one finite number for each sample":               {linear, with(number, func(d *Data) { d.Target = append(slices.Clone(d.Target[1:]), nan) })},
		"data set has 9 times and 3 classes":              {ModelSpec{Name: HazardsModel}, with(lives, func(d *Data) { d.Classes = 3 })},
		"model is softmax, want linear":                   {softmax, number},
		"model is softmax, want hazards":                  {softmax, lives},
		"model is linear, want softmax":                   {linear, good},
		"model linear has 3 hidden units":                 {ModelSpec{LinearModel, 3}, number},
		"model softmax has 2 hidden units, want none":     {ModelSpec{SoftmaxModel, 2}, good},
		"perceptron has 0 hidden units, want 1 to 256":    {ModelSpec{PerceptronModel, 0}, good},
		"perceptron has 257 hidden units, want 1 to 256":  {ModelSpec{PerceptronModel, 257}, good},
		`model "tree", want softmax or perceptron`:        {ModelSpec{Name: "tree"}, good},
	} {
		model, x, losses := m.spec.New(m.data), make([]float32, 2), []float64{0}
		if _, err := model.Loss(t.Context(), x, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
		if err := model.Losses(t.Context(), []zoest.Query{{Point: x}}, losses); err == nil || !math.IsNaN(losses[0]) {
			t.Errorf("%s: losses %v, %v", want, losses, err)
		}
		if _, err := model.Judge(x); err == nil || !math.IsNaN(model.Accuracy(nil)) || model.Majority() != 0 || model.Dim() != 0 || model.Len() != 0 {
			t.Errorf("%s: the model has figures", want)
		}
		if m.data.check() != nil {
			_, err := FitStandardizer(m.data)
			if _, err2 := FitPCA(m.data, 1); err == nil || err2 == nil {
				t.Errorf("%s: preprocessing is fitted", want)
			}
		}
	}
}

// TestGoldenLosses pins the losses and errors on generated data, which must have the same bits on every processor and in every
// version.
func TestGoldenLosses(t *testing.T) {
	d := targets(200, 33, 11)
	for spec, want := range map[ModelSpec]uint64{{LinearModel, 0}: 0x43250e26b3fddea2, {PerceptronModel, 1}: 0x7a1c242832de518f, {PerceptronModel, 7}: 0x22cbda12fc77edd3} {
		m, all := spec.New(d), []float64(nil)
		for k := range 20 {
			x := parameters(m.Dim(), math.Pow(10, float64(k%5-3)), uint64(k))
			for i := range d.Y {
				all = append(all, m.loss(x, i))
			}
			scores := must(m.Judge(x))(t)
			all = append(all, scores.Numbers.RMSE.Value, scores.Numbers.MAE.Value, m.MeanLoss(x))
		}
		if got := digest(all...); got != want {
			t.Errorf("%v: digest %#x, want %#x as on every processor", spec, got, want)
		}
	}
	var all []float64
	for _, dim := range []int{1, 5, 39, 130} {
		m := ModelSpec{Name: HazardsModel}.New(observed(40, dim, uint64(dim)))
		for i := range m.Len() {
			all = append(all, m.loss(parameters(m.Dim(), 0.5, uint64(i)), i))
		}
	}
	if got, want := digest(all...), uint64(0xda0868fb17e33632); got != want {
		t.Errorf("hazards: digest %#x, want %#x", got, want)
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

func TestAccuracy(t *testing.T) {
	nan := float32(math.NaN())
	two := NewSoftmax(&Data{X: []float32{1, -1, 2, -3}, Y: []int{1, 0, 0, 0}, Dim: 1, Classes: 2})
	three := NewSoftmax(&Data{X: []float32{1, -1, 2, 1}, Y: []int{2, 0, 2, 1}, Dim: 1, Classes: 3})
	// Two units, act(1-a) and act(a-1) with act(z) = max(z, z/8): their sum is 7/8 |1-a|, which distinguishes a = 1
	// from a = 0 and a = 2.
	fold := ModelSpec{PerceptronModel, 2}.New(&Data{X: []float32{0, 1, 1, 1, 2, 1}, Y: []int{1, 0, 1}, Dim: 2, Classes: 2})
	for name, c := range map[string]struct {
		model *Model
		x     []float32
		want  float64
	}{
		"two":                   {two, []float32{5}, 0.75},
		"two, reversed":         {two, []float32{-5}, 0.25},
		"two, undecided":        {two, []float32{0}, 0.75},
		"two, NaN":              {two, []float32{nan}, 0},
		"three":                 {three, []float32{-1, 0, 1}, 0.75},
		"three, equal":          {three, []float32{0, 0, 0}, 0.25},
		"three, one NaN":        {three, []float32{-1, nan, 1}, 0},
		"three, overflow":       {three, []float32{-1, -3e38, 3e38}, 0.5},
		"units":                 {fold, []float32{-1, 1, 1, -1, 8, 8, -1}, 1},
		"units, no class 1":     {fold, []float32{-1, 1, 1, -1, 8, 8, -100}, 1.0 / 3},
		"units, class 1 or NaN": {fold, []float32{nan, 1, 1, -1, 8, 8, -100}, 0},
	} {
		if got := c.model.Accuracy(c.x); got != c.want {
			t.Errorf("%s: accuracy %v, want %v", name, got, c.want)
		}
	}
}

// TestPerceptronInit checks that, at the zero vector, no weight alone changes the loss, and that the vector that Start
// returns has no zero weight. That vector depends only on sizes and seed, and has the same bits on every processor.
func TestPerceptronInit(t *testing.T) {
	d := random(50, 6, 2, 3)
	spec := ModelSpec{PerceptronModel, 8}
	p := spec.New(d)
	for j := range p.Dim() - 1 {
		x := make([]float32, p.Dim())
		x[j] = 3
		if loss, err := p.Loss(t.Context(), x, 0); err != nil || loss != 0.25 {
			t.Errorf("weight %d alone: loss %v, %v", j, loss, err)
		}
	}
	x := spec.Start(6, 2, 7)
	if len(x) != p.Dim() || !slices.Equal(x, spec.Start(6, 2, 7)) || slices.Equal(x, spec.Start(6, 2, 8)) || x[p.Dim()-1] != 0 ||
		slices.Contains(x[:p.Dim()-1], 0) {
		t.Errorf("start %v", x)
	}
	if (ModelSpec{Name: SoftmaxModel}).Start(6, 2, 7) != nil || (ModelSpec{PerceptronModel, 0}).Start(3, 2, 1) != nil {
		t.Error("a start for a model that has none")
	}
	if got := digest(x...); got != goldenInit {
		t.Errorf("start has digest %#x, want %#x", got, uint64(goldenInit))
	}
	big := ModelSpec{PerceptronModel, 100}.Start(100, 5, 1)
	if inner, outer := vec.SumSquares(big[:10000])/100, vec.SumSquares(big[10000:])/5; math.Abs(inner-1) > 0.1 ||
		math.Abs(outer-4) > 1 {
		t.Errorf("squared norms %v and %v of a row, want 1 and 4", inner, outer)
	}
}

// goldenInit is the hash of a start vector. It must never change, because nodes of different versions may start the
// same run.
const goldenInit = 0x5f88656e003de435
