package admm

import (
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// Records has the public numbers of a run that protects each record ([dpmech.Record]), and is zero in other runs. In a
// run that protects each record
//
//   - all queries of a round are at the released model x: phi does not move, and Tau is the number of queries per
//     record and round;
//   - the update is s = -eta/Mean * sum_h a_h over the client's units, an exact sum of integers. a_h is the slope of
//     unit h: an estimate of mu times the gradient of the unit's loss, clipped to radius R = Privacy.Clip*Mean/eta;
//   - so replacing one unit moves s by at most 2*Privacy.Clip, and changes nothing else except through releases.
type Records struct {
	Mean   float64 // m_bar, the mean number of units per member, at least 1; gives all units the same weight
	Most   int     // m_max, the largest number of units of any member
	Places int     // r_max, the samples per unit: 1 for a record, more for a person; 0 means 1
}

// NewRecords returns the public numbers of a run in which member i has each[i] units. A unit is a record or, if places
// is above 1, a person with that many places for records. If len(each) is 0, the result is the zero value.
func NewRecords(each []int, places int) (r Records) {
	if len(each) == 0 {
		return r
	}
	sum := 0.0
	for _, m := range each {
		sum += float64(m)
	}
	return Records{Mean: sum / float64(len(each)), Most: slices.Max(each), Places: places}
}

func (m *Machine) each() bool { return m.cfg.Estimator.Records }

// reach returns an upper bound on the norm of any member's update without noise.
func (c *Config) reach() float64 { return float64(c.Privacy.Clip * float64(max(1, c.Records.Most))) }

// rows returns the rows of the release in progress: the records' slopes, or the whole update as one row.
func (m *Machine) rows() dpmech.Rows {
	if !m.each() {
		return dpmech.Whole(m.s)
	}
	rows, slope := m.est.Rows()
	factor := -m.cfg.Eta.At(m.k()) / m.cfg.Records.Mean
	return dpmech.Rows{Places: m.cfg.Records.Places, Most: m.cfg.Records.Most, Values: rows, Factor: float64(factor * slope)}
}

// draw stores the data-dependent part of the release in progress, with its noise, in steps, or in m.s if steps is nil.
func (m *Machine) draw(steps []int32) error {
	noise, pairs := m.noise()
	defer clear(pairs)
	if steps == nil {
		return m.mech.Release(m.s, m.rows(), noise, pairs...)
	}
	defer clear(m.s)
	return m.mech.ReleaseOnGrid(steps, m.rows(), noise, m.cfg.GridStep, pairs...)
}
