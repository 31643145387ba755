package dpmech

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const bigBits = 640

func bigInt(x uint64) *big.Float {
	return new(big.Float).SetPrec(bigBits).SetInt(new(big.Int).SetUint64(x))
}

// bigFraction returns the number in [0, 1) with the given digits in base 2^64.
func bigFraction(digits ...uint64) *big.Float {
	x := bigInt(0)
	for i, d := range digits {
		x.Add(x, new(big.Float).SetMantExp(bigInt(d), -64*(i+1)))
	}
	return x
}

// bigExp returns exp(-v) with a relative error of about 2^-600. It computes the exponential series of v/2^32, whose
// terms are all positive, and squares its reciprocal 32 times.
func bigExp(v *big.Float) *big.Float {
	const halved = 32
	w := new(big.Float).SetMantExp(v, -halved)
	sum, term := bigInt(0), bigInt(1)
	for k := uint64(1); term.Sign() != 0 && sum.MantExp(nil)-term.MantExp(nil) < bigBits; k++ {
		sum.Add(sum, term)
		term.Mul(term, w).Quo(term, bigInt(k))
	}
	for range halved {
		sum.Mul(sum, sum)
	}
	return sum.Quo(bigInt(1), sum)
}

// bigDensity returns peak*exp(-x^2/2) at x = (k+fraction)/2^bits.
func bigDensity(peak, k uint64, bits uint, fraction *big.Float) *big.Float {
	x := new(big.Float).Add(bigInt(k), fraction)
	x.SetMantExp(x, -int(bits))
	x.Mul(x, x)
	return x.Mul(bigInt(peak), bigExp(x.SetMantExp(x, -1)))
}

func minus(a, b *big.Float) float64 {
	d, _ := new(big.Float).Sub(a, b).Float64()
	return d
}

// corner returns either a random number or a number whose bits are nearly all equal.
func corner(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return r.Uint64() >> r.IntN(65)
	case 1:
		return ^(r.Uint64() >> r.IntN(65))
	}
	return r.Uint64()
}

// trials returns the number of repetitions of a test: the given maximum with SPADE_LONG, a twentieth of it with -short,
// otherwise a quarter of it.
func trials(t *testing.T, most int) int {
	t.Helper()
	switch {
	case testing.Short():
		return most / 20
	case long:
		return most
	}
	return most / 4
}

func TestExpNeg(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	limit := uint64(math.Ldexp(0.53, 64))
	var worst float64
	for range trials(t, 10000) {
		z := corner(r) % limit
		want := bigExp(bigFraction(z))
		diff := minus(bigInt(expNeg(z)), want.SetMantExp(want, 63))
		if worst = max(worst, math.Abs(diff)); worst >= 3 {
			t.Fatalf("expNeg(%#x) is %.2f too high", z, diff)
		}
	}
	if worst < 0.5 {
		t.Errorf("the largest error is %v: not even the rounding shows", worst)
	}
}

// TestDensities checks that the errors of the two densities stay within the bounds derived in PROOF.md, for the
// smallest and the largest number that begins with the digits u.
func TestDensities(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range trials(t, 5000) {
		u := corner(r)
		j, k := uint64(r.IntN(cells)), uint64(r.IntN(isoCells))
		for _, next := range []uint64{0, math.MaxUint64} {
			for _, c := range []struct {
				name      string
				got       uint64
				want      *big.Float
				high, low float64
			}{
				{"cells", cellDensity(j, u), bigDensity(heights[0], j, cellBits, bigFraction(u, next)), 1, 3},
				{"isochronous", isoDensity(k, isoHeights[k], u), bigDensity(isoHeights[0], k, isoCellBits, bigFraction(u, next)),
					5, 5},
			} {
				if diff := minus(bigInt(c.got), c.want); diff > c.high || diff < -c.low {
					t.Fatalf("%s: cells %d and %d, u %#x: %.2f too high, may be %v too high or %v too low", c.name, j, k, u, diff,
						c.high, c.low)
				}
			}
		}
	}
}

func TestCompare(t *testing.T) {
	for _, at := range []uint64{0, 8, 1000, 1 << 61} {
		for d := range uint64(20) {
			for _, c := range []struct{ left, right, accept, undecided uint64 }{
				{at, at + d, min(d/band, 1), 1 - min(d/band, 1)},
				{at + d, at, 0, 1 - min(d/band, 1)},
			} {
				if accept, undecided := compare(c.left, c.right); accept != c.accept || undecided != c.undecided {
					t.Fatalf("compare(%d, %d) is %d, %d; want %d, %d", c.left, c.right, accept, undecided, c.accept, c.undecided)
				}
			}
		}
	}
}

// nearly generates the given number of trials for both samplers, and passes each trial with its computed density to the
// function do. In most of the trials, the two sides of the comparison are equal or nearly equal.
func nearly(r *rand.Rand, count int, do func(t trial, density uint64)) {
	for i := range count {
		t, density := trial{u: corner(r)}, uint64(0)
		if i%2 == 0 {
			t.peak, t.bits, t.k = heights[0], cellBits, uint64(r.IntN(cells))
			t.base, t.span = heights[t.k+1], heights[t.k]+1-heights[t.k+1]
			density = cellDensity(t.k, t.u)
		} else {
			t.peak, t.bits, t.k = isoHeights[0], isoCellBits, uint64(r.IntN(isoCells))
			t.span = isoHeights[t.k] + 1
			density = isoDensity(t.k, isoHeights[t.k], t.u)
		}
		if t.y = corner(r); i%8 > 1 {
			y := new(big.Int).SetUint64(density + uint64(r.IntN(4*band)))
			y.Sub(y, new(big.Int).SetUint64(t.base+2*band)).Lsh(y, 64).Div(y, new(big.Int).SetUint64(t.span))
			if y.Sign() >= 0 && y.BitLen() <= 64 {
				t.y = y.Uint64()
			}
		}
		do(t, density)
	}
}

// TestCompareIsCertain checks that if compare reports a result as certain, the result is correct for all numbers that
// begin with the 64 known digits.
func TestCompareIsCertain(t *testing.T) {
	var accepted, rejected, undecided int
	nearly(rand.New(rand.NewPCG(3, 3)), trials(t, 10000), func(tr trial, density uint64) {
		height := func(next uint64) *big.Float {
			h := new(big.Float).Mul(bigInt(tr.span), bigFraction(tr.y, next))
			return h.Add(h, bigInt(tr.base))
		}
		accept, open := compare(tr.height(), density)
		switch {
		case open == 1:
			undecided++
		case accept == 1:
			accepted++
			if height(math.MaxUint64).Cmp(bigDensity(tr.peak, tr.k, tr.bits, bigFraction(tr.u, math.MaxUint64))) >= 0 {
				t.Fatalf("%+v is accepted, and may be above the density", tr)
			}
		default:
			rejected++
			if height(0).Cmp(bigDensity(tr.peak, tr.k, tr.bits, bigFraction(tr.u))) <= 0 {
				t.Fatalf("%+v is rejected, and may be below the density", tr)
			}
		}
	})
	t.Logf("%d accepted, %d rejected, %d undecided", accepted, rejected, undecided)
	if min(accepted, rejected, undecided) < 50 {
		t.Error("one of the three outcomes was hardly seen")
	}
}

// TestExact compares exact with a reference that knows 384 bits of each of the random numbers U and Y and computes with
// 640 bits. In some of the trials, the two sides of the compared inequality agree in their first 64, 128, 192 or more
// bits, so that exact must draw further bits.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	used := map[int]int{}
	nearly(r, trials(t, 3000), func(tr trial, _ uint64) {
		if r.IntN(4) == 0 { // as in the tail, where span is divided by a large power of two
			tr.base, tr.down = 0, uint(r.IntN(90))
			tr.k += uint64(r.IntN(100))
		}
		const digits = 6
		us, ys := []uint64{tr.u}, []uint64{tr.y}
		for range digits - 1 {
			us, ys = append(us, corner(r)), append(ys, corner(r))
		}
		density := bigDensity(tr.peak, tr.k, tr.bits, bigFraction(us...))
		// Solve base + span*y/2^down = density for y. Replace some digits of ys with the leading digits of the
		// solution, so that the two sides of the equation are nearly equal.
		y := new(big.Float).Sub(density, bigInt(tr.base))
		y.SetMantExp(y.Quo(y, bigInt(tr.span)), int(tr.down))
		if y.Sign() > 0 && y.Cmp(bigInt(1)) < 0 {
			for i := range r.IntN(digits) {
				y.SetMantExp(y, 64)
				d, _ := y.Uint64()
				ys[i] = d
				y.Sub(y, bigInt(d))
			}
		}
		tr.y = ys[0]
		left := new(big.Float).Mul(bigInt(tr.span), bigFraction(ys...))
		want := left.SetMantExp(left, -int(tr.down)).Add(left, bigInt(tr.base)).Cmp(density) < 0

		words := 0
		got := tr.exact(func() uint64 {
			words++
			if i := (words + 1) / 2; i < digits {
				return [][]uint64{us, ys}[1-words%2][i]
			}
			return 0
		})
		if got != want {
			t.Fatalf("%+v with %#x and %#x is %v, want %v", tr, us, ys, got, want)
		}
		used[words/2]++
	})
	t.Log("digits more that were needed, and how often:", used)
	for more := range 4 {
		if used[more] == 0 {
			t.Errorf("no comparison took %d digits more", more)
		}
	}
}
