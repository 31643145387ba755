package dpmech

import (
	"fmt"
	"math"
	"math/bits"
)

// Rows is what a client contributes to a release: one row of d numbers for each unit that the release protects, where d
// is the mechanism's length. With the unit [Client] there is one row, the whole update: see [Whole]. With any other unit,
// a row may depend only on the records of its own unit and on released values, so replacing one unit changes only one
// clipped row in the sum; see part 4 of PROOF.md.
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

// Whole returns a whole update s as the only row of a release that protects each client.
func Whole(s []float32) Rows { return Rows{Values: s, Factor: 1, Most: 1} }

const mostSum = 1 << 61 // bound of the sum of all clipped rows, in steps of the fine grid: with noise of 2^62 + 2^60 it fits 64 bits

// CheckRows returns an error if a release of dim numbers with the parameters g cannot hold the exact sum of the given
// number (most) of clipped rows: most*g.Clip must be at most 2^61 steps of the fine grid. Arguments and result are
// public.
func CheckRows(g Gaussian, dim, most int) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if dim < 1 || most < 1 {
		return fmt.Errorf("dpmech: maximum number of units is %d and dimension is %d, want at least 1 for each", most, dim)
	}
	if g.Unit == Client && most > 1 {
		return fmt.Errorf("dpmech: the privacy guarantee is %v, want a guarantee for each record or person, because the update "+
			"consists of up to %d rows", g.Unit.Each(), most)
	}
	radius := newBall(g.Clip, math.Ldexp(g.Sigma, -gridBits(g, dim))).radius + 1
	if hi, lo := bits.Mul64(radius, uint64(most)); hi > 0 || lo > mostSum {
		return fmt.Errorf("dpmech: found %d units, each with up to %d grid steps (clip %v, sigma %v), want at most "+
			"2^61 grid steps in total: use a larger sigma", most, radius, g.Clip, g.Sigma)
	}
	return nil
}

// check returns an error if rows cannot be summed. The result depends only on public numbers.
func (rows Rows) check(g Gaussian, dim int) error {
	if err := CheckRows(g, dim, rows.Most); err != nil {
		return err
	}
	places, most := max(1, rows.Places), math.MaxInt32/dim
	switch size := math.Abs(rows.Factor); {
	case rows.Places < 0 || places > most:
		return fmt.Errorf("dpmech: Places is %d, want 0 (the same as 1) or 1..%d", rows.Places, most)
	case len(rows.Values)%(places*dim) != 0:
		return fmt.Errorf("dpmech: Values has %d numbers, want a multiple of %d x %d (Places x dimension)",
			len(rows.Values), places, dim)
	case g.Unit == Client && len(rows.Values) == 0:
		return fmt.Errorf("dpmech: Values is empty, want the whole update of %d numbers", dim)
	case len(rows.Values)/dim/places > rows.Most:
		return fmt.Errorf("dpmech: Values has %d units, want at most Most (%d)", len(rows.Values)/dim/places, rows.Most)
	case !(size >= 1e-100 && size <= 1e100):
		return fmt.Errorf("dpmech: Factor is %v, want an absolute value of 1e-100..1e100", rows.Factor)
	}
	return nil
}

// sum sets m.noise to the sum of a release's noise and all clipped rows, in units of gamma, the step of the fine grid. The
// noise is drawn before any row is read. The sum does not overflow: local noise is below 2^62, the rows are at most mostSum
// together, and pairwise noise is below 2^60 (except with probability 2^-2900).
func (m *Mechanism) sum(rows Rows, g Gaussian, pairs []Pair) (gamma float64, err error) {
	if err = rows.check(g, len(m.noise)); err != nil {
		return 0, err
	}
	if gamma, err = m.draw(g, pairs); err != nil {
		return 0, err
	}
	d, places, b := len(m.noise), max(1, rows.Places), newBall(g.Clip, gamma)
	if m.unit == nil && places > 1 {
		m.unit = make([]float32, d)
	}
	for values := rows.Values; len(values) > 0; values = values[places*d:] {
		row := values[:d:d]
		if places > 1 {
			row = together(m.unit, values[:places*d])
		}
		if scale := b.clip(row, rows.Factor); scale != 0 {
			for i, x := range row {
				m.noise[i] += onGrid(x, scale)
			}
		}
	}
	clear(m.unit)
	return gamma, nil
}

// together sets sum to the sum of rows of its length, added in order, and returns it.
func together(sum, rows []float32) []float32 {
	copy(sum, rows)
	for rows = rows[len(sum):]; len(rows) > 0; rows = rows[len(sum):] {
		for i, x := range rows[:len(sum)] {
			sum[i] += x
		}
	}
	return sum
}
