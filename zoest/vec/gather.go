package vec

// GatherLanes is how many sums [Gather] makes side by side.
const GatherLanes = 12

// Entry is a number of a sparse vector, and its place.
type Entry struct {
	At uint32
	X  float32
}

// Gather adds the rows that a sparse vector names, each times its number, one after the other and in float64:
// z[l] += X*rows[At][l]. A row that is not there panics.
func Gather(z *[GatherLanes]float64, entries []Entry, rows [][GatherLanes]float64) {
	if !gather(z, entries, rows) {
		panic("vec: Gather of a row that is not there")
	}
}

// gatherGo is the definition. Half the sums at a time have room in the registers of every processor. It reports whether
// all rows are there; if not, z is left as it is.
func gatherGo(z *[GatherLanes]float64, entries []Entry, rows [][GatherLanes]float64) bool {
	sums := *z
	for from := 0; from < GatherLanes; from += GatherLanes / 2 {
		s := sums[from : from+6 : from+6]
		s0, s1, s2, s3, s4, s5 := s[0], s[1], s[2], s[3], s[4], s[5]
		for _, e := range entries {
			if uint64(e.At) >= uint64(len(rows)) {
				return false
			}
			x, r := float64(e.X), rows[e.At][from:from+6:from+6]
			s0 += float64(x * r[0])
			s1 += float64(x * r[1])
			s2 += float64(x * r[2])
			s3 += float64(x * r[3])
			s4 += float64(x * r[4])
			s5 += float64(x * r[5])
		}
		s[0], s[1], s[2], s[3], s[4], s[5] = s0, s1, s2, s3, s4, s5
	}
	*z = sums
	return true
}
