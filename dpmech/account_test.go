package dpmech

import (
	"fmt"
	"math"
	"testing"
)

// Epsilon at delta = 1e-5: the paper's formula, the optimised zCDP conversion and exact GDP, computed independently.
func TestEpsilonReferenceValues(t *testing.T) {
	for _, c := range []struct {
		rho              float64
		paper, zcdp, gdp string
	}{
		{0.05, "1.567", "1.308", "1.199"},
		{0.1, "2.246", "1.914", "1.760"},
		{0.25, "3.643", "3.189", "2.943"},
		{0.5, "5.299", "4.728", "4.377"},
		{1, "7.786", "7.077", "6.573"},
		{2, "11.597", "10.725", "9.997"},
		{4, "17.572", "16.511", "15.456"},
		{8, "27.194", "25.919", "24.382"},
	} {
		for acc, want := range map[Accounting]string{Paper: c.paper, ZCDP: c.zcdp, GDP: c.gdp} {
			if got := fmt.Sprintf("%.3f", acc.Epsilon(c.rho, 1e-5)); got != want {
				t.Errorf("%v epsilon of rho %v is %s, want %s", acc, c.rho, got, want)
			}
		}
	}
}

// Noise for 50 rounds at delta = 1e-5.
func TestSigmaReferenceValues(t *testing.T) {
	for _, c := range []struct {
		epsilon          float64
		paper, zcdp, gdp string
	}{
		{1, "69.304", "57.207", "52.759"},
		{4, "18.329", "16.370", "15.290"},
		{8, "9.763", "9.018", "8.489"},
		{16, "5.399", "5.125", "4.867"},
		{32, "3.122", "3.024", "2.898"},
	} {
		for acc, want := range map[Accounting]string{Paper: c.paper, ZCDP: c.zcdp, GDP: c.gdp} {
			sigma, err := SigmaFor(1, 50, c.epsilon, 1e-5, acc)
			if got := fmt.Sprintf("%.3f", sigma); err != nil || got != want {
				t.Errorf("%v sigma for epsilon %v is %s (%v), want %s", acc, c.epsilon, got, err, want)
			}
			// Rounding is upward: the noise that comes out is never too small for what was asked.
			g := Gaussian{Clip: 1, Sigma: sigma}
			if eps := acc.Epsilon(50*g.Rho(), 1e-5); eps > c.epsilon {
				t.Errorf("%v sigma for epsilon %v spends %v", acc, c.epsilon, eps)
			}
		}
	}
}

// Whatever is asked, the noise that comes out spends no more.
func TestSigmaIsNeverTooSmall(t *testing.T) {
	s := stream(21)
	for range 600 {
		clip, rounds := math.Exp(3*s.Normal()), 1+s.IntN(200)
		epsilon, delta := math.Exp(1+s.Normal()), math.Exp(-5-10*s.Float64())
		for _, acc := range []Accounting{GDP, ZCDP, Paper} {
			sigma, err := SigmaFor(clip, rounds, epsilon, delta, acc)
			if err != nil {
				t.Fatal(err)
			}
			if eps := acc.Epsilon(float64(rounds)*Gaussian{Clip: clip, Sigma: sigma}.Rho(), delta); eps > epsilon {
				t.Errorf("%v: sigma %v for clip %v, %d rounds, epsilon %v, delta %v spends %v", acc, sigma, clip, rounds, epsilon, delta, eps)
			}
		}
	}
	// A case in which the formula alone, rounded, falls short.
	sigma, err := SigmaFor(0.045, 80, 4.470000000000001, 1e-5, Paper)
	if g := (Gaussian{0.045, sigma}); err != nil || Paper.Epsilon(80*g.Rho(), 1e-5) > 4.470000000000001 {
		t.Errorf("sigma %v (%v)", sigma, err)
	}
}

// Over the whole range in use: the three bounds are ordered, grow with rho, fall with delta, and MaxRho inverts them.
func TestEpsilonProperties(t *testing.T) {
	for _, delta := range []float64{1e-15, 1e-10, 1e-5, 1e-2} {
		before := [3]float64{}
		for rho := 1e-4; rho < 300; rho *= 1.7 {
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
				if eps < 1e-3 { // where delta alone covers nearly everything the inverse is ill-conditioned
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

// The GDP curve against its definition, summed numerically with no use of logPhi: delta is the integral of
// max(0, p - e^eps q) for p = N(0, 1), q = N(mu, 1).
func TestGDPAgainstIntegral(t *testing.T) {
	for _, mu := range []float64{0.3, 1, 2.5} {
		for _, eps := range []float64{0, 0.5, 2, 5} {
			const step = 1e-4
			var delta float64
			for x := -12.0; x < 12; x += step {
				p := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
				q := math.Exp(-(x-mu)*(x-mu)/2) / math.Sqrt(2*math.Pi)
				delta += max(0, p-math.Exp(eps)*q) * step
			}
			if got := math.Exp(logDeltaGDP(eps, mu)); math.Abs(got-delta) > 1e-6*delta+1e-12 {
				t.Errorf("delta(%v) at mu %v is %v, want %v", eps, mu, got, delta)
			}
		}
	}
}

func TestAccountingRefusesNonsense(t *testing.T) {
	for _, c := range [][2]float64{{-1, 1e-5}, {math.NaN(), 1e-5}, {math.Inf(1), 1e-5}, {1, 0}, {1, 1}, {1, math.NaN()}} {
		for _, acc := range []Accounting{GDP, ZCDP, Paper, Accounting(9)} {
			if got := acc.Epsilon(c[0], c[1]); !math.IsInf(got, 1) {
				t.Errorf("%v.Epsilon(%v, %v) = %v, want +Inf", acc, c[0], c[1], got)
			}
		}
	}
	for _, c := range [][2]float64{{0, 1e-5}, {-8, 1e-5}, {math.NaN(), 1e-5}, {8, 0}, {8, 1}, {8, -1}, {8, math.NaN()}, {1e-12, 1e-15}} {
		if rho, err := ZCDP.MaxRho(c[0], c[1]); err == nil {
			t.Errorf("MaxRho(%v, %v) = %v, want an error", c[0], c[1], rho)
		}
	}
}
