package main

import (
	"context"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/adapter"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// The network has 784 inputs, 128 hidden units with max(0, z), and 10 softmax outputs: 101,770 parameters in one
// slice. The weights of an input are adjacent, so that the many black pixels of a digit cost nothing.
const (
	pixels, hidden, classes = 784, 128, 10

	atBias    = pixels * hidden
	atWeights = atBias + hidden
	atOffsets = atWeights + classes*hidden
	params    = atOffsets + classes
)

// digit is an image, stored as the pixels that are not black, and a label.
type digit struct {
	at    []int
	ink   []float32 // values of these pixels, in (0, 1]
	label int
}

// forward returns the hidden units and the output probabilities for a digit.
func forward(x []float32, d *digit) (h [hidden]float32, p [classes]float64) {
	copy(h[:], x[atBias:])
	for i, pixel := range d.at {
		vec.Axpy(h[:], d.ink[i], x[pixel*hidden:][:hidden])
	}
	for i, v := range h {
		h[i] = max(0, v)
	}
	top, sum := math.Inf(-1), 0.0
	for k := range p {
		p[k] = vec.Dot(h[:], x[atWeights+k*hidden:][:hidden]) + float64(x[atOffsets+k])
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

// loss is the cross-entropy of a digit, at most 20.
func loss(x []float32, d *digit) float64 {
	_, p := forward(x, d)
	return -vec.Log(max(p[d.label], 2e-9))
}

func accuracy(x []float32, digits []digit) float64 {
	right := 0
	for i := range digits {
		_, p := forward(x, &digits[i])
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

// learn subtracts step times the gradient of one digit's cross-entropy at x from y. No device in this example computes
// gradients; they only train the frozen network and yield upper bounds on the accuracy.
func learn(y, x []float32, d *digit, step float32) {
	h, p := forward(x, d)
	var back [hidden]float32
	for k, v := range p {
		g := float32(v)
		if k == d.label {
			g--
		}
		vec.Axpy(back[:], g, x[atWeights+k*hidden:][:hidden])
		vec.Axpy(y[atWeights+k*hidden:][:hidden], -step*g, h[:])
		y[atOffsets+k] -= step * g
	}
	for i, v := range h {
		if v == 0 {
			back[i] = 0
		}
	}
	vec.Axpy(y[atBias:][:hidden], -step, back[:])
	for i, pixel := range d.at {
		vec.Axpy(y[pixel*hidden:][:hidden], -step*d.ink[i], back[:])
	}
}

// pretrain returns a network that was trained from a random start, one digit at a time, with passes passes over digits.
func pretrain(digits []digit, passes int) []float32 {
	draw := rng.New(1, rng.Address{Purpose: rng.Start})
	x := make([]float32, params)
	for i := range atBias {
		x[i] = float32(0.05 * draw.Normal())
	}
	for i := atWeights; i < atOffsets; i++ {
		x[i] = float32(0.1 * draw.Normal())
	}
	return tune(x, digits, passes)
}

// tune returns a copy of a network that was trained further on digits, with gradients of all parameters.
func tune(from []float32, digits []digit, passes int) []float32 {
	x := append([]float32(nil), from...)
	draw := rng.New(2, rng.Address{Purpose: rng.Batch})
	for range passes * len(digits) {
		learn(x, x, &digits[draw.IntN(len(digits))], 0.02)
	}
	return x
}

// tuneAdapter trains an adapter on digits with gradients, by Adam with batches of 64. It returns the adapter's numbers.
func tuneAdapter(a *adapter.Adapter, digits []digit, steps int) []float32 {
	d := a.Spec().Dim
	columns := columnsOf(a)
	c, x, g := make([]float32, d), make([]float32, params), make([]float32, params)
	m, v := make([]float64, d), make([]float64, d)
	draw := rng.New(3, rng.Address{Purpose: rng.Batch})
	fade1, fade2 := 1.0, 1.0
	for range steps {
		a.Expand(x, c)
		clear(g)
		for range 64 {
			learn(g, x, &digits[draw.IntN(len(digits))], -1.0/64)
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
	d := a.Spec().Dim
	zero, x, c := make([]float32, params), make([]float32, params), make([]float32, d)
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

type member []digit

// Loss returns the loss of one digit.
func (m member) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	return loss(x, &m[sample]), nil
}
