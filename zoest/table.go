package zoest

import (
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// table is the memory table: a row a_h = coefficient*direction for each of the m components. A dense table holds the
// rows, a seeded one holds what it takes to compute them again. Both give the same bits.
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

// place returns room for a new row h, in a dense table the row itself. It is valid until the next call.
func (t *table) place(h int) []float32 {
	if t.seeds != nil {
		return t.row
	}
	return t.flat[h*t.d : (h+1)*t.d : (h+1)*t.d]
}

// at returns row h: a view that is valid until the next call.
func (t *table) at(h int) []float32 {
	row := t.place(h)
	if t.seeds != nil {
		s := t.seeds[h]
		t.dir.draw(t.address(h, s.stage))
		t.dir.scale(row, 0, s.coefficient)
	}
	return row
}

// note records the direction and the coefficient of row h.
func (t *table) note(h int, stage uint32, coefficient float32) {
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
