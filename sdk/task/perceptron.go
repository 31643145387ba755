package task

import (
	"context"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// MaxHidden is the largest number of hidden units of a [Perceptron].
const MaxHidden = 256

// leak is the slope of a hidden unit below zero.
const leak = 0.125

// Perceptron is a model with one layer of hidden units, and the loss of [Softmax] behind it, in [0, 1]: it learns what no
// linear rule tells apart. With a sample a and its class y,
//
//	f(x) = 1/2 |softmax(V (act(W a), 1)) - y|², act(z) = z above zero, z/8 below.
//
// The parameter vector x is W by rows, one row of Data.Dim weights for each hidden unit, then V by rows, one row for each
// class with a weight for each unit and a constant at the end. Two classes need one row of V only, as in Softmax. A
// hidden unit has a constant of its own if the data have a column of ones ([Data.WithBias]).
//
// The leaky rectifier (Maas, Hannun and Ng, "Rectifier nonlinearities improve neural network acoustic models", 2013) has
// the same bits on every processor. With single-point queries it learned XOR where tanh, z/sqrt(1+z²) and softsign were far from
// it, and Alzheimer's data better than the plain rectifier and nearly as well as tanh.
//
// At x = 0 no weight alone changes the loss, so a run must not start there: Init gives a start.
//
// It is one client's oracle over that client's samples, safe for use by several goroutines at once.
type Perceptron struct {
	data   *Data
	hidden int
	linear linear // from the units and a one to the classes
	err    error  // of a model that has no loss
}

// units holds the outputs of the hidden layer and a one behind them.
type units [MaxHidden + 1]float32

// NewPerceptron returns the model with 1 to [MaxHidden] hidden units over a data set, which it keeps and which must not
// change. Another number of units, or a data set of which [NewSoftmax] would make no model, is reported by Loss.
func NewPerceptron(d *Data, hidden int) *Perceptron {
	err := d.check()
	if err == nil {
		err = ModelSpec{Name: PerceptronModel, Hidden: hidden}.Validate()
	}
	if err != nil {
		return &Perceptron{data: &Data{}, err: err}
	}
	return &Perceptron{data: d, hidden: hidden, linear: linear{classes: d.Classes, dim: hidden + 1}}
}

// Dim returns the number of parameters: Data.Dim for each hidden unit, and one more than there are units for each class, or
// for both if there are two.
func (p *Perceptron) Dim() int { return p.inner() + p.linear.parameters() }

// inner returns how many parameters belong to the hidden units.
func (p *Perceptron) inner() int { return p.hidden * p.data.Dim }

// Len returns the number of samples.
func (p *Perceptron) Len() int { return p.data.Len() }

// Loss returns the loss of parameters x at a sample, in [0, 1]; it is NaN only if a parameter is NaN or products
// overflow. It fails if x has another length than Dim or sample is not in [0, Len). It returns at once and pays no
// attention to ctx, allocates nothing, and neither changes nor keeps x.
func (p *Perceptron) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if err := p.check(x); err != nil {
		return 0, err
	}
	if sample < 0 || sample >= p.Len() {
		return 0, fmt.Errorf("task: loss of sample %d, want 0 to %d", sample, p.Len()-1)
	}
	var u units
	return p.loss(&u, x, sample), nil
}

// MeanLoss returns the mean of the loss over all samples, and NaN where Loss would fail.
func (p *Perceptron) MeanLoss(x []float32) float64 {
	if p.check(x) != nil {
		return math.NaN()
	}
	var u units
	sum := 0.0
	for i := range p.data.Y {
		sum += p.loss(&u, x, i)
	}
	return sum / float64(p.Len())
}

// Accuracy returns the share of samples, in [0, 1], whose most probable class is their own, as that of [Softmax] does.
func (p *Perceptron) Accuracy(x []float32) float64 {
	if p.check(x) != nil {
		return math.NaN()
	}
	var u units
	right := 0
	for i, class := range p.data.Y {
		if p.linear.predict(x[p.inner():], p.activate(&u, x, i)) == class {
			right++
		}
	}
	return float64(right) / float64(p.Len())
}

// Init returns a start for all clients of a run, new each time: a function of the model's sizes and the seed alone, with the
// same bits on every processor. Weights are normal, and so large that on columns with a mean square of one a unit's input
// has variance 1 and a class's about 2: output weights have twice the variance of He et al., "Delving deep into
// rectifiers", 2015, since single-point queries learned faster from there. Constants are 0. It returns nil where Loss would
// fail.
func (p *Perceptron) Init(seed uint64) []float32 {
	if p.err != nil {
		return nil
	}
	return perceptronStart(p.hidden, p.data.Dim, p.Dim(), seed)
}

// perceptronStart is Init for so many hidden units, columns and parameters.
func perceptronStart(hidden, columns, dim int, seed uint64) []float32 {
	s := rng.New(seed, rng.Address{Purpose: rng.Start})
	inner, outer := 1/math.Sqrt(float64(columns)), 2/math.Sqrt(float64(hidden))
	x := make([]float32, dim)
	for j := range x {
		switch after := j - hidden*columns; {
		case after < 0:
			x[j] = float32(inner * s.Normal())
		case after%(hidden+1) != hidden:
			x[j] = float32(outer * s.Normal())
		}
	}
	return x
}

func (p *Perceptron) check(x []float32) error {
	if p.err != nil {
		return p.err
	}
	if len(x) != p.Dim() {
		return fmt.Errorf("task: %d parameters, want %d", len(x), p.Dim())
	}
	return nil
}

func (p *Perceptron) loss(u *units, x []float32, sample int) float64 {
	return p.linear.loss(x[p.inner():], p.activate(u, x, sample), p.data.Y[sample])
}

// activate stores what the hidden units put out for a sample, and returns the part of u that holds it.
func (p *Perceptron) activate(u *units, x []float32, sample int) []float32 {
	a := p.data.Row(sample)
	for h := range p.hidden {
		z := vec.Dot(x[h*len(a):(h+1)*len(a)], a)
		if z < 0 {
			z *= leak
		}
		u[h] = float32(z)
	}
	u[p.hidden] = 1
	return u[:p.hidden+1]
}
