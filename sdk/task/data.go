package task

import (
	"errors"
	"fmt"
	"slices"
)

// Data is a labelled data set: Len samples of Dim numbers, each of one of Classes classes.
type Data struct {
	X       []float32 // the samples one after the other, Len x Dim
	Y       []int     // the class of each sample, in [0, Classes)
	Dim     int
	Classes int

	Features   []string // the name of each column, or nil where columns have none
	ClassNames []string // the label that each class stands for in the source, or nil
}

// Len returns the number of samples.
func (d *Data) Len() int { return len(d.Y) }

// Row returns sample i: a view into X, not a copy.
func (d *Data) Row(i int) []float32 { return d.X[i*d.Dim : (i+1)*d.Dim : (i+1)*d.Dim] }

// Select returns a copy of the samples at the given indices, in that order. Names are shared.
func (d *Data) Select(idx []int) *Data {
	s := *d
	s.X = make([]float32, 0, len(idx)*d.Dim)
	s.Y = make([]int, 0, len(idx))
	for _, i := range idx {
		s.X = append(s.X, d.Row(i)...)
		s.Y = append(s.Y, d.Y[i])
	}
	return &s
}

// WithBias returns a copy with one more column, the constant 1, behind the others: the intercept of a linear model.
func (d *Data) WithBias() *Data {
	b := d.mapped(d.Dim+1, func(to, from []float32) { to[copy(to, from)] = 1 })
	if d.Features != nil {
		b.Features = append(slices.Clip(d.Features), "bias")
	}
	return b
}

// mapped returns a copy with rows of dim numbers: f stores what it makes of a row in a row of zeros.
func (d *Data) mapped(dim int, f func(to, from []float32)) *Data {
	out := *d
	out.Dim, out.X = dim, make([]float32, d.Len()*dim)
	for i := range d.Y {
		f(out.Row(i), d.Row(i))
	}
	return &out
}

// check returns what is wrong with the shape of a data set that a caller may have made.
func (d *Data) check() error {
	if d == nil || d.Len() == 0 {
		return errors.New("task: data set without samples")
	}
	return d.checkColumns(d.Dim)
}

// checkColumns is check for a data set that may be empty, and must have so many columns.
func (d *Data) checkColumns(want int) error {
	if d.Dim != want {
		return fmt.Errorf("task: data set of %d columns, want the %d of the training set", d.Dim, want)
	}
	if d.Dim < 1 || len(d.X)/d.Dim != d.Len() || len(d.X)%d.Dim != 0 {
		return fmt.Errorf("task: data set with %d numbers in X, want %d samples x %d columns", len(d.X), d.Len(), d.Dim)
	}
	return checkLabels(d.Y, d.Classes)
}

// checkLabels returns an error if there are fewer than two classes or a label is not one of them.
func checkLabels(y []int, classes int) error {
	if classes < 2 {
		return fmt.Errorf("task: data set of %d classes, want at least 2", classes)
	}
	for i, c := range y {
		if c < 0 || c >= classes {
			return fmt.Errorf("task: sample %d has class %d, want 0 to %d", i, c, classes-1)
		}
	}
	return nil
}
