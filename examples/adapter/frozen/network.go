package frozen

import (
	"context"
	"math"

	"github.com/spade-dfl/spade-edge/examples/adapter"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Network is the size of a network with Side x Side inputs, one hidden layer of Hidden ReLU units, and 10 softmax
// outputs. The parameters are stored in one slice, in which the weights of each input are adjacent, so that the code
// can skip the many black pixels of a digit.
type Network struct{ Side, Hidden int }

// Large has 101,770 parameters. Small has 6,634 parameters and takes digits of 14 x 14 pixels, each the mean of four
// original pixels.
var (
	Large = Network{28, 128}
	Small = Network{14, 32}
)

const classes = 10

// offsets returns the indices at which the biases of the hidden units, the weights of the outputs, and the biases of
// the outputs begin.
func (n Network) offsets() (bias, weights, last int) {
	bias = n.Side * n.Side * n.Hidden
	weights = bias + n.Hidden
	return bias, weights, weights + classes*n.Hidden
}

// Params returns the number of parameters.
func (n Network) Params() int {
	_, _, last := n.offsets()
	return last + classes
}

// Digit is a labeled image of which only the nonblack pixels are stored.
type Digit struct {
	at    []int
	ink   []float32 // values of these pixels, in (0, 1]
	label int
}

// forward returns the activations of the hidden units and the output probabilities for a digit.
func (n Network) forward(x []float32, d *Digit) (h []float32, p [classes]float64) {
	bias, weights, last := n.offsets()
	hidden := n.Hidden
	h = append(h, x[bias:weights]...)
	for i, pixel := range d.at {
		vec.Axpy(h, d.ink[i], x[pixel*hidden:][:hidden])
	}
	for i, v := range h {
		h[i] = max(0, v)
	}
	top, sum := math.Inf(-1), 0.0
	for k := range p {
		p[k] = vec.Dot(h, x[weights+k*hidden:][:hidden]) + float64(x[last+k])
		top = max(top, p[k])
	}
	for k := range p {
		p[k] = vec.Exp(p[k] - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return h, p
}

// loss returns the cross-entropy of a digit, capped at 20.
func (n Network) loss(x []float32, d *Digit) float64 {
	_, p := n.forward(x, d)
	return -vec.Log(max(p[d.label], 2e-9))
}

// Accuracy returns the share of digits that the network with parameters x labels correctly.
func (n Network) Accuracy(x []float32, digits []Digit) float64 {
	right := 0
	for i := range digits {
		_, p := n.forward(x, &digits[i])
		best := 0
		for k, v := range p {
			if v > p[best] {
				best = k
			}
		}
		if best == digits[i].label {
			right++
		}
	}
	return float64(right) / float64(len(digits))
}

// learn computes the gradient of one digit's cross-entropy at x, and subtracts step times this gradient from y. No
// device in this example computes gradients. Gradients serve only to train the frozen network and to find upper bounds
// on the accuracy.
func (n Network) learn(y, x []float32, d *Digit, step float32) {
	h, p := n.forward(x, d)
	bias, weights, last := n.offsets()
	hidden := n.Hidden
	back := make([]float32, hidden)
	for k, v := range p {
		g := float32(v)
		if k == d.label {
			g--
		}
		vec.Axpy(back, g, x[weights+k*hidden:][:hidden])
		vec.Axpy(y[weights+k*hidden:][:hidden], -step*g, h)
		y[last+k] -= step * g
	}
	for i, v := range h {
		if v == 0 {
			back[i] = 0
		}
	}
	vec.Axpy(y[bias:][:hidden], -step, back)
	for i, pixel := range d.at {
		vec.Axpy(y[pixel*hidden:][:hidden], -step*d.ink[i], back)
	}
}

// pretrain trains a network from random initial parameters, one digit at a time, with the given number of passes over
// digits. It returns the network's parameters.
func (n Network) pretrain(digits []Digit, passes int) []float32 {
	draw := rng.New(1, rng.Address{Purpose: rng.Start})
	bias, weights, last := n.offsets()
	x := make([]float32, n.Params())
	for i := range bias {
		x[i] = float32(0.05 * draw.Normal())
	}
	for i := weights; i < last; i++ {
		x[i] = float32(0.1 * draw.Normal())
	}
	return n.Tune(x, digits, passes)
}

// Tune copies the given parameters, continues training the copy, and returns it. It uses gradients with respect to all
// parameters and makes the given number of passes over digits.
func (n Network) Tune(from []float32, digits []Digit, passes int) []float32 {
	x := append([]float32(nil), from...)
	draw := rng.New(2, rng.Address{Purpose: rng.Batch})
	for range passes * len(digits) {
		n.learn(x, x, &digits[draw.IntN(len(digits))], 0.02)
	}
	return x
}

// TuneAdapter trains an adapter by gradient descent, with the given number of Adam steps on batches of 64 digits. It
// returns the values of the adapter's trained numbers.
func (n Network) TuneAdapter(a *adapter.Adapter, digits []Digit, steps int) []float32 {
	d := a.Spec().Dim
	columns := columnsOf(a)
	c, x, g := make([]float32, d), make([]float32, n.Params()), make([]float32, n.Params())
	m, v := make([]float64, d), make([]float64, d)
	draw := rng.New(3, rng.Address{Purpose: rng.Batch})
	fade1, fade2 := 1.0, 1.0
	for range steps {
		a.Expand(x, c)
		clear(g)
		for range 64 {
			n.learn(g, x, &digits[draw.IntN(len(digits))], -1.0/64)
		}
		fade1, fade2 = 0.9*fade1, 0.999*fade2
		for k, column := range columns {
			slope := 0.0
			for _, e := range column {
				slope += float64(e.sign * g[e.at])
			}
			m[k] = 0.9*m[k] + 0.1*slope
			v[k] = 0.999*v[k] + 0.001*slope*slope
			c[k] -= float32(0.01 * m[k] / (1 - fade1) / (math.Sqrt(v[k]/(1-fade2)) + 1e-8))
		}
	}
	return c
}

type entry struct {
	at   int
	sign float32
}

func columnsOf(a *adapter.Adapter) [][]entry {
	d, of := a.Spec().Dim, a.Spec().Of
	zero, x, c := make([]float32, of), make([]float32, of), make([]float32, d)
	a.Expand(zero, c)
	columns := make([][]entry, d)
	for k := range c {
		c[k] = 1024
		a.Expand(x, c)
		c[k] = 0
		for i := range x {
			if diff := x[i] - zero[i]; diff != 0 {
				columns[k] = append(columns[k], entry{i, diff / 1024})
			}
		}
	}
	return columns
}

// Member is the oracle of one member. Queries hold the parameters of the whole network, and sample h is the member's
// h-th digit.
type Member struct {
	Network
	Digits []Digit
}

// Loss returns the cross-entropy of the digit with index sample, capped at 20. x holds the network's parameters.
func (m Member) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	return m.loss(x, &m.Digits[sample]), nil
}
