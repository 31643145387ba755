package dpmech

import "math/bits"

// The positive half-line is divided into a tail and 124 cells of width 1/16. heights[j] is heights[0]*exp(-x^2/2) at
// the left end of cell j, rounded down: the height of a rectangle below the density on cell j-1. A rectangle of height
// heights[j]+1 covers the density on cell j. The wedge of a cell is the difference between its two rectangles. The
// weights of the rectangles, the wedges and the tail add up to 2^63.
const (
	cells     = 124
	cellBits  = 4 // the width of a cell is 2^-cellBits
	tailCell  = cells
	wedges    = 128 // the wedge of cell j has the number wedges+j
	tailBits  = 2   // the tail consists of blocks of width 2^-tailBits
	cellsTail = 325618
)

var heights = [cells + 1]uint64{
	0x63a50aa572b9e8d, 0x63734492ae2768c, 0x62de8755a364a60, 0x61e88ef9dbfd360, 0x609435fc9c907f6, 0x5ee56731efd5429,
	0x5ce10a8ec4da1d5, 0x5a8ced5bd615569, 0x57efa672c048f1f, 0x5510773ee4acbff, 0x51f72a4dade74fe, 0x4eabf04518e79b5,
	0x4b373c1bc430828, 0x47a19f6b51458bf, 0x43f3a7ace6abdf2, 0x4035bd20ac059ef, 0x3c70040cf037153, 0x38aa40e93850f2b,
	0x34ebbfedc86ff05, 0x313b40626ac6096, 0x2d9ee3e86e567c0, 0x2a1c21dd28ea964, 0x26b7bed4be1bf14, 0x2375c811735d80d,
	0x205992c335efea9, 0x1d65bec5c92cbe4, 0x1a9c3c82ca04511, 0x17fe558f923dbfa, 0x158cb79620435fb, 0x134781136a39c3d,
	0x112e4f74b286569, 0xf404e2036de10e, 0xd7c45fb769ecbc, 0xbe0ad09ccf372b, 0xa6bb5c8a7d8021, 0x91b5dfaab8f4ba,
	0x7ed7ca00234353, 0x6dfcee7689542a, 0x5f003f0c0f129f, 0x51bc746a5fa0b6, 0x460ca004b9b09d, 0x3bcca87a9cd33c,
	0x32d9b094691527, 0x2b1269ad83c22e, 0x245752c5bb3899, 0x1e8ae5c1dc6992, 0x1991b49ab8860c, 0x1552785be5c131,
	0x11b613e281640a, 0xea78c4aa93df2, 0xc13f8eafc8d09, 0x9ea6ca2fbd549, 0x81bda1e46531f, 0x69af48604ada3,
	0x55c0ded9a2a5a, 0x454f499ff1980, 0x37cd015a88917, 0x2cbfed700a794, 0x23bf51646005a, 0x1c71d49f6e8d0,
	0x168ba9f3d6f08, 0x11ccda665048a, 0xdffb52502736, 0xaf7655115108, 0x88ead2fe8836, 0x6a6c5881214c, 0x5265f522e417,
	0x3f8c5785322d, 0x30d1c19980f2, 0x255baa31b531, 0x1c79e06d654f, 0x159f06497582, 0x105a39565b97, 0xc51c30db3e9,
	0x93ead2ba84a, 0x6e919a099e5, 0x52540fa2ca5, 0x3d0fd6806fa, 0x2d1cba83829, 0x2132e20262d, 0x1856125e81b,
	0x11c51fc9e6c, 0xcecc42145e, 0x95d3850c54, 0x6c20748249, 0x4dba94dce4, 0x37a8ad5b51, 0x27b333720d, 0x1c34e0ce42,
	0x13f660dd37, 0xe12a1391a, 0x9e1d21c32, 0x6e98d630c, 0x4d0efa840, 0x357b31764, 0x24f91b963, 0x1975fc2fa,
	0x117700154, 0xbeeeb0ad, 0x81f354f8, 0x5819cf67, 0x3b7ee4f8, 0x280587b0, 0x1ad11a1a, 0x11e6159f, 0xbe65edb,
	0x7e176e8, 0x532dc58, 0x36a8191, 0x23c6564, 0x1753182, 0xf25e24, 0x9cca51, 0x6508ae, 0x40d9ee, 0x2976d7, 0x1a6865,
	0x10c0c8, 0xa9630, 0x6a9f5, 0x42da6, 0x29c10, 0x19f9f, 0x1018f, 0x9efd,
}

// columns is the alias table (Walker, ACM TOMS 3, 1977) for the weights of the rectangles, the wedges and the tail. It
// has 256 columns of weight 2^55. In the entry for a column, the upper 56 bits are the weight of the item with the same
// number as the column; the lower 8 bits are the number of the item to which the rest of the column belongs.
var columns = aliasTable()

func aliasTable() (table [256]uint64) {
	const column = 1 << 55
	var weight [256]uint64
	for j := range cells {
		weight[j] = heights[j+1]
		weight[wedges+j] = heights[j] + 1 - heights[j+1]
	}
	weight[tailCell] = cellsTail
	small, large := make([]int, 0, len(weight)), make([]int, 0, len(weight))
	for i, w := range weight {
		if w < column {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		table[s] = weight[s]<<8 | uint64(l)
		if weight[l] -= column - weight[s]; weight[l] < column {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range large {
		table[i] = column<<8 | uint64(i)
	}
	return table
}

// cells draws round(2^shift * Z) for each element of dst by rejection sampling below a staircase that covers the
// density. Points in rectangles are always accepted; only points in wedges and in the tail need a test.
func (n *normal) cells(dst []int64, shift int) {
	for i := range dst {
		for {
			// The random number r has 8 bits for the column, 55 for the position in it, and one for the sign.
			r, u := n.word(), n.word()
			column := r >> 56
			cell := columns[column] & 255
			if r<<8>>9 < columns[column]>>8 {
				cell = column
			}
			x := cell&(wedges-1)<<(52-cellBits) | u>>(64-52+cellBits)
			kept := true
			if cell > tailCell {
				kept = n.wedge(cell-wedges, u)
			} else if cell == tailCell {
				x, kept = n.tail(heights[0], cellsTail, cells, cellBits, u)
			}
			if kept {
				dst[i] = round(x, r&1, shift)
				break
			}
		}
	}
}

// wedge draws a random height between the two rectangles of cell j and reports whether this height is below the density
// at x = (j+u/2^64)/16.
func (n *normal) wedge(j, u uint64) bool {
	t := trial{
		peak: heights[0], base: heights[j+1], span: heights[j] + 1 - heights[j+1],
		k: j, bits: cellBits, u: u, y: n.word(),
	}
	accept, undecided := compare(t.height(), cellDensity(j, u))
	if undecided == 1 {
		return t.exact(n.word)
	}
	return accept == 1
}

// cellDensity returns heights[0]*exp(-x^2/2) at x = (j+u/2^64)/16. The result is at most 1 too high or 3 too low.
func cellDensity(j, u uint64) uint64 {
	// With U = u/2^64, x^2/2 is (j/16)^2/2 + z, where z = U*(2j+U)/512 < 0.49.
	z, _ := bits.Mul64(u, j<<56)
	square, _ := bits.Mul64(u, u)
	return scaled(heights[j], expNeg(z+square>>9))
}

// tail draws a point in the tail, which begins after the given number of cells of width 2^-cellBits; u has the first
// digits of the point. It returns the digits of the point up to the 52nd after the binary point, and whether the point
// is accepted. The tail is a sequence of blocks of width 1/4 with weights weight/2, weight/4, ...
func (n *normal) tail(peak, weight, cells uint64, cellBits uint, u uint64) (x uint64, kept bool) {
	block := uint64(0)
	r := n.word()
	for ; r == 0; r = n.word() {
		block += 64
	}
	block += uint64(bits.TrailingZeros64(r))
	spread := cellBits - tailBits // a block is 2^spread cells wide
	t := trial{
		peak: peak, span: weight, down: uint(block) + 1 + spread,
		k: cells>>spread + block, bits: tailBits, u: u, y: n.word(),
	}
	return t.k<<(52-tailBits) | u>>(64-52+tailBits), t.exact(n.word)
}
