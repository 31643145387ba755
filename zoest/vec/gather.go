package vec

// GatherLanes divides the number of sums that [Gather] makes side by side.
const GatherLanes = 12

// Entry is a number of a sparse vector, and its place.
type Entry struct {
	At uint32
	X  float32
}

// Gather adds the rows of a matrix that a sparse vector names, each times its number, one after the other and in
// float64: z[l] += X*rows[At*len(z)+l]. It panics where a row is not there, or the length of z is no multiple of
// [GatherLanes].
func Gather(z []float64, entries []Entry, rows []float64) {
	if len(z)%GatherLanes != 0 {
		panic("vec: Gather of rows that are no multiple of 12 numbers")
	}
	if !gather(z, entries, rows) {
		panic("vec: Gather of a row that is not there")
	}
}

// gatherGo is the definition. Six sums at a time have room in the registers of every processor. It reports whether all
// rows are there; if not, z is left as it is.
func gatherGo(z []float64, entries []Entry, rows []float64) bool {
	width, last := len(z), int64(len(rows)-len(z)) // where the last row may begin
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
