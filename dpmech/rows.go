package dpmech

import (
	"fmt"
	"math"
	"math/bits"
)

// Rows has a client's contributions to a round with record-level privacy: one row of d numbers for each record, where d
// is the mechanism's length. A row may depend only on the records of its own unit and on released values, so replacing
// one unit changes only one clipped row in the sum; see part 4 of PROOF.md.
type Rows struct {
	Values []float32 // the rows in sequence, with the rows of a unit adjacent; read only
	// Places is the number of rows per unit, which is the same for all units in a network (r_max). If the unit is a
	// record, Places is 1; 0 also means 1. If the unit is a person, Places may be larger; the rows of a person are added
	// in order, in float32, and their sum is clipped.
	Places int
	// Factor is the number by which each unit's row is multiplied before clipping. Package sdk/admm uses -eta/m_bar
	// times the scale of the estimator's rows, where m_bar is the mean number of units per member. Factor must be
	// public, and its absolute value must be in 1e-100..1e100.
	Factor float64
	// Most is the largest number of units of any member (m_max). It is public and limits the integers in the sum.
	Most int
}

const mostSum = 1 << 61 // bound of the sum of all clipped rows, in steps of the fine grid: with noise of 2^62 + 2^60 it fits 64 bits

// CheckRows returns an error if a release of dim numbers with the parameters g cannot hold the exact sum of the given
// number (most) of clipped rows: most*g.Clip must be at most 2^61 steps of the fine grid. Arguments and result are
// public.
func CheckRows(g Gaussian, dim, most int) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if g.Unit == Client {
		return fmt.Errorf("dpmech: the privacy guarantee is %v, want a guarantee for each record or person, because the update "+
			"consists of rows", g.Unit.Each())
	}
	if dim < 1 || most < 1 {
		return fmt.Errorf("dpmech: maximum number of units is %d and dimension is %d, want at least 1 for each", most, dim)
	}
	radius := newBall(g.Clip, math.Ldexp(g.Sigma, -gridBits(g, dim))).radius + 1
	if hi, lo := bits.Mul64(radius, uint64(most)); hi > 0 || lo > mostSum {
		return fmt.Errorf("dpmech: found %d units, each with up to %d grid steps (clip %v, sigma %v), want at most "+
			"2^61 grid steps in total: use a larger sigma", most, radius, g.Clip, g.Sigma)
	}
	return nil
}

// ReleaseRows sets dst, which has the mechanism's length, to the exact sum of the clipped rows plus noise. Each round
// with record-level privacy has only one release, and no other part of the round depends on the data.
//
// Each unit's row is multiplied by rows.Factor, clipped to radius g.Clip (R_s, in units of dst) and rounded to the fine
// grid. A row that is not finite is treated as zero. The integers are added exactly, so replacing one unit changes the
// sum by at most 2*g.Clip, the sensitivity in [Gaussian.Rho]. The noise and pairs are as in [Mechanism.Release]; the
// noise is drawn before any row is read.
//
// ReleaseRows fails if a length differs, if g, Places, Factor or Most is out of range, or if the source of randomness
// fails; dst is then zero and must not be used.
func (m *Mechanism) ReleaseRows(dst []float32, rows Rows, g Gaussian, pairs ...Pair) error {
	gamma, err := 0.0, m.checkLength("destination", len(dst))
	if err == nil {
		gamma, err = m.sumOf(rows, g, pairs)
	}
	return m.store(dst, gamma, err)
}

// ReleaseRowsOnGrid is like [Mechanism.ReleaseRows], but on the wire grid: dst is in units of step, as in
// [Mechanism.ReleaseOnGrid].
func (m *Mechanism) ReleaseRowsOnGrid(dst []int32, rows Rows, g Gaussian, step float64, pairs ...Pair) error {
	gamma, err := 0.0, m.checkGrid(len(dst), step, g)
	if err == nil {
		gamma, err = m.sumOf(rows, g, pairs)
	}
	return m.storeOnGrid(dst, gamma, step, err)
}

// checkRows returns an error if rows cannot be summed. The result depends only on public numbers.
func (m *Mechanism) checkRows(rows Rows, g Gaussian) error {
	if err := CheckRows(g, len(m.noise), rows.Most); err != nil {
		return err
	}
	d, places, most := len(m.noise), max(1, rows.Places), math.MaxInt32/len(m.noise)
	switch size := math.Abs(rows.Factor); {
	case rows.Places < 0 || places > most:
		return fmt.Errorf("dpmech: Places is %d, want 0 (the same as 1) or 1..%d", rows.Places, most)
	case len(rows.Values)%(places*d) != 0:
		return fmt.Errorf("dpmech: Values has %d numbers, want a multiple of %d x %d (Places x dimension)",
			len(rows.Values), places, d)
	case len(rows.Values)/d/places > rows.Most:
		return fmt.Errorf("dpmech: Values has %d units, want at most Most (%d)", len(rows.Values)/d/places, rows.Most)
	case !(size >= 1e-100 && size <= 1e100):
		return fmt.Errorf("dpmech: Factor is %v, want an absolute value of 1e-100..1e100", rows.Factor)
	}
	return nil
}

// sumOf draws the noise and adds all clipped rows to it, in units of gamma.
func (m *Mechanism) sumOf(rows Rows, g Gaussian, pairs []Pair) (gamma float64, err error) {
	if err = m.checkRows(rows, g); err != nil {
		return 0, err
	}
	if gamma, err = m.draw(g, pairs); err != nil {
		return 0, err
	}
	d, places := len(m.noise), max(1, rows.Places)
	s := &m.rows
	if s.whole == nil {
		s.whole = make([]int64, d)
	}
	if s.unit == nil && places > 1 {
		s.unit = make([]float32, d)
	}
	s.ball, s.radius, s.gamma, s.factor = newBall(g.Clip, gamma), g.Clip, gamma, rows.Factor
	s.narrow = s.ball.hi == 0 && s.ball.lo <= math.MaxUint64/uint64(d)
	for values := rows.Values; len(values) > 0; values = values[places*d:] {
		row := values[:d:d]
		if places > 1 {
			row = s.together(values[:places*d])
		}
		if s.clip(row) {
			for i, q := range s.whole[:len(m.noise)] {
				m.noise[i] += q
			}
		}
	}
	clear(s.whole)
	clear(s.unit)
	return gamma, nil
}

// rowSum clips the rows of one release. Its buffers hold no data between releases.
type rowSum struct {
	whole []int64   // one clipped row, in units of gamma
	unit  []float32 // the sum of one unit's rows
	ball
	narrow                bool // the sum of squares of any vector within the radius fits 64 bits
	radius, gamma, factor float64
}

func (s *rowSum) together(rows []float32) []float32 {
	copy(s.unit, rows)
	for rows = rows[len(s.unit):]; len(rows) > 0; rows = rows[len(s.unit):] {
		for i, x := range rows[:len(s.unit)] {
			s.unit[i] += x
		}
	}
	return s.unit
}

// clip sets s.whole to the projection of factor*row onto the ball, and reports whether this projection is not zero. It
// tries the same two scales as the function clip, whose error bound also covers the rounding of the product with
// factor.
func (s *rowSum) clip(row []float32) bool {
	sum := squares(row)
	if !(sum <= math.MaxFloat64) || sum == 0 {
		return false
	}
	scale := s.factor / s.gamma
	if norm := math.Sqrt(sum) * math.Abs(s.factor); norm > s.radius {
		scale *= s.radius / norm
	}
	if s.fits(row, scale) {
		return true
	}
	return s.fits(row, scale*(1-0x1p-53*float64(len(row)+16)))
}

// squares returns the sum of the squares of row, computed as four interleaved sums that are added in a fixed order.
func squares(row []float32) float64 {
	var a, b, c, d float64
	for ; len(row) >= 4; row = row[4:] {
		a += float64(float64(row[0]) * float64(row[0]))
		b += float64(float64(row[1]) * float64(row[1]))
		c += float64(float64(row[2]) * float64(row[2]))
		d += float64(float64(row[3]) * float64(row[3]))
	}
	for _, x := range row {
		a += float64(float64(x) * float64(x))
	}
	return (a + b) + (c + d)
}

// fits sets s.whole to onGrid(row, scale) and reports, based on integer arithmetic, whether the result is in the ball.
func (s *rowSum) fits(row []float32, scale float64) bool {
	if !s.narrow {
		for i, x := range row {
			s.whole[i] = onGrid(x, scale)
		}
		return s.ball.holds(row, scale)
	}
	var sum, most uint64
	whole := s.whole[:len(row)]
	for i, x := range row {
		q := onGrid(x, scale)
		whole[i] = q
		abs := uint64(max(q, -q))
		most |= abs
		sum += abs * abs
	}
	// If a number exceeds the radius, the sum of squares may have overflowed.
	if most > s.ball.radius {
		return s.ball.holds(row, scale)
	}
	return sum <= s.ball.lo
}
