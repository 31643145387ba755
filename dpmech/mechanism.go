package dpmech

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// Mechanism makes a client's releases. It is not safe for concurrent use.
type Mechanism struct {
	normal normal
	noise  []int64 // the noise of one release, on the grid
	grid   []int64 // the clipped update, on the grid
}

// NewMechanism returns the mechanism for vectors of length dim >= 1. random gives uniform, independent bytes: on a
// device [crypto/rand.Reader], in a simulation a seeded stream (and then the result protects nobody). A release
// reads exactly 32 bytes of it.
func NewMechanism(dim int, random io.Reader) (*Mechanism, error) {
	if dim < 1 {
		return nil, fmt.Errorf("dpmech: dimension is %d, want at least 1", dim)
	}
	if random == nil {
		return nil, errors.New("dpmech: no source of random bytes")
	}
	return &Mechanism{
		normal: normal{random: random},
		noise:  make([]int64, dim),
		grid:   make([]int64, dim),
	}, nil
}

// Release replaces an update s by clip(s) + nu, steps 8 and 9 of Algorithm 1 of the paper: the data-dependent part
// of the round's one release. An update that holds a NaN or an infinity counts as the zero vector. The noise is drawn
// before the update is looked at. If Release fails, s is zero and must not be used: the source of randomness
// failed, or g is not valid.
func (m *Mechanism) Release(s []float32, g Gaussian) error {
	if len(s) != len(m.grid) {
		return fmt.Errorf("dpmech: update has length %d, want %d", len(s), len(m.grid))
	}
	err := g.Validate()
	shift := gridBits(g, len(s))
	if err == nil {
		err = m.normal.fill(m.noise, shift)
	}
	if err != nil {
		clear(s)
		return err
	}
	gamma := math.Ldexp(g.Sigma, -shift)
	quantize(m.grid, s, g.Clip, gamma)
	for i := range s {
		s[i] = float32(float64(m.grid[i]+m.noise[i]) * gamma)
	}
	return nil
}

// gridBits returns M, where gamma = sigma/2^M: at least 28, and more if that is needed for the quantisation of the whole
// vector, gamma*sqrt(d), to stay below 2^-16 R.
func gridBits(g Gaussian, dim int) int {
	_, need := math.Frexp(math.Sqrt(float64(dim)) * g.Sigma / g.Clip)
	return min(max(28, need+16), 50)
}

// quantize stores the projection of s onto the ball of radius r, in units of gamma and rounded toward zero. The norm of
// the result is at most r/gamma exactly: it is checked in integers.
func quantize(grid []int64, s []float32, r, gamma float64) {
	var sum float64
	for _, x := range s {
		sum += float64(float64(x) * float64(x))
	}
	if !(sum <= math.MaxFloat64) { // a NaN, or an infinity: squares of finite float32 do not overflow
		clear(grid)
		return
	}
	scale := 1 / gamma
	if norm := math.Sqrt(sum); norm > r {
		scale *= r / norm
	}
	// The quotient is rounded: one step down is never above the true r/gamma.
	radius := uint64(math.Nextafter(r/gamma, 0))
	for {
		for i, x := range s {
			grid[i] = int64(float64(x) * scale)
		}
		if withinBall(grid, radius) {
			return
		}
		scale *= 1 - 0x1p-40
	}
}

// withinBall reports whether the Euclidean norm of grid is at most radius, in exact 128-bit arithmetic.
func withinBall(grid []int64, radius uint64) bool {
	limitHi, limitLo := bits.Mul64(radius, radius)
	var hi, lo uint64
	for _, x := range grid {
		a := uint64(max(x, -x))
		if a > radius {
			return false
		}
		pHi, pLo := bits.Mul64(a, a)
		var carry uint64
		lo, carry = bits.Add64(lo, pLo, 0)
		hi, carry = bits.Add64(hi, pHi, carry)
		if carry != 0 {
			return false
		}
	}
	return hi < limitHi || hi == limitHi && lo <= limitLo
}
