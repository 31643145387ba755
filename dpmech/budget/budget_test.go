package budget_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// How much noise do fifty releases need for epsilon 8, and which epsilon do the other conversions compute for the same
// releases?
func ExampleSigmaFor() {
	sigma, err := budget.SigmaFor(1, 50, 8, 1e-5, dpmech.GDP)
	if err != nil {
		fmt.Println(err)
		return
	}
	rho := 50 * dpmech.Gaussian{Clip: 1, Sigma: sigma}.Rho()
	fmt.Printf("sigma %.3f\n", sigma)
	for _, acc := range []dpmech.Accounting{dpmech.GDP, dpmech.ZCDP, dpmech.Paper} {
		fmt.Printf("%-5v epsilon %.3f\n", acc, acc.Epsilon(rho, 1e-5))
	}
	// Output:
	// sigma 8.489
	// gdp   epsilon 8.000
	// zcdp  epsilon 8.599
	// paper epsilon 9.382
}

// TestSigmaReferenceValues compares the noise for 50 rounds at delta = 1e-5 with exact values from forty-digit
// arithmetic. The values with six digits are rounded up; those with three decimals are rounded to nearest. (For zCDP at
// epsilon 4 and 16, a published table has 16.371 and 5.126. The exact values are 16.370494 and 5.125484: the published
// minimum over the Renyi orders was not exact.)
func TestSigmaReferenceValues(t *testing.T) {
	for _, c := range []struct {
		epsilon          float64
		paper, zcdp, gdp float64
	}{
		{1, 69.3044, 57.2068, 52.7591},
		{4, 18.3293, 16.3705, 15.2900},
		{8, 9.76302, 9.01775, 8.48853},
		{16, 5.39897, 5.12549, 4.86741},
		{32, 3.12172, 3.02381, 2.89822},
	} {
		for acc, want := range map[dpmech.Accounting]float64{dpmech.Paper: c.paper, dpmech.ZCDP: c.zcdp, dpmech.GDP: c.gdp} {
			sigma, err := budget.SigmaFor(1, 50, c.epsilon, 1e-5, acc)
			if err != nil || sigma != want {
				t.Errorf("%v sigma for epsilon %v is %v (%v), want %v", acc, c.epsilon, sigma, err, want)
			}
			// Sigma is rounded up, so the noise is never too small.
			g := dpmech.Gaussian{Clip: 1, Sigma: sigma}
			if eps := acc.Epsilon(50*g.Rho(), 1e-5); eps > c.epsilon {
				t.Errorf("%v sigma for epsilon %v spends %v", acc, c.epsilon, eps)
			}
		}
	}
}

// TestSigmaIsTheSameEverywhere checks that SigmaFor returns the same bits on all machines, because a fleet's parameters
// are computed on one machine and verified on others, and that releases with this noise never cost more than the budget.
func TestSigmaIsTheSameEverywhere(t *testing.T) {
	s, hash := rng.New(22, rng.Address{Purpose: rng.Noise}), fnv.New64a()
	check := func(clip float64, rounds int, epsilon, delta float64, acc dpmech.Accounting) {
		sigma, err := budget.SigmaFor(clip, rounds, epsilon, delta, acc)
		if eps := acc.Epsilon(float64(rounds)*dpmech.Gaussian{Clip: clip, Sigma: sigma}.Rho(), delta); err != nil || eps > epsilon {
			t.Errorf("%v: sigma %v (%v) for clip %v, %d rounds, epsilon %v, delta %v spends %v", acc, sigma, err, clip, rounds, epsilon,
				delta, eps)
		}
		fmt.Fprintln(hash, sigma)
	}
	for range 100 {
		clip, rounds := math.Ldexp(1+s.Float64(), s.IntN(20)-10), 1+s.IntN(200)
		epsilon, delta := math.Ldexp(1+s.Float64(), s.IntN(8)-3), math.Ldexp(1+s.Float64(), -5-s.IntN(45))
		for _, acc := range []dpmech.Accounting{dpmech.GDP, dpmech.ZCDP, dpmech.Paper} {
			check(clip, rounds, epsilon, delta, acc)
		}
	}
	if got, want := hash.Sum64(), uint64(0xcdb6c68a8e9656a0); got != want {
		t.Errorf("300 sigmas have the hash %#x, want %#x", got, want)
	}
	// For these arguments, the closed formula evaluated in float64 returns slightly too little noise.
	check(0.045, 80, 4.470000000000001, 1e-5, dpmech.Paper)
}

// TestSigmaAndMaxRounds checks that, for the most rounds that a budget covers with some noise, SigmaFor returns at most this
// noise, up to rounding.
func TestSigmaAndMaxRounds(t *testing.T) {
	s := rng.New(24, rng.Address{Purpose: rng.Noise})
	for range 30 {
		g := dpmech.Gaussian{Clip: 1, Sigma: math.Exp(5 * s.Float64())}
		epsilon, delta := math.Exp(1+s.Normal()), math.Exp(-5-30*s.Float64())
		for _, acc := range []dpmech.Accounting{dpmech.GDP, dpmech.ZCDP, dpmech.Paper} {
			n, err := dpmech.MaxRounds(g, epsilon, delta, acc)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				if sigma, err := budget.SigmaFor(1, n, epsilon, delta, acc); err != nil || sigma > g.Sigma*(1+1e-5) {
					t.Errorf("%v: sigma for %d rounds is %v (%v), want at most %v", acc, n, sigma, err, g.Sigma)
				}
			}
		}
	}
	_, err := budget.SigmaFor(1, 0, -1, 1e-5, dpmech.GDP)
	for _, want := range []string{"rounds is 0", "epsilon is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

// TestLeft checks that Left never returns a larger budget against the named adversary than against all other members.
func TestLeft(t *testing.T) {
	shared := dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 32, Effective: 16, Colluders: 1}}
	l, spent := &dpmech.Limit{Epsilon: 8, Delta: 1e-5}, shared.Total(5)
	if left := budget.Left(l, spent); !math.IsInf(left.All, 1) || dpmech.GDP.Epsilon(left.Rho+spent.Rho, 1e-5) > 8 {
		t.Errorf("%+v", left)
	}
	if left := budget.Left(l.Lifelong(), spent); left.Rho != left.All || dpmech.GDP.Epsilon(left.All+spent.All, 1e-5) > 8 ||
		left.Figures()[0].Adversary != dpmech.Everybody {
		t.Errorf("%+v", left)
	}
	if left := budget.Left(nil, spent); !math.IsInf(left.Rho, 1) || !math.IsInf(left.All, 1) {
		t.Errorf("%+v", left)
	}
}
