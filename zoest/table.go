package zoest

import "github.com/spade-dfl/spade-edge/zoest/vec"

// table is the memory table. It has a row a_h = coefficient*direction for each of the m components. A dense table
// stores the rows; a seeded table recomputes them, with the same bits.
type table struct {
	flat []float32 // dense: m rows of d numbers in one slice, allocated once

	seeds []seededRow // seeded
	rows  []uint32    // seeded, Walsh directions: the numbers of the rows' directions
	row   []float32   // seeded: buffer for one row
	dir   direction   // seeded: buffer for one direction
}

// seededRow contains what is needed to recompute a row: its coefficient, and the stage that drew its direction.
type seededRow struct {
	stage       uint32 // 0: the table was filled; t+1: local step t
	coefficient float32
}

func newTable(cfg Config) (t table) {
	switch {
	case cfg.Seeded:
		t.seeds, t.row = make([]seededRow, cfg.Samples), make([]float32, cfg.Dim)
		t.dir = make(direction, vec.SignWords(cfg.Dim))
		if cfg.Directions == Walsh {
			t.rows = make([]uint32, cfg.Samples)
		}
	case cfg.Kind != Tracking: // the rows of Tracking belong to the model
		t.flat = make([]float32, cfg.Samples*cfg.Dim)
	}
	return t
}

// row returns row h of the table. If the table is seeded, the result is a copy that is valid until the next call.
func (e *Estimator) row(h int) []float32 {
	t, d := &e.table, e.cfg.Dim
	if t.seeds == nil {
		return t.flat[h*d : (h+1)*d]
	}
	s := t.seeds[h]
	if e.walsh != nil {
		e.walsh.signs(t.dir, e.round, s.stage)
		hadamard(t.dir, t.dir, t.rows[h], e.walsh.bits)
	} else {
		stream := e.fills.At(e.round, 0, uint32(h))
		if s.stage > 0 {
			stream = e.steps.At(e.round, s.stage-1, uint32(h))
		}
		stream.Fill(t.dir)
	}
	vec.SignScale(t.row, s.coefficient, t.dir)
	return t.row
}

// mean sets abar to the mean of all rows. It adds the rows from first to last.
func (e *Estimator) mean() {
	clear(e.abar)
	for h := range e.cfg.Samples {
		vec.Axpy(e.abar, 1, e.row(h))
	}
	vec.Scale(e.abar, 1/float32(e.cfg.Samples))
}
