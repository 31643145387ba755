package task

import (
	"errors"
	"math"
)

// Standardizer brings columns to mean 0 and variance 1.
type Standardizer struct {
	Mean []float64
	Std  []float64 // population standard deviation; 0 for a column that is constant
}

// FitStandardizer measures the columns of a training set.
func FitStandardizer(train *Data) (*Standardizer, error) {
	if err := train.check(); err != nil {
		return nil, err
	}
	mean, std := columnMeans(train), make([]float64, train.Dim)
	varies := make([]bool, train.Dim)
	for i := range train.Y {
		for j, x := range train.Row(i) {
			diff := float64(x) - mean[j]
			std[j] += float64(diff * diff)
			varies[j] = varies[j] || x != train.X[j]
		}
	}
	for j, square := range std {
		std[j] = 0
		if varies[j] { // a constant column may have a tiny square left from the rounding of its mean
			std[j] = math.Sqrt(square / float64(train.Len()))
		}
	}
	return &Standardizer{Mean: mean, Std: std}, nil
}

// Apply returns a standardised copy: (x - Mean)/Std in each column, and 0 throughout a column whose Std is 0.
func (s *Standardizer) Apply(d *Data) (*Data, error) {
	if err := errors.Join(d.checkColumns(len(s.Mean)), d.checkColumns(len(s.Std))); err != nil {
		return nil, err
	}
	return d.mapped(d.Dim, func(to, from []float32) {
		for j, x := range from {
			if s.Std[j] > 0 {
				to[j] = float32((float64(x) - s.Mean[j]) / s.Std[j])
			}
		}
	}), nil
}

func columnMeans(d *Data) []float64 {
	mean := make([]float64, d.Dim)
	for i := range d.Y {
		for j, x := range d.Row(i) {
			mean[j] += float64(x)
		}
	}
	for j := range mean {
		mean[j] /= float64(d.Len())
	}
	return mean
}
