package task

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

func perceptron(d *Data, hidden int) *Model { return ModelSpec{PerceptronModel, hidden}.New(d) }

func (m *Model) start(seed uint64) []float32 { return m.spec.Start(m.data.Dim, m.data.Classes, seed) }

// TestPerceptronInit checks that, at the zero vector, no weight alone changes the loss, and that the vector that Start
// returns has no zero weight. That vector depends only on sizes and seed, and has the same bits on every processor.
func TestPerceptronInit(t *testing.T) {
	d := random(50, 6, 2, 3)
	p := perceptron(d, 8)
	for j := range p.Dim() - 1 {
		x := make([]float32, p.Dim())
		x[j] = 3
		if loss, err := p.Loss(t.Context(), x, 0); err != nil || loss != 0.25 {
			t.Errorf("weight %d alone: loss %v, %v", j, loss, err)
		}
	}
	x := p.start(7)
	if len(x) != p.Dim() || !slices.Equal(x, p.start(7)) || slices.Equal(x, p.start(8)) || x[p.Dim()-1] != 0 ||
		slices.Contains(x[:p.Dim()-1], 0) {
		t.Errorf("start %v", x)
	}
	if spec := (ModelSpec{PerceptronModel, 8}); !slices.Equal(x, spec.Start(6, 2, 7)) ||
		(ModelSpec{Name: SoftmaxModel}).Start(6, 2, 7) != nil {
		t.Error("another start by name")
	}
	if got := digest(x...); got != goldenInit {
		t.Errorf("start has digest %#x, want %#x", got, uint64(goldenInit))
	}
	big := perceptron(random(2, 100, 5, 1), 100).start(1)
	if inner, outer := vec.SumSquares(big[:10000])/100, vec.SumSquares(big[10000:])/5; math.Abs(inner-1) > 0.1 ||
		math.Abs(outer-4) > 1 {
		t.Errorf("squared norms %v and %v of a row, want 1 and 4", inner, outer)
	}
}

// goldenInit is the hash of a start vector. It must never change, because nodes of different versions may start the
// same run.
const goldenInit = 0x5f88656e003de435

func TestPerceptronAccuracy(t *testing.T) {
	// Two units, act(1-a) and act(a-1) with act(z) = max(z, z/8): their sum is 7/8 |1-a|, which distinguishes a = 1
	// from a = 0 and a = 2.
	d := &Data{X: []float32{0, 1, 1, 1, 2, 1}, Y: []int{1, 0, 1}, Dim: 2, Classes: 2}
	p := perceptron(d, 2)
	x := []float32{-1, 1, 1, -1, 8, 8, -1}
	if got := p.Accuracy(x); got != 1 {
		t.Errorf("accuracy %v", got)
	}
	x[6] = -100
	if got := p.Accuracy(x); got != 1.0/3 {
		t.Errorf("accuracy %v with no way to class 1", got)
	}
	x[0] = float32(math.NaN())
	if got := p.Accuracy(x); got > 1.0/3 {
		t.Errorf("accuracy %v with a NaN", got)
	}
}

func TestPerceptronFaults(t *testing.T) {
	p := perceptron(random(5, 3, 4, 1), 2)
	for _, n := range []int{0, 17, 19} {
		if _, err := p.Loss(t.Context(), make([]float32, n), 0); err == nil || !math.IsNaN(p.Accuracy(make([]float32, n))) ||
			!math.IsNaN(p.MeanLoss(make([]float32, n))) {
			t.Errorf("took %d parameters for 18", n)
		}
	}
	for _, i := range []int{-1, 5} {
		if _, err := p.Loss(t.Context(), make([]float32, 18), i); err == nil {
			t.Errorf("took sample %d of 5", i)
		}
	}
	good := random(5, 3, 2, 1)
	for want, m := range map[string]*Model{
		"perceptron has 0 hidden units, want 1 to 256":   perceptron(good, 0),
		"perceptron has 257 hidden units, want 1 to 256": perceptron(good, 257),
		"the data set has no samples":                    perceptron(&Data{}, 2),
		`model "tree", want softmax or perceptron`:       ModelSpec{Name: "tree"}.New(good),
		"model softmax has 2 hidden units, want none":    ModelSpec{SoftmaxModel, 2}.New(good),
	} {
		if _, err := m.Loss(t.Context(), nil, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if m.Dim() != 0 || m.Len() != 0 {
			t.Errorf("%q: %d parameters, %d samples", want, m.Dim(), m.Len())
		}
	}
	if (ModelSpec{PerceptronModel, 0}).Start(3, 2, 1) != nil || perceptron(good, 0).start(1) != nil {
		t.Error("a start for no model")
	}
}
