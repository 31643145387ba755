package zoest

// table is the memory table: one row a_h of d numbers for each of the m components, in one flat slice that is
// allocated once.
type table struct {
	flat []float32
	d    int
}

func newTable(m, d int) table { return table{flat: make([]float32, m*d), d: d} }

// row returns a_h; the slice is a view.
func (t table) row(h int) []float32 { return t.flat[h*t.d : (h+1)*t.d : (h+1)*t.d] }
