package dpmech

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// invalid has parameters of which no release is possible: out of range, or too far apart.
var invalid = []Gaussian{{}, {Clip: 1}, {Sigma: 1}, {Clip: -1, Sigma: 8}, {Clip: 1, Sigma: -8}, {Clip: math.NaN(), Sigma: 8},
	{Clip: 1, Sigma: math.NaN()}, {Clip: math.Inf(1), Sigma: 8}, {Clip: 1, Sigma: math.Inf(1)}, {Clip: 5e-324, Sigma: 5e-324},
	{Clip: 1e-310, Sigma: 1e-309}, {Clip: 1e300, Sigma: 1e300}, {Clip: 1, Sigma: 1e-9}, {Clip: 1, Sigma: 1e9}, {Clip: 1e9, Sigma: 1}}

// TestRho checks that the computed cost of a release is its exact cost, rounded up.
func TestRho(t *testing.T) {
	s := stream(23)
	for range 300 {
		g := Gaussian{Clip: math.Exp(2 * s.Normal()), Sigma: math.Exp(2 * s.Normal())}
		exact, up := exactRho([]Gaussian{g}), new(big.Rat).SetFloat64(g.Rho())
		if below := new(big.Rat).SetFloat64(math.Nextafter(g.Rho(), 0)); up.Cmp(exact) < 0 || below.Cmp(exact) >= 0 {
			t.Errorf("%+v costs %v, want %v rounded up", g, g.Rho(), exact.FloatString(30))
		}
	}
	for _, g := range invalid {
		if !math.IsInf(g.Rho(), 1) {
			t.Errorf("%+v costs %v, want +Inf", g, g.Rho())
		}
	}
}

// TestMaxRounds checks that MaxRounds returns the exact maximum: one more round does not fit the budget.
func TestMaxRounds(t *testing.T) {
	s := stream(24)
	for range 30 {
		g := Gaussian{Clip: 1, Sigma: math.Exp(5 * s.Float64())}
		epsilon, delta := math.Exp(1+s.Normal()), math.Exp(-5-30*s.Float64())
		for _, acc := range []Accounting{GDP, ZCDP, Paper} {
			n, err := MaxRounds(g, epsilon, delta, acc)
			if err != nil {
				t.Fatal(err)
			}
			fits, over := acc.Epsilon(times(n, g.Rho()), delta), acc.Epsilon(times(n+1, g.Rho()), delta)
			if fits > epsilon || over <= epsilon {
				t.Errorf("%v: %d rounds of %+v spend %v and one more %v, want %v in between", acc, n, g, fits, over, epsilon)
			}
		}
	}
	if n, err := MaxRounds(Gaussian{Clip: 1, Sigma: 1}, 1, 1e-5, GDP); n != 0 || err != nil {
		t.Errorf("%d rounds (%v) where not one fits", n, err)
	}
	if n, err := MaxRounds(Gaussian{Clip: 1, Sigma: 1e6}, 1e6, 1e-5, GDP); n != math.MaxInt32 || err != nil {
		t.Errorf("%d rounds (%v), want the largest number", n, err)
	}
	_, err := MaxRounds(Gaussian{Clip: 1, Sigma: 0}, -1, 2, Accounting(9))
	for _, want := range []string{"sigma is 0", "epsilon is -1", "delta is 2", "Accounting(9)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

// TestEpsilonProperties checks, over the whole relevant range, that the three bounds are ordered, increase with rho and
// decrease with delta, and that MaxRho is the inverse of Epsilon.
func TestEpsilonProperties(t *testing.T) {
	for _, delta := range []float64{1e-15, 1e-10, 1e-5, 1e-2} {
		before := [3]float64{}
		for rho := 1e-4; rho < 300; rho *= 2.5 {
			gdp, zcdp, paper := GDP.Epsilon(rho, delta), ZCDP.Epsilon(rho, delta), Paper.Epsilon(rho, delta)
			if !(gdp <= zcdp && zcdp <= paper) {
				t.Errorf("rho %v, delta %v: gdp %v, zcdp %v, paper %v are not in order", rho, delta, gdp, zcdp, paper)
			}
			if gdp < before[GDP] || zcdp < before[ZCDP] || paper < before[Paper] {
				t.Errorf("rho %v, delta %v: epsilon fell", rho, delta)
			}
			before = [3]float64{GDP: gdp, ZCDP: zcdp, Paper: paper}
			for _, acc := range []Accounting{GDP, ZCDP, Paper} {
				eps := acc.Epsilon(rho, delta)
				if eps < 1e-3 { // where delta alone covers nearly the whole loss, inverting Epsilon is ill-conditioned
					continue
				}
				back, err := acc.MaxRho(eps, delta)
				if err != nil || math.Abs(back/rho-1) > 1e-6 || acc.Epsilon(back, delta) > eps {
					t.Errorf("%v: MaxRho(%v, %v) = %v (%v), want %v from below", acc, eps, delta, back, err, rho)
				}
			}
		}
	}
}

func TestAccountingRefusesNonsense(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	all := []Accounting{GDP, ZCDP, Paper}
	for _, c := range [][2]float64{{-1, 1e-5}, {nan, 1e-5}, {inf, 1e-5}, {1, 0}, {1, 1}, {1, nan}, {1, -1}, {1, inf},
		{1, 0x1p-1023}, {0, 1}} {
		for _, acc := range append(all, Accounting(9)) {
			if got := acc.Epsilon(c[0], c[1]); !math.IsInf(got, 1) {
				t.Errorf("%v.Epsilon(%v, %v) = %v, want +Inf", acc, c[0], c[1], got)
			}
		}
	}
	if eps := Accounting(9).Epsilon(0, 0.1); !math.IsInf(eps, 1) {
		t.Errorf("an accounting that does not exist says %v", eps)
	}
	for _, c := range [][2]float64{{0, 1e-5}, {-8, 1e-5}, {nan, 1e-5}, {2e6, 1e-5}, {8, 0}, {8, 1}, {8, -1}, {8, nan},
		{1e-300, 1e-300}} {
		for _, acc := range append(all, Accounting(9)) {
			if rho, err := acc.MaxRho(c[0], c[1]); err == nil {
				t.Errorf("%v.MaxRho(%v, %v) = %v, want an error", acc, c[0], c[1], rho)
			}
		}
	}
}

// TestAccountingAtTheEndsOfFloat64 checks that arguments at the limits of float64 do not result in NaN, and that a
// larger rho never has a smaller epsilon.
func TestAccountingAtTheEndsOfFloat64(t *testing.T) {
	ends := []float64{0, math.SmallestNonzeroFloat64, 0x1p-1022, 1e-300, 1e-200, 1e-100, 1, 1e100, 1e200, 1e300,
		math.MaxFloat64}
	for _, acc := range []Accounting{GDP, ZCDP, Paper} {
		for _, delta := range []float64{0x1p-1022, 1e-15, 0.5, 1 - 0x1p-53} {
			before := 0.0
			for _, rho := range ends {
				eps := acc.Epsilon(rho, delta)
				if !(eps >= before) {
					t.Errorf("%v.Epsilon(%v, %v) = %v after %v", acc, rho, delta, eps, before)
				}
				before = eps
			}
		}
	}
}
