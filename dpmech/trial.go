package dpmech

import (
	"math/big"
	"math/bits"
)

// trial is a comparison: is base + Y*span/2^down below heights[0]*exp(-x^2/2), where x = (k+U)/2^cellBits? U and Y are
// uniform random numbers in (0, 1). u and y are their first 64 binary digits; further digits are drawn only if needed.
type trial struct {
	base, span, k, u, y uint64
	down                uint
}

// band is the minimum difference between the two sides of a trial, base rounded down and the density as computed, at
// which the result of the comparison is certain; see PROOF.md.
const band = 16

// compare sets accept to 1 if a point less than one unit above left is certainly below the density, and undecided to 1
// if the difference between left and right, the computed density, is less than band. If both results are 0, the point
// is certainly above the density. left and right must be below 2^62. The running time is constant.
func compare(left, right uint64) (accept, undecided uint64) {
	_, notBelow := bits.Sub64(right, left+band, 0)
	_, notAbove := bits.Sub64(left, right+band, 0)
	return 1 - notBelow, notBelow & notAbove
}

// taylor has the numbers 2^63/k!, rounded down.
var taylor = func() (c [17]uint64) {
	c[0] = 1 << 63
	for k := range c[1:] {
		c[k+1] = c[k] / uint64(k+1)
	}
	return c
}()

// expNeg returns 2^63*exp(-z/2^64) for z below 0.53*2^64, with an error below 3. It computes the even and the odd terms
// of the Taylor polynomial of degree 16 separately. The running time is constant.
func expNeg(z uint64) uint64 {
	square, _ := bits.Mul64(z, z)
	even, odd := taylor[16], taylor[15]
	for k := 14; k > 0; k -= 2 {
		e, _ := bits.Mul64(even, square)
		o, _ := bits.Mul64(odd, square)
		even, odd = taylor[k]+e, taylor[k-1]+o
	}
	even, _ = bits.Mul64(even, square)
	odd, _ = bits.Mul64(odd, z)
	return taylor[0] + even - odd
}

// scaled returns a*e/2^63, rounded down, for e up to 2^63.
func scaled(a, e uint64) uint64 {
	hi, lo := bits.Mul64(a, e)
	return hi<<1 | lo>>63
}

// exact decides the comparison with interval arithmetic. As long as the intervals of the two sides overlap, it draws 64
// more digits for each of U and Y with the function word.
func (t *trial) exact(word func() uint64) bool {
	u, y := new(big.Int).SetUint64(t.u), new(big.Int).SetUint64(t.y)
	span, peak, one := new(big.Int).SetUint64(t.span), new(big.Int).SetUint64(heights[0]), big.NewInt(1)
	more := func(digits *big.Int) {
		digits.Lsh(digits, 64).Or(digits, new(big.Int).SetUint64(word()))
	}
	for p := uint(64); ; p += 64 {
		// All numbers are in units of 2^-(p+down).
		low := new(big.Int).SetUint64(t.base)
		low.Lsh(low, p+t.down).Add(low, new(big.Int).Mul(y, span))
		high := new(big.Int).Add(low, span)

		x := new(big.Int).SetUint64(t.k)
		x.Lsh(x, p).Add(x, u)
		_, most := expBounds(x, p+cellBits, p)
		if most.Mul(most, peak).Lsh(most, t.down).Cmp(low) <= 0 {
			return false
		}
		least, _ := expBounds(x.Add(x, one), p+cellBits, p)
		if least.Mul(least, peak).Lsh(least, t.down).Cmp(high) >= 0 {
			return true
		}
		more(u)
		more(y)
	}
}

// expBounds returns a lower and an upper integer bound on 2^p * exp(-X^2/2), where X = x/2^scale. It evaluates the
// Taylor series at X^2/2^(1+halved) < 1/2 and then squares the result repeatedly. With 64+halved guard bits, the error
// is below 1 for up to 2^32 bits.
func expBounds(x *big.Int, scale, p uint) (least, most *big.Int) {
	v := new(big.Int).Mul(x, x)
	scale = 2*scale + 1
	halved := uint(max(0, v.BitLen()-int(scale)+1))
	work := p + 64 + halved
	if scale += halved; scale < work {
		v.Lsh(v, work-scale)
	} else {
		v.Rsh(v, scale-work)
	}
	sum, term := new(big.Int), new(big.Int).Lsh(big.NewInt(1), work)
	for k := int64(1); term.Sign() != 0; k++ {
		sum.Add(sum, term)
		term.Mul(term, v).Rsh(term, work).Quo(term, big.NewInt(k)).Neg(term)
	}
	for range halved {
		sum.Mul(sum, sum).Rsh(sum, work)
	}
	sum.Rsh(sum, work-p)
	return new(big.Int).Sub(sum, big.NewInt(1)), sum.Add(sum, big.NewInt(2))
}
