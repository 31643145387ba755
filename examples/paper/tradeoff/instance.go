package tradeoff

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Sizes in the paper's comparison, except Samples, which the paper does not state.
const (
	Clients = 20 // N, on a cycle
	Dim     = 20 // d
	Samples = 20 // m of each client
)

// startNorm is |x_0|: far enough from the minimum to leave something to learn, and close enough that the sigmoid is not
// flat.
const startNorm = 3

// flip is the probability that a label is flipped.
const flip = 0.1

// Instance is a problem instance: F(x) is the mean over clients i and samples h of f_ih(x) = (sigmoid(a_ih.x) -
// y_ih)^2. F is bounded, smooth and nonconvex. All clients start at the same point.
type Instance struct {
	X0 []float32 // x_0, length Dim

	a [Clients][Samples][Dim]float64 // of norm 1
	y [Clients][Samples]float64      // 0 or 1
}

// NewInstance draws the problem instance for a seed, from the generator in package zoest/rng with the purpose Generate.
// A common direction c with standard normal coordinates separates two classes. The mean of each client is c + v/2,
// where v is a standard normal vector. For each sample, a fair coin selects this mean or its negative; the features are
// the selected vector plus w/2, scaled to length 1, where w is another standard normal vector. The label is the outcome
// of the coin, flipped with probability 0.1. x_0 is a random direction scaled to length 3.
func NewInstance(seed uint64) *Instance {
	p := new(Instance)
	s := rng.New(seed, rng.Address{Purpose: rng.Generate, Round: 1})
	var x0, common [Dim]float64
	normal(&s, &x0)
	normal(&s, &common)
	scale(&x0, startNorm)
	p.X0 = make([]float32, Dim)
	for c, v := range x0 {
		p.X0[c] = float32(v)
	}
	for i := range p.a {
		s := rng.New(seed, rng.Address{Purpose: rng.Generate, Round: 2, Client: uint32(i)})
		var own [Dim]float64
		normal(&s, &own)
		for c := range own {
			own[c] = common[c] + own[c]/2
		}
		for h := range p.a[i] {
			a := &p.a[i][h]
			sign := float64(2*s.IntN(2) - 1)
			normal(&s, a)
			for c := range a {
				a[c] = float64(sign*own[c]) + a[c]/2
			}
			scale(a, 1)
			if (sign > 0) == (s.Float64() >= flip) {
				p.y[i][h] = 1
			}
		}
	}
	return p
}

func normal(s *rng.Stream, x *[Dim]float64) {
	for c := range x {
		x[c] = s.Normal()
	}
}

func scale(x *[Dim]float64, length float64) {
	factor := length / math.Sqrt(dot(x, x))
	for c := range x {
		x[c] *= factor
	}
}

func dot(a, b *[Dim]float64) float64 {
	var sum float64
	for c, v := range a {
		sum += float64(v * b[c])
	}
	return sum
}

func sigmoid(z float64) float64 { return 1 / (1 + vec.Exp(-z)) }

// Loss returns f_ih(x) for client i and sample h. x has length Dim.
func (p *Instance) Loss(i, h int, x []float32) float64 {
	var z float64
	for c, a := range &p.a[i][h] {
		z += float64(a * float64(x[c]))
	}
	r := sigmoid(z) - p.y[i][h]
	return float64(r * r)
}

// Gradient stores grad F(x) in g and returns its squared norm. It is used only for measurements; no client sees a
// gradient.
func (p *Instance) Gradient(g, x *[Dim]float64) float64 {
	*g = [Dim]float64{}
	for i := range p.a {
		for h := range p.a[i] {
			a := &p.a[i][h]
			s := sigmoid(dot(a, x))
			w := 2 * (s - p.y[i][h]) * s * (1 - s)
			for c, v := range a {
				g[c] += float64(w * v)
			}
		}
	}
	for c := range g {
		g[c] /= Clients * Samples
	}
	return dot(g, g)
}

// start returns |grad F(x_0)|^2.
func (p *Instance) start() float64 {
	var x, g [Dim]float64
	for c, v := range p.X0 {
		x[c] = float64(v)
	}
	return p.Gradient(&g, &x)
}

// watch is the oracle of one client. It also derives the client's iterates phi from the points phi + mu*u at which it
// is queried. Every coordinate of u is 1 or -1, because directions are Rademacher vectors.
type watch struct {
	p      *Instance
	client int
	mu     float64
	batch  int

	asked int            // queries in this round, including those that fill the table
	phi   [][Dim]float64 // phi^t of this round's steps so far; phi[0] is the model from which the round starts
	low   [Dim]float64   // smallest and largest coordinates of the current step's query points
	high  [Dim]float64
}

// begin must be called before each round with the round's initial model.
func (w *watch) begin(x []float32) {
	w.asked = 0
	for c, v := range x {
		w.phi[0][c] = float64(v)
	}
}

// Loss implements zoest.Oracle.
func (w *watch) Loss(_ context.Context, x []float32, h int) (float64, error) {
	if step := (w.asked - Samples) / w.batch; w.asked >= Samples && step > 0 {
		if err := w.read(step, (w.asked-Samples)%w.batch, x); err != nil {
			return 0, err
		}
	}
	w.asked++
	return w.p.Loss(w.client, h, x), nil
}

// errFar means that the steps of a run are too long to derive the iterates from the queries.
var errFar = errors.New("the step is too long to derive the client's model from the queries")

// read processes query number n of a step. In each coordinate, if two directions of the step differ, phi is the
// midpoint of the query points. If all directions agree, all query points have the same coordinate, and phi is mu away
// from it, on the side where phi was in the previous step. This is correct as long as phi moves by less than mu per
// step. To be safe, a move of more than mu/2 is an error.
func (w *watch) read(step, n int, x []float32) error {
	for c, v := range x {
		v := float64(v)
		if n == 0 {
			w.low[c], w.high[c] = v, v
		} else {
			w.low[c], w.high[c] = min(w.low[c], v), max(w.high[c], v)
		}
	}
	if n < w.batch-1 {
		return nil
	}
	for c := range w.low {
		before := w.phi[step-1][c]
		phi := (w.low[c] + w.high[c]) / 2
		if w.high[c]-w.low[c] < w.mu {
			if phi > before {
				phi -= w.mu
			} else {
				phi += w.mu
			}
			if moved := math.Abs(phi - before); moved > w.mu/2 {
				return fmt.Errorf("tradeoff: client %d moved by %v in step %d, want at most half of mu (%v): %w",
					w.client, moved, step, w.mu, errFar)
			}
		}
		w.phi[step][c] = phi
	}
	return nil
}
