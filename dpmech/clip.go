package dpmech

import (
	"math"
	"math/bits"
)

// ball is the set of integer vectors q with |gamma*q| <= r, where gamma is the step of the fine grid. These are the
// possible clipped rows in units of gamma.
type ball struct {
	r, gamma float64
	radius   uint64 // floor(r/gamma), the bound of each coordinate
	hi, lo   uint64 // floor((r/gamma)^2), the bound of the sum of squares, in 128 bits
}

// newBall computes the ball exactly. r/gamma must be in [1, 2^60). Valid parameters with the result of gridBits lead to
// r/gamma in [2^16, 2^48].
func newBall(r, gamma float64) ball {
	// r/gamma = 2^shift * a/b with a, b in [2^52, 2^53).
	fa, ea := math.Frexp(r)
	fb, eb := math.Frexp(gamma)
	a, b, shift := uint64(fa*(1<<53)), uint64(fb*(1<<53)), uint(ea-eb)
	// r/gamma = n + m/b, 0 <= m < b.
	n, m := bits.Div64(a>>(64-shift), a<<shift, b)
	// With 2nm = q*b + k, the square of r/gamma is n^2 + q + k/b + (m/b)^2. The sum of the last two terms is below 2,
	// so the square, rounded down, is n^2 + q or n^2 + q + 1.
	hi, lo := bits.Mul64(2*n, m)
	q, k := bits.Div64(hi, lo, b)
	fracHi, fracLo := bits.Mul64(m, m)
	restHi, restLo := bits.Mul64(b, b-k)
	if fracHi > restHi || fracHi == restHi && fracLo >= restLo {
		q++
	}
	var carry uint64
	hi, lo = bits.Mul64(n, n)
	lo, carry = bits.Add64(lo, q, 0)
	return ball{r, gamma, n, hi + carry, lo}
}

// holds reports whether the vector of onGrid(x, scale), for all x in row, is in the ball. Squares are exact. Each
// coordinate is at most 2^48, so the sum of squares can exceed 128 bits only if there are at least 2^32 coordinates; a
// vector whose sum exceeds 128 bits is outside the ball.
func (b *ball) holds(row []float32, scale float64) bool {
	if b.hi == 0 && bits.Len64(b.lo)+bits.Len(uint(len(row))) <= 64 { // if no coordinate exceeds the radius, the sum fits 64 bits
		var sum, most uint64
		for _, x := range row {
			q := onGrid(x, scale)
			abs := uint64(max(q, -q))
			most = max(most, abs)
			sum += abs * abs
		}
		return most <= b.radius && sum <= b.lo
	}
	var hi, lo, carry, over uint64
	for _, x := range row {
		q := onGrid(x, scale)
		abs := uint64(max(q, -q))
		if abs > b.radius {
			return false
		}
		pHi, pLo := bits.Mul64(abs, abs)
		lo, carry = bits.Add64(lo, pLo, 0)
		hi, carry = bits.Add64(hi, pHi, carry)
		over |= carry
	}
	return over == 0 && (hi < b.hi || hi == b.hi && lo <= b.lo)
}

// onGrid returns x*scale truncated toward zero, as an integer of the fine grid.
func onGrid(x float32, scale float64) int64 { return int64(float64(float64(x) * scale)) }

// clip returns the scale with which onGrid projects factor*row onto the ball. It checks the truncated result in integer
// arithmetic. If the result is 0, the projection is the zero vector, as for a row with a NaN or an infinity.
//
// The first scale, factor/gamma times at most r/|factor*row|, may be too large because of rounding errors in |row|. With
// u = 2^-53: squares of float32 values are exact in float64, so the computed |row| is at least the true |row| times
// (1-u)^(d/2+1), and each of the six further roundings adds at most a factor of 1+u. The second scale is smaller by the
// factor 1-(d+16)u, which outweighs these errors. Truncation toward zero can only shorten the vector.
func (b *ball) clip(row []float32, factor float64) (scale float64) {
	sum := squares(row)
	if !(sum <= math.MaxFloat64) || sum == 0 { // squares of finite float32 values sum to less than MaxFloat64
		return 0
	}
	scale = factor / b.gamma
	if norm := math.Sqrt(sum) * math.Abs(factor); norm > b.r {
		scale *= b.r / norm
	}
	if b.holds(row, scale) {
		return scale
	}
	scale *= 1 - 0x1p-53*float64(len(row)+16)
	if b.holds(row, scale) {
		return scale
	}
	return 0 // unreachable; if it were reached, releasing the zero vector would be private, too
}

// squares returns the sum of the squares of row, computed as four interleaved sums that are added in a fixed order.
func squares(row []float32) float64 {
	var a, b, c, d float64
	for ; len(row) >= 4; row = row[4:] {
		a += float64(float64(row[0]) * float64(row[0]))
		b += float64(float64(row[1]) * float64(row[1]))
		c += float64(float64(row[2]) * float64(row[2]))
		d += float64(float64(row[3]) * float64(row[3]))
	}
	for _, x := range row {
		a += float64(float64(x) * float64(x))
	}
	return (a + b) + (c + d)
}
