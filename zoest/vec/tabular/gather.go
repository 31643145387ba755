package tabular

// GatherLanes divides the number of sums that [Gather] computes.
const GatherLanes = 12

// Entry is a nonzero number of a sparse vector, and its index.
type Entry struct {
	At uint32
	X  float32
}

// Gather multiplies a sparse vector by a matrix of float64 numbers, given row by row, and adds the product to z. The
// width of the matrix is len(z), a multiple of [GatherLanes]. Gather adds the terms of each sum one after the other, in
// the order of the entries: z[l] += X*rows[At*len(z)+l]. It panics if an entry has no row, or if the width is invalid.
func Gather(z []float64, entries []Entry, rows []float64) {
	if len(z)%GatherLanes != 0 {
		panic("tabular: Gather: the width is not a multiple of 12")
	}
	if !gather(z, entries, rows) {
		panic("tabular: Gather: an entry has no row")
	}
}

// gatherGo is the definition of gather. It computes six sums at a time, because six fit into the registers of every
// processor. It returns false, with z unchanged, if an entry has no row.
func gatherGo(z []float64, entries []Entry, rows []float64) bool {
	width, last := len(z), int64(len(rows)-len(z)) // the last row begins at index last
	for ; len(z) > 0; z, rows = z[6:], rows[min(6, len(rows)):] {
		s := z[:6:6]
		s0, s1, s2, s3, s4, s5 := s[0], s[1], s[2], s[3], s[4], s[5]
		for _, e := range entries {
			at := int64(e.At) * int64(width)
			if at > last {
				return false
			}
			x, r := float64(e.X), rows[at:at+6:at+6]
			s0 += float64(x * r[0])
			s1 += float64(x * r[1])
			s2 += float64(x * r[2])
			s3 += float64(x * r[3])
			s4 += float64(x * r[4])
			s5 += float64(x * r[5])
		}
		s[0], s[1], s[2], s[3], s[4], s[5] = s0, s1, s2, s3, s4, s5
	}
	return true
}
