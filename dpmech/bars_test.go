package dpmech

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	own := Gaussian{Clip: 1, Sigma: 8}
	vanishing, outsiders := shared, shared
	vanishing.Shared.Absent, outsiders.Shared.Colluders = 1, 0
	for text, total := range map[string]Total{
		"epsilon 4.99 against everybody else together":                                        own.Total(20),
		"epsilon 0.00 against everybody else together":                                        {},
		"epsilon 1.27 with any 1 other member, 2.73 with all":                                 shared.Total(7),
		"epsilon 1.27 with any 1 other member, 2.73 with all, if at most one member vanishes": vanishing.Total(7),
		"epsilon 1.27 against outsiders, 2.73 with all others":                                outsiders.Total(7),
		"epsilon 1.27 against the weakest adversary that a run names, 2.73 with all others":   {Rho: shared.Total(7).Rho, All: shared.Total(7).All},
	} {
		if got := total.String(); got != text+", at delta 1e-05" {
			t.Errorf("printed as %q, want %q and the delta", got, text)
		}
		if got := total.Text(1e-5, GDP); got != text {
			t.Errorf("found %q, want %q", got, text)
		}
	}
}

// TestEpsilonText checks that EpsilonText formats its argument with three significant digits, and rounds it up unless
// the excess is only a rounding error.
func TestEpsilonText(t *testing.T) {
	for epsilon, want := range map[float64]string{0: "0.00", 8: "8.00", 8 * (1 + 1e-12): "8.00", 8.0001: "8.01", 67.62: "67.7", 173.2: "174",
		0.01234: "0.0124", 0.9999: "1.00", 9.9951: "10.0", 0.99: "0.990", 999.5: "1000", math.Inf(1): "+Inf", 1e-12: "0.000000001"} {
		if got := EpsilonText(epsilon); got != want {
			t.Errorf("%v: found %q, want %q", epsilon, got, want)
		}
	}
}

// integral returns the standard normal probability between two points, computed with Simpson's rule.
func integral(from, to float64) float64 {
	const n = 20_000
	h, sum := (to-from)/n, 0.0
	for i := 0; i <= n; i++ {
		x, weight := from+float64(i)*h, 2.0
		if i%2 == 1 {
			weight = 4
		}
		if i == 0 || i == n {
			weight = 1
		}
		sum += weight * math.Exp(-x*x/2)
	}
	return sum * h / 3 / math.Sqrt(2*math.Pi)
}

// TestGuess checks that the result of Guess depends on mu alone: the best test of N(0, 1) against N(mu, 1) is right
// with probability Phi(mu/2).
func TestGuess(t *testing.T) {
	for _, mu := range []float64{0, 1e-6, 0.01, 0.25, 1, 1.6, 3, 7, 20} {
		got, want := Guess(mu*mu/2), 0.5+integral(0, mu/2)
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("mu %v: %v, want %v", mu, got, want)
		}
	}
	for p, want := range map[float64]int{0.5: 50, 0.5 + 1e-6: 51, 0.57: 57, 0.570001: 58, 0.9999: 100, 1: 100} {
		if got := Times(p); got != want {
			t.Errorf("%v is %d times in 100, want %d", p, got, want)
		}
	}
	// For each delta, the pair (epsilon, delta) alone implies an upper bound on the probability that the adversary is
	// right. The result of Guess is below all of these bounds and close to the smallest.
	best := 1.0
	for _, delta := range []float64{1e-9, 1e-5, 1e-2, 0.1, 0.3, 0.38} {
		e := math.Exp(GDP.Epsilon(0.5, delta))
		best = min(best, (e+delta)/(1+e))
	}
	if g := Guess(0.5); g > best || g < best-0.01 {
		t.Errorf("mu 1: right %v times, and at most %v by epsilon and delta", g, best)
	}
}

// TestBars checks that Bars returns an entry for each adversary of a total, and that the text of Words names all of
// these adversaries.
func TestBars(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 10, Shared: Shared{Sigma: 40, Effective: 38, Colluders: 1}}
	five := g
	five.Shared.Colluders, five.Shared.Absent = 5, 2
	for _, c := range []struct {
		total Total
		want  []string
	}{
		{g.Total(50), []string{"any 1 other member", "all others"}},
		{five.Total(50), []string{"any 5 other members, if at most 2 members vanish", "all others"}},
		{g.Alone().Total(50), []string{Everybody}},
	} {
		var got []string
		for i, bar := range c.total.Bars(1e-5, GDP) {
			got = append(got, bar.Who)
			if f := c.total.Figures()[i]; bar.Epsilon != GDP.Epsilon(f.Rho, 1e-5) || bar.Guess != Guess(f.Rho) {
				t.Errorf("%+v is the bar of %+v", bar, f)
			}
			for _, unit := range []Unit{Client, Record} {
				if words := c.total.Words(unit); !strings.Contains(words, fmt.Sprintf("%d times in 100 (%s)", Times(bar.Guess), bar.Who)) &&
					!strings.Contains(words, fmt.Sprintf(", %d (%s)", Times(bar.Guess), bar.Who)) {
					t.Errorf("no %+v in %q", bar, words)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestFormatEpsilon checks that a formatted epsilon is never less than the given epsilon, up to rounding errors, and
// that a positive epsilon is never formatted as zero.
func TestFormatEpsilon(t *testing.T) {
	for _, c := range []struct {
		eps      float64
		decimals int
		want     string
	}{
		{8, 3, "8.000"}, {7.99999999999, 3, "8.000"}, {7.0001, 3, "7.001"}, {7.0006, 3, "7.001"}, {7.001, 3, "7.001"},
		{0, 3, "0.000"}, {1e-9, 3, "0.001"},
		{1e-300, 4, "0.0001"}, {5e-324, 4, "0.0001"}, {0.00001, 4, "0.0001"}, {9.99991, 4, "10.0000"}, {999.2, 0, "1000"},
		{0.2, 0, "1"}, {0.2, -3, "1"},
		{9.04, 1, "9.1"}, {8 * (1 + 1e-11), 4, "8.0000"}, {math.Inf(1), 3, "+Inf"}, {math.NaN(), 3, "NaN"},
	} {
		if got := FormatEpsilon(c.eps, c.decimals); got != c.want {
			t.Errorf("%v with %d decimals is written %s, want %s", c.eps, c.decimals, got, c.want)
		}
	}
}

// TestFormatEpsilonNeverBelow checks that the formatted value is at least the true value, up to rounding errors, and
// exceeds it by less than one unit in the last digit.
func TestFormatEpsilonNeverBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		eps, decimals := math.Exp(r.Float64()*60-40), r.IntN(8)
		if r.IntN(4) == 0 { // near a number with few decimals
			eps = math.Nextafter(math.Round(eps*1000)/1000, eps)
		}
		s := FormatEpsilon(eps, decimals)
		back, err := strconv.ParseFloat(s, 64)
		_, digits, _ := strings.Cut(s, ".")
		unit := math.Pow10(-decimals)
		if err != nil || len(digits) != decimals || back < eps*(1-1e-9) || back == 0 && eps > 0 ||
			back > eps+unit*(1+1e-9)+eps*1e-9 {
			t.Fatalf("%v with %d decimals is written %s", eps, decimals, s)
		}
	}
}
