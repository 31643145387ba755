package vec

import "math"

// These constants split ln 2 into two parts. The high part has 21 trailing zero bits, so that k*ln2Hi is exact for
// every exponent k.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

const (
	log2e    = 1 / math.Ln2
	expLeast = -708.39 // Exp returns zero below
)

// expCoeff contains 1/n! for n = 2..13. For |r| <= ln(2)/2, the first omitted term is below 5e-18.
var expCoeff = [...]float64{
	1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
	1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
}

// Exp returns e**x with an error of at most 2 ulp and the same bits on every processor. It returns +Inf for x above
// 709.78 and zero for x below -708.39, just before e**x leaves the range of normal numbers.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 709.78:
		return math.Inf(1)
	case x < expLeast:
		return 0
	}
	k := math.Floor(float64(x*log2e) + 0.5)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Lo)
	p := expCoeff[11]
	p = float64(p*r) + expCoeff[10]
	p = float64(p*r) + expCoeff[9]
	p = float64(p*r) + expCoeff[8]
	p = float64(p*r) + expCoeff[7]
	p = float64(p*r) + expCoeff[6]
	p = float64(p*r) + expCoeff[5]
	p = float64(p*r) + expCoeff[4]
	p = float64(p*r) + expCoeff[3]
	p = float64(p*r) + expCoeff[2]
	p = float64(p*r) + expCoeff[1]
	p = float64(p*r) + expCoeff[0]
	p = 1 + (r + float64(float64(r*r)*p))
	// Multiply by 2^k in two factors, because 2^1024 is not a float64.
	half := int(k) / 2
	return p * pow2(half) * pow2(int(k)-half)
}

// Sigmoid returns 1/(1 + e**-z), computed with [Exp] and without loss of precision for positive or negative z.
func Sigmoid(z float64) float64 {
	e := Exp(-math.Abs(z))
	if z >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}

// Sigmoids replaces each z[i] with Sigmoid(z[i]).
func Sigmoids(z []float64) {
	for i := sigmoids(z); i < len(z); i++ {
		z[i] = Sigmoid(z[i])
	}
}

// Logs replaces each z[i] with Log(z[i]).
func Logs(z []float64) {
	for i := logs(z); i < len(z); i++ {
		z[i] = Log(z[i])
	}
}

// pow2 returns 2**k for k in [-1022, 1023].
func pow2(k int) float64 { return math.Float64frombits(uint64(k+1023) << 52) }

// odd has the coefficients of atanh.
var odd = [...]float64{1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3}

// Log returns the natural logarithm of x with an error of at most 2 ulp and the same bits on every processor. It
// returns NaN for negative x and -Inf for zero.
func Log(x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case x > math.MaxFloat64:
		return x
	}
	m, k := math.Frexp(x) // x = m * 2^k with m in [1/2, 1), exact
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	// Use ln m = 2 atanh(f) with f = (m-1)/(m+1) and |f| < 0.172. The series stops before the first term where
	// f^(2n)/(2n+1) < 2e-18.
	f := (m - 1) / (m + 1)
	f2 := float64(f * f)
	s := 0.0
	for _, c := range &odd {
		s = float64(f2 * (c + s))
	}
	lo := float64(2 * f * s)
	return float64(float64(k)*ln2Hi) + (float64(2*f) + (lo + float64(float64(k)*ln2Lo)))
}
