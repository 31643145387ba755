package wire

import "math"

// evenness finds planes that huff0 would make no use of, without their code. The zero value is ready.
type evenness struct {
	low       [planes - 1][256]uint8 // counts of each plane's bytes
	of, pairs int                    // of planes of so many bytes, those with fewer pairs are taken
}

// evenLast is the least last symbol of a plane that even takes.
const evenLast = 224

// even reports which of the lower planes of v are so evenly spread that they get shorter by two bytes at most. It does
// not find all of these, nor any of more than 255 bytes. It is far cheaper than the code.
//
// It goes by the pairs of equal bytes. A plane of n bytes takes at least n*log2(n*n/(n+2*pairs)) bits: its entropy is at
// least that of order two, and n+2*pairs is the sum of the squared counts. To this come ten bytes: the lengths of three
// streams (6), the bits that end four, the length of the table and the head of its weights (2, of 9 bits or more), less
// roundings; and the weights' own bits.
//
// These are coded by fse with 2^5 states, x of 32..63. A weight that has n of the states takes x to y = x>>bits, one of
// n..2n-1, and y to the state of rank y-n among its own, which is 32+y-n or more. So it takes, up to a sum that
// telescopes, log2((32+y-n+1)/(y+1)) bits or more, thus log2((32+n)/(2n)) for the last y. The two states at the end, of
// 5 bits each, pay for what the telescopes hold back. Let the weights other than 0 share all of their states: none
// takes more bits then. What is left to choose is how many of the 32 states weight 0 has.
func (e *evenness) even(v []float32) (even [planes]bool) {
	n := len(v)
	if n < huffLeast || n > 255 {
		return even
	}
	if e.of != n {
		for e.of, e.pairs = n, 0; evenFits(n, e.pairs); e.pairs++ {
		}
	}
	clear(e.low[:])
	var pairs [planes - 1]int
	for _, x := range v {
		u := math.Float32bits(x)
		a, b, c := &e.low[0][byte(u)], &e.low[1][byte(u>>8)], &e.low[2][byte(u>>16)]
		pairs[0] += int(*a)
		pairs[1] += int(*b)
		pairs[2] += int(*c)
		*a++
		*b++
		*c++
	}
	for i, p := range pairs {
		for last := evenLast; last < 256 && !even[i]; last++ {
			even[i] = p < e.pairs && e.low[i][last] > 0
		}
	}
	return even
}

// evenFits computes what even says.
func evenFits(n, pairs int) bool {
	// Of the weights so many at least, and at most, are not 0; what lies between takes no fewer bits than one of them.
	fewest, most := n-pairs-1, min(n-1, evenLast)
	bits := float64(n) * math.Log2(float64(n*n)/float64(n+2*pairs))
	return fewest >= 0 && bits+min(weightBits(fewest), weightBits(most)) >= float64(8*n-100)
}

// weightBits returns a lower bound of the bits of evenLast weights or more, so many of which are not 0, with those of
// the states at the end.
func weightBits(symbols int) float64 {
	each := func(n int) float64 { return math.Log2(float64(32+n) / float64(2*n)) }
	least := math.Inf(1)
	for states := 1; states < 32; states++ {
		least = min(least, float64(evenLast-symbols)*each(states)+float64(symbols)*each(32-states))
	}
	return least
}
