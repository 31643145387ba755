package task

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/eigen"
	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

// Standardizer shifts and scales columns to mean 0 and variance 1, and then multiplies each column by its declared
// factor.
type Standardizer struct {
	Mean  []float64 `json:"mean"`
	Std   []float64 `json:"std"`             // population standard deviation; 0 for a constant column
	Scale []float64 `json:"scale,omitempty"` // factor of each column after standardization; nil if all are 1
}

// FitStandardizer returns the Standardizer with the means and standard deviations of a training set.
func FitStandardizer(train *Data) (*Standardizer, error) {
	if err := train.check(); err != nil {
		return nil, err
	}
	mean, std := columnMeans(train), make([]float64, train.Dim)
	varies := make([]bool, train.Dim)
	for i := range train.Y {
		for j := range std {
			diff := train.Value(i, j) - mean[j]
			std[j] += float64(diff * diff)
			varies[j] = varies[j] || train.Value(i, j) != train.Value(0, j)
		}
	}
	for j, square := range std {
		std[j] = 0
		if varies[j] { // rounding of the mean can leave a tiny square in a constant column
			std[j] = math.Sqrt(square / float64(train.Len()))
		}
	}
	return &Standardizer{Mean: mean, Std: std}, nil
}

// tell makes Apply leave constant marker columns unchanged. Marker columns (from index "first" on) mark missing cells;
// they are constant if no cell was missing in the training set.
func (s *Standardizer) tell(first int) {
	for j := first; j < len(s.Std); j++ {
		if s.Std[j] == 0 {
			s.Mean[j], s.Std[j] = 0, 1
		}
	}
}

// Apply returns a standardized copy: Scale*(x - Mean)/Std in each column, and 0 in a column whose Std is 0. It computes
// in float64 and rounds the result.
func (s *Standardizer) Apply(d *Data) (*Data, error) {
	if err := cmp.Or(d.checkColumns(len(s.Mean)), d.checkColumns(len(s.Std))); err != nil {
		return nil, err
	}
	return s.apply(d), nil
}

func (s *Standardizer) apply(d *Data) *Data {
	return d.mapped(d.Dim, func(to, from []float64) {
		for j, x := range from {
			if s.Std[j] > 0 {
				to[j] = (x - s.Mean[j]) / s.Std[j]
				if s.Scale != nil {
					to[j] *= s.Scale[j]
				}
			}
		}
	}).rounded()
}

func (s *Standardizer) validate(r *Recipe, want func(ok bool, format string, args ...any)) {
	raw := r.full()
	want(len(s.Mean) == raw && len(s.Std) == raw,
		"standardize has %d means and %d deviations, want one for each of %d columns", len(s.Mean), len(s.Std), raw)
	held("standardize.mean", s.Mean, want)
	held("standardize.std", s.Std, want)
	if i := slices.IndexFunc(s.Std, func(x float64) bool { return x < 0 || x > 0 && x < leastDivisor }); i >= 0 {
		want(false, "standardize.std[%d] is %v, want 0, or a deviation of at least %.2g", i, s.Std[i], leastDivisor)
	}
	bad := slices.ContainsFunc(s.Scale, func(by float64) bool { return !inScale(by) })
	want(s.Scale == nil || len(s.Scale) == raw && !bad, "standardize.scale is %v, want a number of %v to %v for each column", s.Scale, leastScale, float64(mostScale))
	want(s.Scale == nil || r.PCA == nil, "standardize.scale is given, want none with pca")
}

func columnMeans(d *Data) []float64 {
	mean := make([]float64, d.Dim)
	for i := range d.Y {
		for j := range mean {
			mean[j] += d.Value(i, j)
		}
	}
	for j := range mean {
		mean[j] /= float64(d.Len())
	}
	return mean
}

// PCA projects a data set onto the directions in which a training set varies most (Pearson 1901; Hotelling 1933).
type PCA struct {
	Mean       []float64   `json:"mean"`       // means of the training columns
	Components [][]float64 `json:"components"` // orthonormal, by decreasing variance; the entry of largest magnitude is positive
	Scale      float64     `json:"scale"`      // factor by which all components are multiplied

	variances []float64 // variance of the training set along each component, before scaling
}

// FitPCA finds the first n components of a training set. n must be between 1 and the number of columns.
//
// The field Scale gives the projected training rows a mean squared norm of n and keeps the relative size of components.
// FitPCA fails if all rows are equal. Components beyond the directions in which the rows vary are arbitrary.
func FitPCA(train *Data, n int) (*PCA, error) {
	if err := train.check(); err != nil {
		return nil, err
	}
	if n < 1 || n > train.Dim {
		return nil, fieldError("pca", "%d, want 1 to %d, the number of columns", n, train.Dim)
	}
	c := newCovariance(train)
	p := &PCA{Mean: c.mean}
	p.Components, p.variances = eigen.Top(c.product, train.Dim, n)
	total := 0.0
	for k, v := range p.Components {
		orient(v)
		p.variances[k] = max(p.variances[k], 0) // rounding can make a zero variance negative
		total += p.variances[k]
	}
	if !(total > 0) {
		return nil, errors.New("task: PCA needs training rows that differ, but all are equal")
	}
	p.Scale = math.Sqrt(float64(n) / total)
	return p, nil
}

// Apply returns the projected data set: Scale * Components * (x - Mean) for each row. Its columns have no names.
func (p *PCA) Apply(d *Data) (*Data, error) {
	if err := d.checkColumns(len(p.Mean)); err != nil {
		return nil, err
	}
	return p.apply(d), nil
}

func (p *PCA) apply(d *Data) *Data {
	out := d.blank(len(p.Components))
	out.Features = nil
	pr := newProjector(p.Mean, p.Components)
	eigen.Share(d.Len(), func(from, to int) {
		var row []tabular.Entry
		z := make([]float64, len(pr.start))
		for i := from; i < to; i++ {
			row = appendEntries(row[:0], d.Row(i))
			pr.project(z, row)
			for k := range out.Row(i) {
				out.Row(i)[k] = float32(p.Scale * z[k])
			}
		}
	})
	return out
}

func (p *PCA) validate(r *Recipe, want func(ok bool, format string, args ...any)) {
	raw := r.full()
	want(len(p.Mean) == raw, "pca.mean has %d numbers, want one for each of %d columns", len(p.Mean), raw)
	n := len(p.Components)
	want(n >= 1 && n <= raw, "pca.components has %d components, want 1 to %d", n, raw)
	held("pca.mean", p.Mean, want)
	for i, c := range p.Components {
		want(len(c) == raw, "pca.components[%d] has %d numbers, want one for each of %d columns", i, len(c), raw)
		held(fmt.Sprintf("pca.components[%d]", i), c, want)
	}
	want(p.Scale >= leastDivisor && p.Scale <= math.MaxFloat32, "pca.scale is %v, want %.2g..%.2g", p.Scale, leastDivisor,
		math.MaxFloat32)
}

// orient flips a vector so that its first entry of largest magnitude is positive.
func orient(v []float64) {
	at := 0
	for j, x := range v {
		if math.Abs(x) > math.Abs(v[at]) {
			at = j
		}
	}
	if v[at] < 0 {
		for j := range v {
			v[j] = -v[j]
		}
	}
}
