package zoest

import (
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// table is the memory table: a row a_h = coefficient*direction for each of the m components, either written out (dense) or
// as what it takes to make it again (seeded). Both give the same bits.
type table struct {
	d    int
	flat []float32 // dense: m rows of d numbers in one slice, allocated once

	// seeded: the draw and the coefficient of each row, and room for one row and its direction.
	seeds   []seededRow
	row     []float32
	dir     direction
	address func(h int, stage uint32) rng.Stream
}

// seededRow names the direction of a row by the stage of the round that drew it.
type seededRow struct {
	stage       uint32 // 0: the table was filled; t+1: local step t
	coefficient float32
}

func newTable(cfg Config, address func(h int, stage uint32) rng.Stream) table {
	t := table{d: cfg.Dim, address: address}
	if cfg.Seeded {
		t.seeds = make([]seededRow, cfg.Samples)
		t.row = make([]float32, cfg.Dim)
		t.dir = newDirection(cfg.Directions, cfg.Dim)
	} else {
		t.flat = make([]float32, cfg.Samples*cfg.Dim)
	}
	return t
}

// set stores coefficient*u as row h, where u was drawn in the given stage, and returns the row: a view that is valid until
// the next call.
func (t *table) set(h int, u *direction, stage uint32, coefficient float32) []float32 {
	row := t.row
	if t.seeds != nil {
		t.seeds[h] = seededRow{stage, coefficient}
	} else {
		row = t.flat[h*t.d : (h+1)*t.d : (h+1)*t.d]
	}
	u.scale(row, coefficient)
	return row
}

// at returns row h: a view that is valid until the next call.
func (t *table) at(h int) []float32 {
	if t.seeds == nil {
		return t.flat[h*t.d : (h+1)*t.d : (h+1)*t.d]
	}
	s := t.seeds[h]
	t.dir.draw(t.address(h, s.stage))
	t.dir.scale(t.row, s.coefficient)
	return t.row
}

// replace puts coefficient*u, spread out in q, in the place of row h, and brings v and abar up to date with [vec.Replace].
func (t *table) replace(h int, v, abar, q []float32, stage uint32, coefficient, byB, byM float32) {
	vec.Replace(t.at(h), v, abar, q, byB, byM)
	if t.seeds != nil {
		t.seeds[h] = seededRow{stage, coefficient}
	}
}

// mean stores the mean of all rows, summed from first to last.
func (t *table) mean(abar []float32, m int) {
	clear(abar)
	for h := range m {
		vec.Axpy(abar, 1, t.at(h))
	}
	vec.Scale(abar, 1/float32(m))
}
