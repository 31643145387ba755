package task

import (
	"context"
	"fmt"
)

// The built-in models.
const (
	SoftmaxModel    = "softmax"
	PerceptronModel = "perceptron"
)

// Model is a built-in model over a data set: *[Softmax] or *[Perceptron].
type Model interface {
	Loss(ctx context.Context, x []float32, sample int) (float64, error)
	MeanLoss(x []float32) float64
	Accuracy(x []float32) float64
	Dim() int // parameters
	Len() int // samples
}

// ModelSpec names a built-in model (-model, -hidden).
type ModelSpec struct {
	Name   string // "softmax" or "perceptron"
	Hidden int    // hidden units: 1 to [MaxHidden] for a perceptron, 0 for softmax
}

// Validate reports what is wrong with the name or does not go with it.
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

// New returns the model over a data set. The Loss of one that is not valid reports why.
func (m ModelSpec) New(d *Data) Model {
	if m.Name == PerceptronModel {
		return NewPerceptron(d, m.Hidden)
	}
	if err := m.Validate(); err != nil {
		return &Softmax{data: &Data{}, err: err}
	}
	return NewSoftmax(d)
}

// Dim returns how many parameters the model has on data of so many columns and classes.
func (m ModelSpec) Dim(columns, classes int) int {
	if m.Name != PerceptronModel {
		return linear{classes, columns}.parameters()
	}
	return m.Hidden*columns + linear{classes, m.Hidden + 1}.parameters()
}

// Start returns the common start of a run for data of so many columns and classes: nil, which stands for zeros, for
// softmax, and that of [Perceptron.Init] for a perceptron.
func (m ModelSpec) Start(columns, classes int, seed uint64) []float32 {
	if m.Name != PerceptronModel {
		return nil
	}
	return perceptronStart(m.Hidden, columns, m.Dim(columns, classes), seed)
}
