package dpmech

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Mechanism makes a client's releases, with the guarantee that is proved in PROOF.md. It is not safe for concurrent
// use.
type Mechanism struct {
	normal normal
	noise  []int64 // the noise of one release, on the fine grid; zero between releases
	shared []int64 // one vector of pairwise noise; zero between releases

	unit []float32 // the sum of one unit's rows; zero between releases
}

// NewMechanism returns a mechanism for vectors of length dim >= 1. random must return uniform, independent bytes: use
// [crypto/rand.Reader] on a device, or a seeded stream (which protects nobody) in a simulation. Each release reads 32
// bytes.
func NewMechanism(dim int, random io.Reader) (*Mechanism, error) {
	if dim < 1 {
		return nil, fmt.Errorf("dpmech: dimension is %d, want at least 1", dim)
	}
	if random == nil {
		return nil, errors.New("dpmech: the source of random bytes is nil")
	}
	return &Mechanism{normal: normal{random: random}, noise: make([]int64, dim)}, nil
}

// Release sets dst to the sum of the clipped rows plus nu, as in steps 8 and 9 of Algorithm 1 in the paper. Each round has
// only one release, and no other part of the round depends on the data.
//
// Each unit's row is multiplied by rows.Factor, clipped to radius g.Clip (in units of dst) and rounded to the fine grid. A
// row with a NaN or an infinity is treated as zero. The integers are added exactly, so replacing one unit changes the sum
// by at most 2*g.Clip, the sensitivity in [Gaussian.Rho]. The noise is drawn before any row is read, so a failure does not
// depend on the rows. dst has the mechanism's length, and may be rows.Values.
//
// pairs is the pairwise noise, with one entry for each partner. If there are any pairs, g.Shared must be set. Summed
// over all members of a network, the pairwise noise cancels exactly on the fine grid.
//
// Release fails if a length differs, a parameter is out of range or the source of randomness fails; dst is then zero and
// must not be used.
func (m *Mechanism) Release(dst []float32, rows Rows, g Gaussian, pairs ...Pair) error {
	gamma, err := 0.0, m.checkLength(len(dst))
	if err == nil {
		gamma, err = m.sum(rows, g, pairs)
	}
	if err != nil {
		clear(dst)
		return err
	}
	for i, n := range m.noise {
		dst[i] = float32(float64(n) * gamma)
	}
	clear(m.noise) // it would reveal the rows
	return nil
}

// maxSteps bounds the numbers of a release on the wire grid. The noise is below 2^22 steps except with probability
// 2^-700000.
const maxSteps = 1 << 30

// ReleaseOnGrid makes the same release as [Mechanism.Release], but on the wire grid: it sets dst[i] to the sum in units of
// step, rounded to nearest (ties to even) and limited to -2^30..2^30. For the same random bytes, dst[i]*step differs from
// the result of Release by at most half a step plus the rounding of Release to float32.
//
// step must be in [g.Sigma/2^12, g.Sigma]. The sum of noise and rows, an integer on the fine grid, is rounded to 53
// bits and multiplied by a float64. If step is g.Sigma/2^W for an integer W, this factor is a power of two, so the
// product is exact. For any other step, a value whose relative distance to a midpoint is below 2^-51 may be rounded to
// either neighbor, but to the same neighbor on every processor.
func (m *Mechanism) ReleaseOnGrid(dst []int32, rows Rows, g Gaussian, step float64, pairs ...Pair) error {
	gamma, err := 0.0, m.checkLength(len(dst))
	if !(step >= g.Sigma/(1<<12) && step <= g.Sigma) {
		err = errors.Join(err, fmt.Errorf("dpmech: step is %v, want sigma/4096..sigma, where sigma is %v", step, g.Sigma))
	}
	if err == nil {
		gamma, err = m.sum(rows, g, pairs)
	}
	if err != nil {
		clear(dst)
		return err
	}
	ratio := gamma / step
	for i, n := range m.noise {
		dst[i] = onWire(n, ratio)
	}
	clear(m.noise)
	return nil
}

// onWire converts a sum in steps of the fine grid (gamma) to steps of the wire grid (step). ratio is gamma/step.
func onWire(sum int64, ratio float64) int32 {
	return int32(max(-maxSteps, min(maxSteps, math.RoundToEven(float64(sum)*ratio))))
}

func (m *Mechanism) checkLength(n int) error {
	if n != len(m.noise) {
		return fmt.Errorf("dpmech: destination has length %d, want %d", n, len(m.noise))
	}
	return nil
}

// draw sets m.noise to the total noise of a release, local and pairwise, in units of gamma. After an error, m.noise is
// zero.
func (m *Mechanism) draw(g Gaussian, pairs []Pair) (gamma float64, err error) {
	shift := gridBits(g, len(m.noise))
	err = m.normal.fill(m.noise, shift)
	if err == nil && len(pairs) > 0 {
		err = m.share(g, shift, pairs)
	}
	if err != nil {
		clear(m.noise)
		return 0, err
	}
	return math.Ldexp(g.Sigma, -shift), nil
}

// gridBits returns M, where the step of the fine grid is gamma = sigma/2^M. M is at least 28, and large enough to keep
// the quantization error of the whole vector, gamma*sqrt(dim), below 2^-16 g.Clip. For a valid g and dim below 2^28,
// 50 is always enough.
func gridBits(g Gaussian, dim int) int {
	_, need := math.Frexp(math.Sqrt(float64(dim)) * g.Sigma / g.Clip)
	return min(max(28, need+16), 50)
}
