package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

var shared = dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 32, Effective: 16, Colluders: 1}}

func TestTotal(t *testing.T) {
	own := dpmech.Gaussian{Clip: 1, Sigma: 8}
	vanishing, outsiders := shared, shared
	vanishing.Shared.Absent, outsiders.Shared.Colluders = 1, 0
	for text, total := range map[string]dpmech.Total{
		"epsilon 4.99 against everybody else together":                                        own.Total(20),
		"epsilon 0.00 against everybody else together":                                        {},
		"epsilon 1.27 with any 1 other member, 2.73 with all":                                 shared.Total(7),
		"epsilon 1.27 with any 1 other member, 2.73 with all, if at most one member vanishes": vanishing.Total(7),
		"epsilon 1.27 against outsiders, 2.73 with all others":                                outsiders.Total(7),
		"epsilon 1.27 against the weakest adversary that a run names, 2.73 with all others":   {Rho: shared.Total(7).Rho, All: shared.Total(7).All},
	} {
		if got := Total(total, 1e-5, dpmech.GDP); got != text {
			t.Errorf("found %q, want %q", got, text)
		}
	}
}

// TestEpsilon checks that Epsilon formats its argument with three significant digits, and rounds it up unless
// the excess is only a rounding error.
func TestEpsilon(t *testing.T) {
	for epsilon, want := range map[float64]string{0: "0.00", 8: "8.00", 8 * (1 + 1e-12): "8.00", 8.0001: "8.01", 67.62: "67.7", 173.2: "174",
		0.01234: "0.0124", 0.9999: "1.00", 9.9951: "10.0", 0.99: "0.990", 999.5: "1000", math.Inf(1): "+Inf", 1e-12: "0.000000001"} {
		if got := Epsilon(epsilon); got != want {
			t.Errorf("%v: found %q, want %q", epsilon, got, want)
		}
	}
}

// TestGuess checks that the result of Guess depends on mu alone: the best test of N(0, 1) against N(mu, 1) is right
// with probability Phi(mu/2).
func TestGuess(t *testing.T) {
	for mu, want := range map[float64]float64{0: 0.5, 1: 0.691462461274013, 2: 0.841344746068543, 3: 0.933192798731142, 6: 0.998650101968370} {
		if got := Guess(mu * mu / 2); math.Abs(got-want) > 1e-12 {
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
		e := math.Exp(dpmech.GDP.Epsilon(0.5, delta))
		best = min(best, (e+delta)/(1+e))
	}
	if g := Guess(0.5); g > best || g < best-0.01 {
		t.Errorf("mu 1: right %v times, and at most %v by epsilon and delta", g, best)
	}
}

// TestBars checks that Bars returns an entry for each adversary of a total, and that the text of Words names all of
// these adversaries.
func TestBars(t *testing.T) {
	g := dpmech.Gaussian{Clip: 1, Sigma: 10, Shared: dpmech.Shared{Sigma: 40, Effective: 38, Colluders: 1}}
	five := g
	five.Shared.Colluders, five.Shared.Absent = 5, 2
	for _, c := range []struct {
		total dpmech.Total
		want  []string
	}{
		{g.Total(50), []string{"any 1 other member", "all others"}},
		{five.Total(50), []string{"any 5 other members, if at most 2 members vanish", "all others"}},
		{g.Alone().Total(50), []string{dpmech.Everybody}},
	} {
		var got []string
		for i, bar := range Bars(c.total, 1e-5, dpmech.GDP) {
			got = append(got, bar.Who)
			if f := c.total.Figures()[i]; bar.Epsilon != dpmech.GDP.Epsilon(f.Rho, 1e-5) || bar.Guess != Guess(f.Rho) {
				t.Errorf("%+v is the bar of %+v", bar, f)
			}
			for _, unit := range []dpmech.Unit{dpmech.Client, dpmech.Record} {
				if words := Words(c.total, unit); !strings.Contains(words, fmt.Sprintf("%d times in 100 (%s)", Times(bar.Guess), bar.Who)) &&
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
