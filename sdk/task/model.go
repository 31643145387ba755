package task

import (
	"context"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// The built-in models, see [ModelSpec].
const (
	SoftmaxModel    = "softmax"
	PerceptronModel = "perceptron"

	MaxHidden = 256 // the largest number of hidden units of a perceptron
)

// leak is the slope of a hidden unit below zero.
const leak = 0.125

// ModelSpec names a built-in model. For a sample a whose class has the indicator vector y, the losses are in [0, 1]:
//
//	softmax     f(x) = 1/2 |softmax(W a) - y|², the squared probability loss of the paper, section III-B
//	perceptron  f(x) = 1/2 |softmax(V (act(W a), 1)) - y|², act(z) = z above zero, z/8 below
//
// The parameter vector x is W by rows, then V by rows. W has Data.Dim weights for each class or hidden unit, V has for
// each class a weight for each unit and a constant. For two classes, the last matrix has one row only, the weights of
// class 1 against class 0: with p the sigmoid of their product with the input, the same loss reads (p - y)² for y = 0
// or 1.
//
// A perceptron separates classes that no linear rule separates. Its hidden units have a constant of their own if the
// data have a column of ones ([Data.WithBias]). The leaky rectifier (Maas, Hannun and Ng, "Rectifier nonlinearities
// improve neural network acoustic models", 2013) has the same bits on every processor. With single-point queries it
// learned XOR where tanh, z/sqrt(1+z²) and softsign were far from it.
type ModelSpec struct {
	Name   string // "softmax" or "perceptron"
	Hidden int    // hidden units: 1 to [MaxHidden] for a perceptron, 0 for softmax
}

// Validate reports an unknown name, and a number of hidden units that does not go with the name.
func (m ModelSpec) Validate() error {
	switch {
	case m.Name != SoftmaxModel && m.Name != PerceptronModel:
		return fmt.Errorf("task: model %q, want %s or %s", m.Name, SoftmaxModel, PerceptronModel)
	case m.Name == SoftmaxModel && m.Hidden != 0:
		return fmt.Errorf("task: softmax with %d hidden units, want none: it is a linear model", m.Hidden)
	case m.Name == PerceptronModel && (m.Hidden < 1 || m.Hidden > MaxHidden):
		return fmt.Errorf("task: perceptron of %d hidden units, want 1 to %d", m.Hidden, MaxHidden)
	}
	return nil
}

// String names the model for people.
func (m ModelSpec) String() string {
	if m.Hidden > 0 {
		return fmt.Sprintf("%s of %d hidden units", m.Name, m.Hidden)
	}
	return m.Name
}

// Dim returns the number of parameters for data with the given numbers of columns and classes.
func (m ModelSpec) Dim(columns, classes int) int {
	return m.Hidden*columns + m.head(columns, classes).parameters()
}

// head returns the linear classifier behind the hidden units, or on the columns themselves.
func (m ModelSpec) head(columns, classes int) linear {
	if m.Hidden > 0 {
		columns = m.Hidden + 1
	}
	return linear{classes: classes, dim: columns}
}

// Start returns the common start of a run, a function of the model's sizes and the seed. For softmax it is nil, which
// stands for zeros. A perceptron must not start at zeros, where no single weight changes the loss. Its weights are
// normal, and so large that on columns with a mean square of 1 a unit's input has variance 1 and a class's about 2:
// output weights have twice the variance of He et al., "Delving deep into rectifiers", 2015, since single-point queries
// learned faster from there. Constants are 0. Start returns nil for a spec that is not valid.
func (m ModelSpec) Start(columns, classes int, seed uint64) []float32 {
	if m.Name != PerceptronModel || m.Validate() != nil {
		return nil
	}
	s := rng.New(seed, rng.Address{Purpose: rng.Start})
	inner, outer := 1/math.Sqrt(float64(columns)), 2/math.Sqrt(float64(m.Hidden))
	x := make([]float32, m.Dim(columns, classes))
	for j := range x {
		switch after := j - m.Hidden*columns; {
		case after < 0:
			x[j] = float32(inner * s.Normal())
		case after%(m.Hidden+1) != m.Hidden:
			x[j] = float32(outer * s.Normal())
		}
	}
	return x
}

// Model is a built-in model over a data set: one client's oracle over that client's samples. It is safe for concurrent
// use.
type Model struct {
	spec ModelSpec
	data *Data
	head linear
	err  error // of a model that has no loss
}

// New returns the model over a data set, which it keeps and which must not change. A spec that is not valid, and a data
// set that is empty, has fewer than two classes or does not fit its own sizes, are reported by Loss.
func (m ModelSpec) New(d *Data) *Model {
	err := d.check()
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return &Model{data: &Data{}, err: err}
	}
	return &Model{spec: m, data: d, head: m.head(d.Dim, d.Classes)}
}

// NewSoftmax returns the softmax model over a data set, see [ModelSpec.New].
func NewSoftmax(d *Data) *Model { return ModelSpec{Name: SoftmaxModel}.New(d) }

// Dim returns the number of parameters.
func (m *Model) Dim() int { return m.inner() + m.head.parameters() }

// inner returns the number of parameters of the hidden units.
func (m *Model) inner() int { return m.spec.Hidden * m.data.Dim }

// Len returns the number of samples.
func (m *Model) Len() int { return m.data.Len() }

// Loss returns the loss of parameters x at a sample, in [0, 1]; it is NaN only if a parameter is NaN or products
// overflow. It fails if x has another length than Dim or sample is not in [0, Len). It ignores ctx, allocates nothing,
// and neither changes nor keeps x.
func (m *Model) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if err := m.check(x); err != nil {
		return 0, err
	}
	if sample < 0 || sample >= m.Len() {
		return 0, fmt.Errorf("task: loss of sample %d, want 0 to %d", sample, m.Len()-1)
	}
	return m.loss(x, sample), nil
}

// MeanLoss returns the mean of the loss over all samples, and NaN where Loss would fail.
func (m *Model) MeanLoss(x []float32) float64 {
	if m.check(x) != nil {
		return math.NaN()
	}
	sum := 0.0
	for i := range m.data.Y {
		sum += m.loss(x, i)
	}
	return sum / float64(m.Len())
}

// Accuracy returns the share of samples, in [0, 1], whose most probable class is their own. Of equally probable classes
// the first counts, and a NaN is never right. It returns NaN where Loss would fail.
func (m *Model) Accuracy(x []float32) float64 {
	if m.check(x) != nil {
		return math.NaN()
	}
	right := 0
	for i, class := range m.data.Y {
		if m.predict(x, i) == class {
			right++
		}
	}
	return float64(right) / float64(m.Len())
}

func (m *Model) check(x []float32) error {
	if m.err == nil && len(x) != m.Dim() {
		return fmt.Errorf("task: %d parameters, want %d", len(x), m.Dim())
	}
	return m.err
}

func (m *Model) loss(x []float32, sample int) float64 {
	if m.spec.Hidden == 0 {
		return m.head.loss(x, m.data.Row(sample), m.data.Y[sample])
	}
	var u units
	return m.head.loss(x[m.inner():], m.activate(&u, x, sample), m.data.Y[sample])
}

func (m *Model) predict(x []float32, sample int) int {
	if m.spec.Hidden == 0 {
		return m.head.predict(x, m.data.Row(sample))
	}
	var u units
	return m.head.predict(x[m.inner():], m.activate(&u, x, sample))
}

// units holds the outputs of the hidden layer and a one behind them.
type units [MaxHidden + 1]float32

// activate stores the outputs of the hidden units for a sample, and returns the part of u that holds them.
func (m *Model) activate(u *units, x []float32, sample int) []float32 {
	a := m.data.Row(sample)
	for h := range m.spec.Hidden {
		z := vec.Dot(x[h*len(a):(h+1)*len(a)], a)
		if z < 0 {
			z *= leak
		}
		u[h] = float32(z)
	}
	u[m.spec.Hidden] = 1
	return u[:m.spec.Hidden+1]
}
