package vec_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// prec is the precision of the reference in binary digits, 75 more than a float64 has.
const prec = 128

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

var (
	one = bigFloat(1)

	// ln2 is the natural logarithm of 2 to 60 decimal places.
	ln2, _ = new(big.Float).SetPrec(prec + 20).SetString("0.693147180559945309417232121458176568075500134360255254120680")

	inverse = func() (inv [14]*big.Float) { // 1/n
		for n := 1; n < len(inv); n++ {
			inv[n] = new(big.Float).SetPrec(prec).Quo(one, bigFloat(float64(n)))
		}
		return inv
	}()
)

// bigExp returns e**x. It splits x into k*ln2 + r and computes e**r as (e**(r/256))**256 with the power series, whose
// first omitted term is below 1e-46.
func bigExp(x *big.Float) *big.Float {
	k, _ := new(big.Float).Quo(x, ln2).Int64()
	r := new(big.Float).SetPrec(prec + 20).SetInt64(k)
	r.Sub(x, r.Mul(r, ln2)).SetPrec(prec)
	r.SetMantExp(r, -8)
	p := bigFloat(1)
	for n := len(inverse) - 1; n > 0; n-- { // 1 + r/1*(1 + r/2*(1 + ...))
		p.Mul(p, r).Mul(p, inverse[n]).Add(p, one)
	}
	for range 8 {
		p.Mul(p, p)
	}
	return p.SetMantExp(p, int(k))
}

// bigLog returns ln x. It starts from a float64 approximation y, accurate to about 1e-13, and adds t - t**2/2, which
// approximates ln(1+t) for t = x*exp(-y) - 1. The omitted term t**3/3 is below 1e-39. (y is computed from the mantissa
// and the exponent of x, because math.Log of a subnormal number is wrong on amd64.)
func bigLog(x float64) *big.Float {
	m, k := math.Frexp(x)
	y := math.Log(m) + float64(k)*math.Ln2
	e := bigExp(bigFloat(-y))
	e.Mul(e, bigFloat(x)).Sub(e, one)
	sq := new(big.Float).Mul(e, e)
	e.Sub(e, sq.SetMantExp(sq, -1))
	return e.Add(e, bigFloat(y))
}

// ulps returns the distance between a result and the true value, in units of the last place of the true value.
func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if w == 0 { // below the smallest float64: no unit to measure with
		return math.Abs(got) / math.SmallestNonzeroFloat64
	}
	w = math.Abs(w)
	diff, _ := new(big.Float).Sub(bigFloat(got), want).Float64()
	return math.Abs(diff) / (math.Nextafter(w, math.Inf(1)) - w)
}

// These are the ends of the range in which Exp computes a result. Below it, Exp returns zero; above it, infinity.
const (
	expLeast = -708.39
	expMost  = 709.78
)

// expPoints returns arguments for Exp. Some are spread over the whole range, some are near zero (at every magnitude),
// some are near the points where the multiple of ln 2 in the reduction changes, and some are the ends of the range.
func expPoints(n int) []float64 {
	r := rand.New(rand.NewPCG(10, 11))
	var xs []float64
	for range n / 4 {
		xs = append(xs,
			expLeast+(expMost-expLeast)*r.Float64(),
			40*r.Float64()-20,
			math.Copysign(math.Ldexp(1+r.Float64(), -r.IntN(70)), r.Float64()-0.5),
			(float64(r.IntN(2043)-1021)+0.5)*math.Ln2*(1+1e-15*r.NormFloat64()))
	}
	for _, x := range []float64{expLeast, 0, 1, -1, expMost} {
		xs = append(xs, x, math.Nextafter(x, 0))
	}
	return xs
}

// logPoints returns arguments for Log. Some are positive numbers of any magnitude, some are subnormal, some are close
// to 1, some are near the points where the reduction to [sqrt(1/2), sqrt 2) changes, and some are the ends of the
// range.
func logPoints(n int) []float64 {
	r := rand.New(rand.NewPCG(12, 13))
	var xs []float64
	for range n / 4 {
		xs = append(xs,
			math.Float64frombits(r.Uint64N(0x7ff0<<48-1)+1),
			math.Float64frombits(r.Uint64N(1<<52-1)+1),
			1+math.Copysign(math.Ldexp(1+r.Float64(), -1-r.IntN(53)), r.Float64()-0.5),
			math.Ldexp(math.Sqrt2*(1+1e-15*r.NormFloat64()), r.IntN(40)-20))
	}
	return append(xs, math.SmallestNonzeroFloat64, 0x1p-1022, math.Nextafter(0x1p-1022, 0), math.MaxFloat64, 1,
		math.Nextafter(1, 0), math.Nextafter(1, 2), 0.5, 2, math.E, math.Sqrt2, math.Sqrt2/2)
}

// points returns the number of arguments at which a test compares a function with the reference, which takes about ten
// microseconds for each.
func points() int {
	if os.Getenv("SPADE_LONG") == "" {
		return 6000
	}
	return 100000
}

func TestExpAccuracy(t *testing.T) {
	var worst float64
	for _, x := range expPoints(points()) {
		got := vec.Exp(x)
		if u := ulps(got, bigExp(bigFloat(x))); u > 2 {
			t.Fatalf("Exp(%v) = %v is %.2f ulp off", x, got, u)
		} else {
			worst = max(worst, u)
		}
	}
	t.Logf("largest error %.3f ulp", worst)
}

func TestLogAccuracy(t *testing.T) {
	var worst float64
	for _, x := range logPoints(points()) {
		got := vec.Log(x)
		if x == 1 {
			if got != 0 {
				t.Errorf("Log(1) = %v, want 0", got)
			}
			continue
		}
		if u := ulps(got, bigLog(x)); u > 2 {
			t.Fatalf("Log(%v) = %v is %.2f ulp off", x, got, u)
		} else {
			worst = max(worst, u)
		}
	}
	t.Logf("largest error %.3f ulp", worst)
}

func TestExpLogEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	negZero := math.Copysign(0, -1)
	for _, c := range []struct {
		name string
		f    func(float64) float64
		x    float64
		want float64
	}{
		{"Exp", vec.Exp, 0, 1},
		{"Exp", vec.Exp, negZero, 1},
		{"Exp", vec.Exp, math.SmallestNonzeroFloat64, 1},
		{"Exp", vec.Exp, -0x1p-60, 1},
		{"Exp", vec.Exp, inf, inf},
		{"Exp", vec.Exp, -inf, 0},
		{"Exp", vec.Exp, nan, nan},
		{"Exp", vec.Exp, math.MaxFloat64, inf},
		{"Exp", vec.Exp, -math.MaxFloat64, 0},
		{"Exp", vec.Exp, math.Nextafter(expMost, inf), inf},
		{"Exp", vec.Exp, math.Nextafter(expLeast, -inf), 0},
		{"Log", vec.Log, 0, -inf},
		{"Log", vec.Log, negZero, -inf},
		{"Log", vec.Log, 1, 0},
		{"Log", vec.Log, inf, inf},
		{"Log", vec.Log, -inf, nan},
		{"Log", vec.Log, nan, nan},
		{"Log", vec.Log, -1, nan},
		{"Log", vec.Log, -math.SmallestNonzeroFloat64, nan},
	} {
		if got := c.f(c.x); !same64(got, c.want) {
			t.Errorf("%s(%v) = %v, want %v", c.name, c.x, got, c.want)
		}
	}
	if y := vec.Exp(expMost); math.IsInf(y, 0) {
		t.Errorf("Exp(%v) overflows", expMost)
	}
	if y := vec.Exp(expLeast); y < 0x1p-1022 {
		t.Errorf("Exp(%v) = %v is subnormal", expLeast, y)
	}
}
