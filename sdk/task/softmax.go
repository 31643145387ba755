package task

import (
	"context"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Softmax is the built-in model: a linear classifier with the squared probability loss of the paper's example,
//
//	f(x) = 1/2 |softmax(W a) - y|²,
//
// which lies in [0, 1] whatever the parameters. a is a sample and y the indicator vector of its class. The parameter
// vector x is W by rows, one row of Data.Dim weights for each class. Two classes need one row only, the weights of class
// 1 against class 0: with p the sigmoid of their product with a, the same loss reads (p - y)² for y = 0 or 1.
//
// It is one client's oracle over that client's samples, safe for use by several goroutines at once.
type Softmax struct {
	data *Data
	dim  int
	err  error // of a data set that has no loss
}

// NewSoftmax returns the model over a data set, which it keeps and which must not change. A data set that is empty, has
// fewer than two classes or does not fit its own sizes is reported by Loss.
func NewSoftmax(d *Data) *Softmax {
	if err := d.check(); err != nil {
		return &Softmax{data: &Data{}, err: err}
	}
	s := &Softmax{data: d, dim: d.Dim}
	if d.Classes > 2 {
		s.dim = d.Classes * d.Dim
	}
	return s
}

// Dim returns the number of parameters: Data.Dim for two classes, else Data.Classes times Data.Dim.
func (s *Softmax) Dim() int { return s.dim }

// Len returns the number of samples.
func (s *Softmax) Len() int { return s.data.Len() }

// Loss returns the loss of parameters x at a sample, in [0, 1]; it is NaN only if a parameter is NaN or products
// overflow with both signs. It fails if x has another length than Dim or sample is not in [0, Len). It returns at once and
// pays no attention to ctx, allocates nothing, and neither changes nor keeps x.
func (s *Softmax) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if err := s.check(x); err != nil {
		return 0, err
	}
	if sample < 0 || sample >= s.Len() {
		return 0, fmt.Errorf("task: loss of sample %d, want 0 to %d", sample, s.Len()-1)
	}
	return s.loss(x, sample), nil
}

// MeanLoss returns the mean of the loss over all samples, and NaN where Loss would fail.
func (s *Softmax) MeanLoss(x []float32) float64 {
	if s.check(x) != nil {
		return math.NaN()
	}
	sum := 0.0
	for i := range s.data.Y {
		sum += s.loss(x, i)
	}
	return sum / float64(s.Len())
}

// Accuracy returns the share of samples, in [0, 1], whose most probable class is their own; of equally probable classes
// the first counts, and a NaN is never right. It returns NaN where Loss would fail.
func (s *Softmax) Accuracy(x []float32) float64 {
	if s.check(x) != nil {
		return math.NaN()
	}
	right := 0
	for i, class := range s.data.Y {
		if s.predict(x, s.data.Row(i)) == class {
			right++
		}
	}
	return float64(right) / float64(s.Len())
}

func (s *Softmax) check(x []float32) error {
	if s.err != nil {
		return s.err
	}
	if len(x) != s.dim {
		return fmt.Errorf("task: %d parameters, want %d", len(x), s.dim)
	}
	return nil
}

func (s *Softmax) loss(x []float32, sample int) float64 {
	a, class := s.data.Row(sample), s.data.Y[sample]
	if s.data.Classes == 2 {
		z := vec.Dot(x, a)
		if class == 1 {
			z = -z
		}
		wrong := sigmoid(z) // the probability of the other class
		return float64(wrong * wrong)
	}
	// With e_k = exp(z_k - m), m the largest logit so far, the loss is
	// 1/2 ((sum_others e)² + sum_others e²) / (e_class + sum_others e)²: no difference of nearly equal numbers.
	m := s.logit(x, a, class)
	own, others, squares := 1.0, 0.0, 0.0
	for k := range s.data.Classes {
		if k == class {
			continue
		}
		z := s.logit(x, a, k)
		if z > m {
			r := vec.Exp(m - z)
			own, others, squares = float64(own*r), float64(others*r), float64(squares*float64(r*r))
			m = z
		}
		e := vec.Exp(z - m)
		others += e
		squares += float64(e * e)
	}
	total := own + others
	wrong := others / total
	return min(1, 0.5*(float64(wrong*wrong)+squares/float64(total*total)))
}

// logit returns the product of a sample with the weights of a class, kept finite so that two overflows compare as equal.
func (s *Softmax) logit(x, a []float32, class int) float64 {
	const large = math.MaxFloat32
	return min(max(vec.Dot(x[class*len(a):(class+1)*len(a)], a), -large), large)
}

// predict returns the most probable class of a sample, or -1 if a logit is NaN.
func (s *Softmax) predict(x, a []float32) int {
	if s.data.Classes == 2 {
		switch z := vec.Dot(x, a); {
		case z > 0:
			return 1
		case z <= 0:
			return 0
		}
		return -1
	}
	best, at := math.Inf(-1), -1
	for k := range s.data.Classes {
		z := s.logit(x, a, k)
		if math.IsNaN(z) {
			return -1
		}
		if z > best {
			best, at = z, k
		}
	}
	return at
}

// sigmoid returns 1/(1 + e^-z) without loss of digits on either side.
func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + vec.Exp(-z))
	}
	e := vec.Exp(z)
	return e / (1 + e)
}
