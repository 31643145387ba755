package task

import (
	"context"
	"fmt"
	"math"
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
	data   *Data
	linear linear
	err    error // of a data set that has no loss
}

// NewSoftmax returns the model over a data set, which it keeps and which must not change. A data set that is empty, has
// fewer than two classes or does not fit its own sizes is reported by Loss.
func NewSoftmax(d *Data) *Softmax {
	if err := d.check(); err != nil {
		return &Softmax{data: &Data{}, err: err}
	}
	return &Softmax{data: d, linear: linear{classes: d.Classes, dim: d.Dim}}
}

// Dim returns the number of parameters: Data.Dim for two classes, else Data.Classes times Data.Dim.
func (s *Softmax) Dim() int { return s.linear.parameters() }

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
	return s.linear.loss(x, s.data.Row(sample), s.data.Y[sample]), nil
}

// MeanLoss returns the mean of the loss over all samples, and NaN where Loss would fail.
func (s *Softmax) MeanLoss(x []float32) float64 {
	if s.check(x) != nil {
		return math.NaN()
	}
	sum := 0.0
	for i, class := range s.data.Y {
		sum += s.linear.loss(x, s.data.Row(i), class)
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
		if s.linear.predict(x, s.data.Row(i)) == class {
			right++
		}
	}
	return float64(right) / float64(s.Len())
}

func (s *Softmax) check(x []float32) error {
	if s.err != nil {
		return s.err
	}
	if len(x) != s.Dim() {
		return fmt.Errorf("task: %d parameters, want %d", len(x), s.Dim())
	}
	return nil
}
