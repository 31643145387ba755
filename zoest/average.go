package zoest

import "github.com/spade-dfl/spade-edge/zoest/vec"

// table has a row of d numbers for each component, one after the other.
type table struct {
	d    int
	rows []float32
}

// row returns row h of the table.
func (t *table) row(h int) []float32 { return t.rows[h*t.d : (h+1)*t.d] }

// average is a table of which only the mean of all rows is used: abar, and the estimate v of eq. (5).
type average struct {
	table
	abar, v  []float32
	byB, byM float32 // 1/b and 1/m
	stale    int     // rows replaced since abar was recomputed
	renew    int     // the number of stale rows at which abar is recomputed
}

func newAverage(cfg Config, t table) average {
	return average{
		table: t, abar: make([]float32, cfg.Dim), v: make([]float32, cfg.Dim), renew: max(8*cfg.Samples, 1<<14),
		byB: 1 / float32(cfg.Batch), byM: 1 / float32(cfg.Samples),
	}
}

// mean sets abar to the mean of all rows. It adds the rows from first to last.
func (a *average) mean() {
	a.stale = 0
	clear(a.abar)
	for h := range len(a.rows) / a.d {
		vec.Axpy(a.abar, 1, a.row(h))
	}
	vec.Scale(a.abar, a.byM)
}

// step begins a local step: v is abar, the part of eq. (5) that is known before the queries.
func (a *average) step() {
	if a.stale >= a.renew {
		a.mean()
	}
	copy(a.v, a.abar)
}

func (a *average) estimate() (numbers []float32, factor float64) { return a.v, 1 }

// piece is the number of coordinates to process at a time: three vectors of this length fill half of a 48 KiB cache. It
// is a multiple of 64, so that a piece starts at a whole word of signs. Results do not depend on it, because within a
// piece, answers are added in the order of the queries.
const piece = 2048
