package zoest

import "github.com/spade-dfl/spade-edge/zoest/vec"

// row returns row h of the table.
func (e *Estimator) row(h int) []float32 {
	d := e.cfg.Dim
	return e.table[h*d : (h+1)*d]
}

// mean sets abar to the mean of all rows. It adds the rows from first to last.
func (e *Estimator) mean() {
	clear(e.abar)
	for h := range e.cfg.Samples {
		vec.Axpy(e.abar, 1, e.row(h))
	}
	vec.Scale(e.abar, 1/float32(e.cfg.Samples))
}
