package dpmech

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const bigBits = 640

var precise = newReference(bigBits)

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

// bigBell returns exp(-x^2/2) at x = (k+fraction)/2^cellBits.
func bigBell(k uint64, fraction *big.Float) *big.Float {
	x := new(big.Float).Add(bigInt(k), fraction)
	x.SetMantExp(x, -cellBits)
	x.Mul(x, x)
	return precise.exp(x.Neg(x.SetMantExp(x, -1)))
}

// bigDensity returns heights[0]*exp(-x^2/2) at x = (k+fraction)/2^cellBits.
func bigDensity(k uint64, fraction *big.Float) *big.Float {
	bell := bigBell(k, fraction)
	return bell.Mul(bigInt(heights[0]), bell)
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

// trials returns the number of repetitions of a test: the given maximum with SPADE_LONG, otherwise a tenth of it.
func trials(most int) int {
	if long {
		return most
	}
	return most / 10
}

func TestExpNeg(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	limit := uint64(math.Ldexp(0.53, 64))
	var worst float64
	for range trials(10000) {
		z := corner(r) % limit
		want := precise.exp(new(big.Float).Neg(bigFraction(z)))
		diff := minus(bigInt(expNeg(z)), want.SetMantExp(want, 63))
		if worst = max(worst, math.Abs(diff)); worst >= 3 {
			t.Fatalf("expNeg(%#x) is %.2f too high", z, diff)
		}
	}
	if worst < 0.5 {
		t.Errorf("the largest error is %v: not even the rounding shows", worst)
	}
}

// TestDensity checks that the errors of the density stay within the bounds derived in PROOF.md, for the smallest and the
// largest number that begins with the digits u.
func TestDensity(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	for range trials(10000) {
		u, j := corner(r), uint64(r.IntN(cells))
		for _, next := range []uint64{0, math.MaxUint64} {
			if diff := minus(bigInt(density(j, heights[j], u)), bigDensity(j, bigFraction(u, next))); diff > 12 || diff < -10 {
				t.Fatalf("cell %d, u %#x: %.2f too high, may be 12 too high or 10 too low", j, u, diff)
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

// nearly generates the given number of trials, and passes each trial with its computed density to the function do. In
// most of the trials, the two sides of the comparison are equal or nearly equal.
func nearly(r *rand.Rand, count int, do func(t trial, density uint64)) {
	for i := range count {
		t := trial{span: 1, k: uint64(r.IntN(cells)), u: corner(r), y: corner(r)}
		d := density(t.k, heights[t.k], t.u)
		switch {
		case i%4 == 0:
			t.base = corner(r) % (heights[t.k] + 1)
		case i%4 == 1:
			t.base, _ = bigDensity(t.k, bigFraction(t.u, corner(r))).Uint64()
		default:
			t.base = max(d+uint64(r.IntN(4*band)), 2*band) - 2*band
		}
		do(t, d)
	}
}

// TestCompareIsCertain checks that if compare reports a result as certain, the result is correct for all numbers that
// begin with the 64 known digits.
func TestCompareIsCertain(t *testing.T) {
	var accepted, rejected, undecided int
	nearly(rand.New(rand.NewPCG(3, 3)), trials(10000), func(tr trial, density uint64) {
		accept, open := compare(tr.base, density)
		switch {
		case open == 1:
			undecided++
		case accept == 1:
			accepted++
			if bigInt(tr.base+1).Cmp(bigDensity(tr.k, bigFraction(tr.u, math.MaxUint64))) >= 0 {
				t.Fatalf("%+v is accepted, and may be above the density", tr)
			}
		default:
			rejected++
			if bigInt(tr.base).Cmp(bigDensity(tr.k, bigFraction(tr.u))) <= 0 {
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
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	used := map[int]int{}
	nearly(r, trials(3000), func(tr trial, _ uint64) {
		if r.IntN(4) == 0 { // as in the tail, where span is divided by a large power of two
			tr.base, tr.span, tr.down = 0, tailWeight, uint(r.IntN(90))
			tr.k += uint64(r.IntN(25))
		}
		const digits = 6
		us, ys := []uint64{tr.u}, []uint64{tr.y}
		for range digits - 1 {
			us, ys = append(us, corner(r)), append(ys, corner(r))
		}
		density := bigDensity(tr.k, bigFraction(us...))
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
