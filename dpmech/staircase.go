package dpmech

import "math/bits"

// The positive half-line is divided into cells of width 2^-cellBits and a tail. heights[j] is heights[0]*exp(-x^2/2) at
// the left end of cell j, rounded down. A rectangle of height heights[j]+1 covers the density on cell j. The weights of
// the rectangles and of the tail add up to 2^63.
const (
	cells      = 17
	cellBits   = 1
	tailWeight = 1256
)

var heights = [cells + 1]uint64{
	0x2a92964963184d0d, 0x2591f82565511dbb, 0x19d253c33c244b98, 0xdd240d0549d9b00, 0x5c2f69f2c237694,
	0x1ded9ba1d341dd3, 0x79128692304bae, 0x17d72f18c135b7, 0x3a7f41d87b81b, 0x6fc8a175e93b, 0xa65c2e3c524,
	0xc0d13d4242, 0xae0c5438d, 0x7a5ab20c, 0x42fcdbf, 0x1c9006, 0x97c1, 0x273,
}

// steps[j] has the last unit of area that belongs to one of the cells 0 to j, the area of cell j, and the decrease in
// height from cell j to the next cell.
var steps = func() (steps [cells]struct{ last, area, fall uint64 }) {
	last := ^uint64(0)
	for j := range steps {
		s := &steps[j]
		s.area, s.fall = heights[j]+1, heights[j]-heights[j+1]
		last += s.area
		s.last = last
	}
	return steps
}()

// normals sets each element of dst to round(2^shift * Z), with an independent standard normal number Z for each
// element. It is exact if word returns independent, uniform random numbers: it draws points below the staircase, and
// keeps those below the density. Its running time reveals nothing about dst, except with a probability below 2^-52 for
// each point. Part 2 of PROOF.md has the proof and the requirements on the processor.
func normals(dst []int64, shift int, word func() uint64) {
	for i := range dst {
		for {
			r, u := word(), word()
			cell, height, under := locate(r >> 1)
			x := cell<<(52-cellBits) | u>>(64-52+cellBits)
			accept, undecided := compare(under, density(cell, height, u))
			kept := accept == 1
			if cell == cells {
				x, kept = tail(u, word)
			} else if undecided == 1 {
				t := trial{base: under, span: 1, k: cell, u: u, y: word()}
				kept = t.exact(word)
			}
			if kept {
				dst[i] = round(x, r&1, shift)
				break
			}
		}
	}
}

// locate finds the unit of area with the number r in [0, 2^63) in the staircase: its cell, heights[cell], and the
// number of units under it in this cell. If r is in the tail, cell is cells. The running time is constant.
func locate(r uint64) (cell, height, under uint64) {
	height, under = heights[0], r
	for j := range steps {
		s := &steps[j]
		_, beyond := bits.Sub64(s.last, r, 0) // 1 if r > last
		cell += beyond
		height -= s.fall & -beyond
		under -= s.area & -beyond
	}
	return cell, height, under
}

// density returns heights[0]*exp(-x^2/2) at x = (cell+u/2^64)/2; the result is at most 12 too high or 10 too low. The
// parameter height is heights[cell]. The running time is constant.
func density(cell, height, u uint64) uint64 {
	// With j = cell and U = u/2^64, x^2/2 is (j/2)^2/2 + 8z, where z = U(2j+U)/64 < 0.53.
	z, _ := bits.Mul64(u, cell<<59)
	square, _ := bits.Mul64(u, u)
	e := expNeg(z + square>>6)
	for range 3 {
		e = scaled(e, e)
	}
	return scaled(height, e)
}

// tail draws a point in the tail. u has the first digits of the point. It returns the digits of the point up to the
// 52nd after the binary point, and whether the point is below the density. The tail is a sequence of blocks, as wide as
// a cell, with weights tailWeight/2, tailWeight/4, ...
func tail(u uint64, word func() uint64) (x uint64, kept bool) {
	block := uint64(0)
	r := word()
	for ; r == 0; r = word() {
		block += 64
	}
	block += uint64(bits.TrailingZeros64(r))
	t := trial{span: tailWeight, down: uint(block) + 1, k: cells + block, u: u, y: word()}
	return t.k<<(52-cellBits) | u>>(64-52+cellBits), t.exact(word)
}
