package zoest

import (
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// batch draws mini-batches: subsets of fixed size, uniform and without replacement.
type batch struct {
	items []int // a permutation of 0..m-1
	swaps []int // how far the i-th step of the shuffle reached; as many as the batch has items
}

func newBatch(m, size int) batch {
	b := batch{items: make([]int, m), swaps: make([]int, size)}
	for i := range b.items {
		b.items[i] = i
	}
	return b
}

// all returns 0..m-1. It undoes the previous shuffle, last swap first, so that a draw depends on its address alone, at
// a cost of O(size). The slice is valid until the next draw.
func (b *batch) all() []int {
	for i := len(b.swaps) - 1; i >= 0; i-- {
		b.swap(i)
	}
	clear(b.swaps)
	return b.items
}

// draw returns the batch at the start of a stream, in the order drawn. A batch of everything is in ascending order and
// draws nothing. The slice is valid until the next draw.
func (b *batch) draw(s rng.Stream) []int {
	if b.all(); len(b.swaps) == len(b.items) {
		return b.items
	}
	for i := range b.swaps {
		b.swaps[i] = s.IntN(len(b.items) - i)
		b.swap(i)
	}
	return b.items[:len(b.swaps)]
}

func (b *batch) swap(i int) {
	j := i + b.swaps[i]
	b.items[i], b.items[j] = b.items[j], b.items[i]
}

// Distribution is the distribution of the query directions u. Both satisfy Assumption 3 of the paper with c_u = 1 and
// R_u = sqrt(d): E u = 0, E uu' = I and |u| = sqrt(d).
type Distribution int

const (
	Rademacher Distribution = iota // independent coordinates +1 or -1 with equal probability
	Sphere                         // uniform on the sphere of radius sqrt(d)
)

var distributions = []string{Rademacher: "rademacher", Sphere: "sphere"}

// String returns the name used in files: rademacher or sphere.
func (d Distribution) String() string {
	if d < 0 || int(d) >= len(distributions) {
		return fmt.Sprintf("Distribution(%d)", int(d))
	}
	return distributions[d]
}

// MarshalText returns the name of a known distribution.
func (d Distribution) MarshalText() ([]byte, error) {
	name := []byte(d.String())
	return name, d.UnmarshalText(name)
}

// UnmarshalText sets d to the distribution of a name.
func (d *Distribution) UnmarshalText(name []byte) error {
	i := slices.Index(distributions, string(name))
	if i < 0 {
		return fmt.Errorf("zoest: directions %q, want rademacher or sphere", name)
	}
	*d = Distribution(i)
	return nil
}

// direction holds one drawn vector u, as packed signs or as floats.
type direction struct {
	signs []uint64
	point []float32
}

func newDirection(dist Distribution, d int) direction {
	if dist == Sphere {
		return direction{point: make([]float32, d)}
	}
	return direction{signs: make([]uint64, vec.SignWords(d))}
}

// draw replaces u by the draw at the start of a stream.
func (u *direction) draw(s rng.Stream) {
	s.Fill(u.signs)
	if u.point == nil {
		return
	}
	var sum float64
	for sum == 0 {
		for i := range u.point {
			u.point[i] = float32(s.Normal())
		}
		sum = vec.SumSquares(u.point)
	}
	vec.Scale(u.point, float32(math.Sqrt(float64(len(u.point))/sum)))
}

// perturb sets y = x + mu*u.
func (u *direction) perturb(y, x []float32, mu float32) {
	if u.point == nil {
		vec.SignPerturb(y, x, mu, u.signs)
		return
	}
	copy(y, x)
	vec.Axpy(y, mu, u.point)
}

// scale sets y = a*u for len(y) coordinates of u beginning with the one at from, a multiple of 64.
func (u *direction) scale(y []float32, from int, a float32) {
	if u.point == nil {
		vec.SignScale(y, a, u.signs[from/64:])
		return
	}
	copy(y, u.point[from:])
	vec.Scale(y, a)
}
