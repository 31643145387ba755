package data

import (
	"math"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
)

// ceilingSteps is the number of gradient steps of [CeilingModel]. Loss and accuracy converge long before the last step.
const ceilingSteps = 3000

// Ceiling returns the test accuracy of [CeilingModel]. This accuracy serves as a ceiling for methods that see only
// losses and learn from distributed data.
func Ceiling(s Split, logistic bool) float64 {
	return task.NewSoftmax(s.Test).Accuracy(CeilingModel(s.Train, logistic))
}

// CeilingModel trains the model of the experiments, task.NewSoftmax, on all training data in one place. It minimizes
// the squared probability loss or, if logistic is true, the logarithmic loss, by Nesterov's accelerated method with the
// exact full-batch gradient, starting from zero.
func CeilingModel(train *task.Data, logistic bool) []float32 {
	rows := train.Classes
	if rows == 2 {
		rows = 1
	}
	dim := rows * train.Dim
	x, before, y, g := make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
	// Along each row, the curvature of either loss is at most half of the row's squared norm, which is Dim on average.
	// The step is the inverse of this bound.
	step := 2 / float64(train.Dim)
	for t := range ceilingSteps {
		momentum := float64(t) / float64(t+3)
		for j := range y {
			y[j] = x[j] + momentum*(x[j]-before[j])
		}
		gradient(g, y, train, rows, logistic)
		for j := range x {
			before[j], x[j] = x[j], y[j]-step*g[j]
		}
	}
	model := make([]float32, dim)
	for j, v := range x {
		model[j] = float32(v)
	}
	return model
}

// gradient stores in g the mean gradient of the loss at x.
func gradient(g, x []float64, d *task.Data, rows int, logistic bool) {
	clear(g)
	s := slope{p: make([]float64, d.Classes), dz: make([]float64, d.Classes), rows: rows, logistic: logistic}
	for i, class := range d.Y {
		s.add(g, x, d.Row(i), class)
	}
	for j := range g {
		g[j] /= float64(d.Len())
	}
}

// Gradient returns a function that stores in g the gradient, at x, of the squared probability loss of one sample of d,
// for the model task.NewSoftmax. The function is not safe for concurrent use.
func Gradient(d *task.Data) func(g, x []float32, sample int) {
	dim := task.NewSoftmax(d).Dim()
	s := slope{p: make([]float64, d.Classes), dz: make([]float64, d.Classes), rows: dim / d.Dim}
	at, sum := make([]float64, dim), make([]float64, dim)
	return func(g, x []float32, sample int) {
		clear(sum)
		for j, v := range x {
			at[j] = float64(v)
		}
		s.add(sum, at, d.Row(sample), d.Y[sample])
		for j, v := range sum {
			g[j] = float32(v)
		}
	}
}

type slope struct {
	p, dz    []float64 // one number per class
	rows     int
	logistic bool
}

// add adds to g the gradient of one sample's loss at x. a holds the sample's features.
func (s *slope) add(g, x []float64, a []float32, class int) {
	p, dz := s.p, s.dz
	probabilities(p, x, a, s.rows)
	if s.logistic {
		for k := range dz {
			dz[k] = p[k]
		}
		dz[class]--
	} else { // of 1/2 |p - y|^2: p_k (r_k - p.r), with r = p - y
		inner := -p[class]
		for k := range p {
			inner += p[k] * p[k]
		}
		for k := range dz {
			r := p[k]
			if k == class {
				r--
			}
			dz[k] = p[k] * (r - inner)
		}
	}
	if s.rows == 1 {
		for j, v := range a {
			g[j] += dz[1] * float64(v)
		}
		return
	}
	for k := range s.rows {
		for j, v := range a {
			g[k*len(a)+j] += dz[k] * float64(v)
		}
	}
}

// probabilities stores in p the model's class probabilities for a sample with features a.
func probabilities(p, x []float64, a []float32, rows int) {
	largest := 0.0
	for k := range p {
		p[k] = 0
	}
	for k := range rows {
		z := 0.0
		for j, v := range a {
			z += x[k*len(a)+j] * float64(v)
		}
		if rows == 1 {
			k = 1
		}
		p[k] = z
		largest = max(largest, z)
	}
	sum := 0.0
	for k := range p {
		p[k] = math.Exp(p[k] - largest)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
}
