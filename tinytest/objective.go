package tinytest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Objective is an oracle with a known minimum: a function of d parameters for each of m samples, with values in [0,
// 1]. It has the same bits on every processor and is safe for concurrent use.
type Objective struct {
	rows  [][]float64 // one row for each sample
	least []float64   // the minimizer of the mean
	at    func(x []float32, sample int) float64
}

// everybody takes the place of a client number in the address of draws that all clients share.
const everybody = math.MaxUint32

// eighths returns n random multiples of 1/8, from -1 to 1.
func eighths(seed uint64, client, component uint32, n int) []float64 {
	s := rng.New(seed, rng.Address{Purpose: rng.Generate, Client: client, Component: component})
	x := make([]float64, max(0, n))
	for i := range x {
		x[i] = float64(s.IntN(17)-8) / 8
	}
	return x
}

// newObjective draws a common point and a row for each sample, with coordinates in [-1, 1].
func newObjective(seed uint64, client, dim, samples int) *Objective {
	l := &Objective{least: eighths(seed, everybody, 0, dim)}
	for h := range max(0, samples) {
		l.rows = append(l.rows, eighths(seed, uint32(client), uint32(h), dim))
	}
	return l
}

// SquaredProbability returns client's loss (s(a·x) - y)², with the sigmoid s, features a in [-1, 1]^d of each sample
// and y = s(a·x*). The loss lies in [0, 1]. The minimum is 0, at a point x* in [-1, 1]^d common to all clients of a
// seed; it is unique if the features span all directions. The paper's loss is the same with y of 0 or 1.
func SquaredProbability(seed uint64, client, dim, samples int) *Objective {
	l := newObjective(seed, client, dim, samples)
	var target []float64 // one target for each sample
	for _, a := range l.rows {
		z := 0.0
		for i := range a {
			z += float64(a[i] * l.least[i])
		}
		target = append(target, sigmoid(z))
	}
	l.at = func(x []float32, sample int) float64 {
		a, z := l.rows[sample], 0.0
		for i := range a {
			z += float64(a[i] * float64(x[i]))
		}
		off := sigmoid(z) - target[sample]
		return float64(off * off)
	}
	return l
}

func sigmoid(z float64) float64 { return 1 / (1 + vec.Exp(-z)) }

// BoundedNonconvex returns client's loss q/(1+q) with q = c|x - x*|² and a c in [1/2, 3/2] for each sample. The loss
// lies in [0, 1), is convex only near its minimum, and almost flat far away. The minimum is 0, at a point x* in [-1,
// 1]^d common to all clients of a seed.
func BoundedNonconvex(seed uint64, client, dim, samples int) *Objective {
	l := newObjective(seed, client, dim, samples)
	steepness := eighths(seed, uint32(client), everybody, samples)
	for i, c := range steepness {
		steepness[i] = 1 + c/2
	}
	l.at = func(x []float32, sample int) float64 {
		c, q := steepness[sample], 0.0
		for i, least := range l.least {
			off := float64(x[i]) - least
			q += float64(off * off)
		}
		q = float64(c * q)
		return q / (1 + q)
	}
	return l
}

// Loss implements [zoest.Oracle]. It fails if x does not have length d, or the sample is not in 0..m-1.
func (l *Objective) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	if len(x) != len(l.least) || sample < 0 || sample >= len(l.rows) {
		return 0, fmt.Errorf("tinytest: loss of sample %d at a point of %d coordinates, want sample 0..%d and %d coordinates",
			sample, len(x), len(l.rows)-1, len(l.least))
	}
	return l.at(x, sample), nil
}

// Mean returns the mean loss of all samples at x, of length d.
func (l *Objective) Mean(x []float32) float64 {
	sum := 0.0
	for h := range l.rows {
		sum += l.at(x, h)
	}
	return sum / float64(len(l.rows))
}

// Minimizer returns a copy of the minimizer of Mean.
func (l *Objective) Minimizer() []float64 { return slices.Clone(l.least) }
