package zoest

import "github.com/spade-dfl/spade-edge/zoest/vec"

// table is the memory table: a row a_h = coefficient*direction for each of the m components. A dense table holds the
// rows, a seeded one holds what it takes to compute them again. Both give the same bits.
type table struct {
	d    int
	flat []float32 // dense: m rows of d numbers in one slice, allocated once

	seeds  []seededRow // seeded
	rows   []uint32    // and with Walsh directions the numbers of their rows
	row    []float32   // room for one row
	dir    direction   // and for its direction
	redraw func(u direction, h int, s seededRow)
}

// seededRow names the direction of a row by the stage of the round that drew it.
type seededRow struct {
	stage       uint32 // 0: the table was filled; t+1: local step t
	coefficient float32
}

func newTable(cfg Config, redraw func(u direction, h int, s seededRow)) table {
	t := table{d: cfg.Dim, redraw: redraw}
	switch {
	case cfg.Seeded:
		t.seeds, t.row = make([]seededRow, cfg.Samples), make([]float32, cfg.Dim)
		t.dir = make(direction, vec.SignWords(cfg.Dim))
		if cfg.Directions == Walsh {
			t.rows = make([]uint32, cfg.Samples)
		}
	case cfg.Kind != Tracking: // whose rows are the model's
		t.flat = make([]float32, cfg.Samples*cfg.Dim)
	}
	return t
}

// at returns row h, in a seeded table a copy that is valid until the next call.
func (t *table) at(h int) []float32 {
	if t.seeds == nil {
		return t.flat[h*t.d : (h+1)*t.d]
	}
	s := t.seeds[h]
	t.redraw(t.dir, h, s)
	vec.SignScale(t.row, s.coefficient, t.dir)
	return t.row
}

// mean stores the mean of all rows, summed from first to last.
func (t *table) mean(abar []float32, m int) {
	clear(abar)
	for h := range m {
		vec.Axpy(abar, 1, t.at(h))
	}
	vec.Scale(abar, 1/float32(m))
}
