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
	rows   rowSum
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

// Release replaces an update s with clip(s) + nu, as in steps 8 and 9 of Algorithm 1 in the paper. Each round has only
// one release, and no other part of the round depends on the data. s has the mechanism's length and is in the same unit
// as g.Clip. An update with a NaN or an infinity is treated as the zero vector. The noise is drawn before the update is
// read, so a failure does not depend on the update.
//
// pairs is the pairwise noise, with one entry for each partner. If there are any pairs, g.Shared must be set. Summed
// over all members of a network, the pairwise noise cancels exactly on the fine grid.
//
// Release fails if lengths differ, g is not valid or the source of randomness fails; s is then zero and must not be
// used.
func (m *Mechanism) Release(s []float32, g Gaussian, pairs ...Pair) error {
	gamma, err := m.sumWhole(s, g, pairs)
	return m.store(s, gamma, err)
}

// sumWhole sets m.noise to the sum of the release's noise and the clipped update, in units of gamma, the step of the
// fine grid. The sum does not overflow: local noise is below 2^62, the clip is at most 2^48, and pairwise noise is
// below 2^60 (except with probability 2^-2900).
func (m *Mechanism) sumWhole(s []float32, g Gaussian, pairs []Pair) (gamma float64, err error) {
	err = errors.Join(m.checkLength("update", len(s)), g.Validate())
	if g.Unit != Client {
		err = errors.Join(err, fmt.Errorf("dpmech: the privacy guarantee is %v, want a guarantee for each client: to "+
			"protect each record or person, use Rows", g.Unit.Each()))
	}
	if err == nil {
		gamma, err = m.draw(g, pairs)
	}
	if err != nil {
		return 0, err
	}
	scale := clip(s, g.Clip, gamma)
	for i, x := range s {
		m.noise[i] += onGrid(x, scale)
	}
	return gamma, nil
}

// store sets dst to the sum in m.noise, or to zero if err is not nil, and returns err. It clears m.noise, because the
// noise would reveal the update.
func (m *Mechanism) store(dst []float32, gamma float64, err error) error {
	if err != nil {
		clear(dst)
		return err
	}
	for i, n := range m.noise {
		dst[i] = float32(float64(n) * gamma)
	}
	clear(m.noise)
	return nil
}

// storeOnGrid is like store, but for dst on the wire grid, in units of step.
func (m *Mechanism) storeOnGrid(dst []int32, gamma, step float64, err error) error {
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

// maxSteps bounds the numbers of a release on the wire grid. The noise is below 2^22 steps except with probability
// 2^-700000.
const maxSteps = 1 << 30

// ReleaseOnGrid makes the same release as [Mechanism.Release], but on the wire grid: it sets dst[i] to clip(s)_i + nu_i
// in units of step, rounded to nearest (ties to even) and limited to -2^30..2^30. For the same random bytes,
// dst[i]*step differs from the result of Release by at most half a step plus the rounding of Release to float32.
//
// step must be in [g.Sigma/2^12, g.Sigma]. The sum of noise and update, an integer on the fine grid, is rounded to 53
// bits and multiplied by a float64. If step is g.Sigma/2^W for an integer W, this factor is a power of two, so the
// product is exact. For any other step, a value whose relative distance to a midpoint is below 2^-51 may be rounded to
// either neighbor, but to the same neighbor on every processor.
//
// dst and s have the mechanism's length. s is zero afterwards. ReleaseOnGrid fails if lengths differ, g or step is not
// valid or the source of randomness fails; dst is then zero and must not be used.
func (m *Mechanism) ReleaseOnGrid(dst []int32, s []float32, g Gaussian, step float64, pairs ...Pair) error {
	defer clear(s)
	gamma, err := 0.0, m.checkGrid(len(dst), step, g)
	if err == nil {
		gamma, err = m.sumWhole(s, g, pairs)
	}
	return m.storeOnGrid(dst, gamma, step, err)
}

// onWire converts a sum in steps of the fine grid (gamma) to steps of the wire grid (step). ratio is gamma/step.
func onWire(sum int64, ratio float64) int32 {
	return int32(max(-maxSteps, min(maxSteps, math.RoundToEven(float64(sum)*ratio))))
}

func (m *Mechanism) checkGrid(length int, step float64, g Gaussian) error {
	err := m.checkLength("destination", length)
	if !(step >= g.Sigma/(1<<12) && step <= g.Sigma) {
		err = errors.Join(err, fmt.Errorf("dpmech: step is %v, want sigma/4096..sigma, where sigma is %v", step, g.Sigma))
	}
	return err
}

func (m *Mechanism) checkLength(what string, n int) error {
	if n != len(m.noise) {
		return fmt.Errorf("dpmech: %s has length %d, want %d", what, n, len(m.noise))
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
