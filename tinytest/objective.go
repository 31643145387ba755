package tinytest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Objective is an oracle with a known minimum. It has m samples, each with a loss in [0, 1] that depends on d
// parameters. Its losses are bit-identical on every processor. It is safe for concurrent use.
type Objective struct {
	rows   [][]float64 // one row for each sample
	target []float64   // one for each sample
	least  []float64   // the minimizer of the mean
}

// everybody is the client or component in the [rng.Address] of a draw that belongs to no single client or sample.
const everybody = math.MaxUint32

// eighths returns n random multiples of 1/8 in [-1, 1].
func eighths(seed uint64, client, component uint32, n int) []float64 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate, Client: client, Component: component})
	x := make([]float64, max(0, n))
	for i := range x {
		x[i] = float64(s.IntN(17)-8) / 8
	}
	return x
}

// SquaredProbability returns an objective for one client with the loss (s(a·x) - y)² for each sample, where s is the
// sigmoid, a in [-1, 1]^d is the sample's features, and y = s(a·x*). The loss lies in [0, 1]. Its minimum is 0, at a
// point x* in [-1, 1]^d that all clients with the same seed share. The minimizer is unique if the features span all
// directions. The loss in the paper has this form with y equal to 0 or 1.
func SquaredProbability(seed uint64, client, dim, samples int) *Objective {
	l := &Objective{least: eighths(seed, everybody, 0, dim)}
	for h := range max(0, samples) {
		a, z := eighths(seed, uint32(client), uint32(h), dim), 0.0
		for i := range a {
			z += float64(a[i] * l.least[i])
		}
		l.rows, l.target = append(l.rows, a), append(l.target, sigmoid(z))
	}
	return l
}

func (l *Objective) at(x []float32, sample int) float64 {
	a, z := l.rows[sample], 0.0
	for i := range a {
		z += float64(a[i] * float64(x[i]))
	}
	off := sigmoid(z) - l.target[sample]
	return float64(off * off)
}

func sigmoid(z float64) float64 { return 1 / (1 + vec.Exp(-z)) }

// Loss implements [zoest.Oracle]. It fails if the length of x is not d or the sample is not in 0..m-1.
func (l *Objective) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if len(x) != len(l.least) || sample < 0 || sample >= len(l.rows) {
		return 0, fmt.Errorf("tinytest: found a query for sample %d at a point with %d coordinates, want sample "+
			"0..%d and %d coordinates", sample, len(x), len(l.rows)-1, len(l.least))
	}
	return l.at(x, sample), nil
}

// Mean returns the mean loss over all samples at the point x, which must have length d.
func (l *Objective) Mean(x []float32) float64 {
	sum := 0.0
	for h := range l.rows {
		sum += l.at(x, h)
	}
	return sum / float64(len(l.rows))
}

// Minimizer returns a copy of the point at which Mean is smallest.
func (l *Objective) Minimizer() []float64 { return slices.Clone(l.least) }
