package tabular

import "github.com/spade-dfl/spade-edge/zoest/vec"

// DotRows sets z[i] to the dot product of x[i] and row rows[i] of a table, in the same order as [vec.Dot]. The rows of the
// table are adjacent and have the length of x[0]. If a row does not exist, or if any x[i] has a different length,
// DotRows returns false and does nothing.
func DotRows(z []float64, x [][]float32, table []float32, rows []int) bool {
	x, rows = x[:len(z)], rows[:len(z)]
	if len(z) == 0 {
		return true
	}
	d := len(x[0])
	n := uint(len(table) / max(1, d))
	for i, row := range rows {
		if uint(row) >= n || len(x[i]) != d {
			return false
		}
	}
	if shortDots(d) {
		dotRows(z, x, table, rows)
		return true
	}
	for i, row := range rows {
		z[i] = vec.Dot(x[i], table[row*d:row*d+d])
	}
	return true
}
