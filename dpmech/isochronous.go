package dpmech

import "math/bits"

// isoHeights is the counterpart of heights for the isochronous sampler: it has the heights of 34 cells of width 1/4.
// Each cell has one rectangle, which covers the density; there are no wedges.
const (
	isoCells    = 34
	isoCellBits = 2
	isoTail     = 689
)

var isoHeights = [isoCells + 1]uint64{
	0x17377e20f2b5bcde, 0x1680a171e6e4a5b7, 0x147d1d27dfba20a5, 0x1186623753d9c84a, 0xe14e9194ebe9935,
	0xaa12115cf4f58ec, 0x78991cf1e219360, 0x5055ed509d772df, 0x3245d40944258e2, 0x1d8dc81fdb78bd0, 0x105238b44cd710f,
	0x877a1fc84fa9fe, 0x4206b7a577b08c, 0x1e3aa0bf1942cf, 0xd0057a709c8bb, 0x540c59a92b3a1, 0x1fe6af761ef1c,
	0xb5febddd4abe, 0x3cf5f192aa05, 0x132ea0c764c1, 0x5ab943143a5, 0x19316c1e543, 0x6926eadb96, 0x19c4c3b0d8,
	0x5eea95183, 0x1486efddb, 0x42b9aee8, 0xcbc18a6, 0x24880c8, 0x627245, 0xf9394, 0x250b3, 0x52c2, 0xadb, 0x156,
}

// isoSteps[j] has the largest random number that selects one of the cells 0 to j, and the decrease in height from cell
// j to the next cell.
var isoSteps = func() (steps [isoCells]struct{ last, fall uint64 }) {
	last := ^uint64(0)
	for j := range steps {
		last += isoHeights[j] + 1
		steps[j].last, steps[j].fall = last, isoHeights[j]-isoHeights[j+1]
	}
	return steps
}()

// isochronous draws round(2^shift * Z) for each element of dst. Its running time reveals nothing about the draws,
// except with a probability below 2^-52 for each draw. Section 7 of part 2 of PROOF.md has the proof and the
// requirements on the processor.
func (n *normal) isochronous(dst []int64, shift int) {
	for i := range dst {
		for {
			r, u, y := n.word(), n.word(), n.word()
			cell, height := isoCell(r >> 1)
			x := cell<<(52-isoCellBits) | u>>(64-52+isoCellBits)
			t := trial{peak: isoHeights[0], span: height + 1, k: cell, bits: isoCellBits, u: u, y: y}
			accept, undecided := compare(t.height(), isoDensity(cell, height, u))
			kept := accept == 1
			if cell == isoCells {
				x, kept = n.tail(isoHeights[0], isoTail, isoCells, isoCellBits, u)
			} else if undecided == 1 {
				kept = t.exact(n.word)
			}
			if kept {
				dst[i] = round(x, r&1, shift)
				break
			}
		}
	}
}

// isoCell returns the cell that the random number r in [0, 2^63) selects, and the height of this cell in isoHeights. If
// r selects the tail, isoCell returns isoCells.
func isoCell(r uint64) (cell, height uint64) {
	height = isoHeights[0]
	for j := range isoSteps {
		s := &isoSteps[j]
		beyond := uint64(int64(s.last-r) >> 63) // all ones if r > last
		cell -= beyond
		height -= s.fall & beyond
	}
	return cell, height
}

// isoDensity returns isoHeights[0]*exp(-x^2/2) at x = (cell+u/2^64)/4, with an error of at most 5. The parameter height
// is the height of the cell. For the tail, height must be 0, and the result is 0.
func isoDensity(cell, height, u uint64) uint64 {
	// With j = cell and U = u/2^64, x^2/2 = (j/4)^2/2 + 4z, where z = U(2j+U)/128 < 0.53.
	z, _ := bits.Mul64(u, cell<<58)
	square, _ := bits.Mul64(u, u)
	e := expNeg(z + square>>7)
	e = scaled(e, e)
	return scaled(height, scaled(e, e))
}
