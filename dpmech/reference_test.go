package dpmech

import (
	"math"
	"math/big"
)

// reference evaluates the three accounting methods directly from their definitions, with prec binary digits and without
// the code under test. It computes tails with a power series or a continued fraction, exponentials with a power series,
// and logarithms with Halley's method.
type reference struct {
	prec    uint
	ln2, pi *big.Float
}

func newReference(prec uint) *reference {
	r := &reference{prec: prec}
	r.ln2 = r.atanInverse(26, false, 18)
	r.ln2.Sub(r.ln2, r.atanInverse(4801, false, 2)).Add(r.ln2, r.atanInverse(8749, false, 8))
	r.pi = r.atanInverse(5, true, 16) // Machin's formula
	r.pi.Sub(r.pi, r.atanInverse(239, true, 4))
	return r
}

func (r *reference) num(x float64) *big.Float { return r.zero().SetFloat64(x) }

func (r *reference) zero() *big.Float { return new(big.Float).SetPrec(r.prec) }

// small reports whether x is so small that adding it to a number near 1 changes nothing.
func (r *reference) small(x *big.Float) bool { return x.Sign() == 0 || x.MantExp(nil) < -int(r.prec) }

// atanInverse returns times*atan(1/n), or times*artanh(1/n) if alternate is false.
func (r *reference) atanInverse(n float64, alternate bool, times float64) *big.Float {
	sum, term, square := r.zero(), r.num(times), r.num(n*n)
	term.Quo(term, r.num(n))
	for k := 1.0; !r.small(term); k += 2 {
		part := r.zero().Quo(term, r.num(k))
		if alternate && int(k)%4 == 3 {
			part.Neg(part)
		}
		sum.Add(sum, part)
		term.Quo(term, square)
	}
	return sum
}

// exp returns e^x. It splits x into k*ln(2) + y, and computes e^y by raising e^(y/2^16) to the power 2^16. It returns 0
// for x < -1e9, where the exponent of the result would be out of range.
func (r *reference) exp(x *big.Float) *big.Float {
	if x.Cmp(r.num(-1e9)) < 0 {
		return r.zero()
	}
	k, _ := r.zero().Quo(x, r.ln2).Int64()
	y := r.zero().Sub(x, r.zero().Mul(r.ln2, r.num(float64(k))))
	y.SetMantExp(y, -16)
	sum, term := r.num(1), r.num(1)
	for n := 1.0; !r.small(term); n++ {
		term.Mul(term, y).Quo(term, r.num(n))
		sum.Add(sum, term)
	}
	for range 16 {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}

// log returns the logarithm of x > 0. It solves e^y = x for y by Halley's method, which starts from a float64 guess.
// Each step triples the number of correct digits.
func (r *reference) log(x *big.Float) *big.Float {
	m := new(big.Float)
	k := x.MantExp(m)
	guess, _ := m.Float64()
	y := r.num(math.Log(guess))
	y.Add(y, r.zero().Mul(r.ln2, r.num(float64(k))))
	for digits := uint(40); digits < r.prec; digits *= 3 {
		e := r.exp(y)
		step := r.zero().Sub(x, e)
		y.Add(y, step.Mul(step, r.num(2)).Quo(step, e.Add(e, x)))
	}
	return y
}

// density returns exp(-x*x/2)/sqrt(2 pi).
func (r *reference) density(x *big.Float) *big.Float {
	square := r.zero().Mul(x, x)
	root := r.zero().Mul(r.pi, r.num(2))
	return square.Quo(r.exp(square.Neg(square.SetMantExp(square, -1))), root.Sqrt(root))
}

func (r *reference) tail(x *big.Float) *big.Float {
	f, _ := x.Float64()
	if f < -6 {
		return r.zero().Sub(r.num(1), r.tail(r.zero().Neg(x)))
	}
	if f < 6 { // 1/2 - density*(x + x^3/3 + x^5/(3*5) + ...)
		sum, term, square := r.zero(), r.zero().Set(x), r.zero().Mul(x, x)
		for k := 3.0; !r.small(term); k += 2 {
			sum.Add(sum, term)
			term.Mul(term, square).Quo(term, r.num(k))
		}
		return sum.Sub(r.num(0.5), sum.Mul(sum, r.density(x)))
	}
	// This is Laplace's continued fraction. After n terms, the remainder is about exp(-2x*sqrt(2n)).
	c := r.zero().Set(x)
	depth := float64(r.prec) / f
	for k := math.Floor(50 + 0.2*depth*depth); k >= 1; k-- {
		c.Quo(r.num(k), c)
		c.Add(c, x)
	}
	return c.Quo(r.density(x), c)
}

// delta returns the smallest delta at which a cost of rho has at most the given epsilon under the accounting method a.
func (r *reference) delta(a Accounting, rho, epsilon float64) *big.Float {
	switch a {
	case GDP:
		// delta = Q(epsilon/mu - mu/2) - e^epsilon Q(epsilon/mu + mu/2), where mu = sqrt(2 rho) and Q is the upper tail
		// probability of the normal distribution
		mu := r.num(2 * rho)
		mu.Sqrt(mu)
		middle := r.zero().Quo(r.num(epsilon), mu)
		half := r.zero().SetMantExp(mu, -1)
		near, far := r.tail(r.zero().Sub(middle, half)), r.tail(r.zero().Add(middle, half))
		return near.Sub(near, far.Mul(far, r.exp(r.num(epsilon))))
	case ZCDP:
		return r.deltaZCDP(rho, epsilon)
	}
	// delta = exp(-(epsilon-rho)^2/(4 rho)) for epsilon >= rho
	gap := r.zero().Sub(r.num(epsilon), r.num(rho))
	if gap.Sign() <= 0 {
		return r.num(1)
	}
	gap.Mul(gap, gap).Quo(gap, r.num(4*rho))
	return r.exp(gap.Neg(gap))
}

// deltaZCDP returns the minimum over alpha > 1 of e^((alpha-1)(alpha*rho-epsilon))/(alpha-1) * (1-1/alpha)^alpha.
// Bisection on the sign of the derivative finds the optimal order to float64 precision. Each of two Newton steps then
// squares the relative error of the order. The relative error of the result is the square of the error of the order,
// because the derivative is 0 at the optimum.
func (r *reference) deltaZCDP(rho, epsilon float64) *big.Float {
	lo, hi := -400.0, 400.0 // ln(alpha - 1)
	for range 100 {
		mid := (lo + hi) / 2
		if x := math.Exp(mid); rho*(1+2*x)-epsilon-math.Log1p(1/x) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	one := r.num(1)
	if lo < -350 { // ln delta is between 0 and 350*e^-350
		return one
	}
	x := r.num(math.Exp(lo))
	for range 2 { // F(x) = rho(1+2x) - epsilon + ln(x/(1+x)), F' = 2rho + 1/(x(1+x))
		next := r.zero().Add(x, one)
		f := r.log(r.zero().Quo(x, next))
		f.Add(f, r.zero().Mul(r.num(rho), r.zero().Add(next, x))).Sub(f, r.num(epsilon))
		slope := r.zero().Quo(one, next.Mul(next, x))
		x.Sub(x, f.Quo(f, slope.Add(slope, r.num(2*rho))))
	}
	alpha := r.zero().Add(x, one)
	log := r.zero().Mul(alpha, r.num(rho))
	log.Sub(log, r.num(epsilon)).Mul(log, x).Sub(log, r.log(x))
	log.Add(log, r.zero().Mul(alpha, r.log(r.zero().Quo(x, alpha))))
	return r.exp(log)
}
