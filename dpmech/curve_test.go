package dpmech

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// ringLevels are the levels of a run with 30 other members and the pairwise noise in the variable shared.
var ringLevels = []Level{{0, 20}, {1, 16}, {5, 12}, {30, 8}}

// TestCurve checks that the cost at each point of a curve is at least, and nearly equal to, the cost of releases with
// the point's effective sigma. This must also be true if further releases have no pairwise noise.
func TestCurve(t *testing.T) {
	for _, alone := range []int{0, 3} {
		total := shared.Total(7)
		if alone > 0 {
			total = total.plus(shared.Alone().Total(alone))
		}
		c := CurveOf(total, shared.Shared, ringLevels, 1e-5, GDP)
		if len(c.Points) != len(ringLevels) || c.Others != 30 {
			t.Fatalf("curve %+v", c)
		}
		for i, l := range ringLevels {
			want := 7*2*shared.Clip*shared.Clip/(l.Effective*l.Effective) + float64(alone)*shared.Alone().Rho()
			if p := c.Points[i]; p.Level != l || p.Rho < want*(1-1e-15) || p.Rho > want*(1+1e-8) || p.Epsilon != GDP.Epsilon(p.Rho, 1e-5) {
				t.Errorf("%d alone, %+v: rho %v and epsilon %v, want %v", alone, l, p.Rho, p.Epsilon, want)
			}
		}
		if c.Points[1].Rho != total.Rho || c.Points[3].Rho != total.All {
			t.Errorf("the curve misses the total's own figures: %+v, %+v", c, total)
		}
	}
	own := Gaussian{Clip: 1, Sigma: 8}
	for text, c := range map[string]Curve{
		"epsilon 4.99 against everybody else together": CurveOf(own.Total(20), Shared{}, nil, 1e-5, GDP),
		"epsilon 0.00 against everybody else together": CurveOf(Total{}, shared.Shared, ringLevels, 1e-5, GDP),
		"epsilon 0.986 against outsiders, 1.27 with any 1 of 30 others, 1.74 with 5, 2.73 with all": CurveOf(shared.Total(7),
			shared.Shared, ringLevels, 1e-5, GDP),
		"epsilon 1.27 with any 1 of 4 others, 2.73 with 2 or more": CurveOf(shared.Total(7), shared.Shared,
			[]Level{{1, 16}, {2, 8}, {4, 8}}, 1e-5, GDP),
		"epsilon 1.27 with any 1 other member, 2.73 with all": CurveOf(shared.Total(7), shared.Shared, nil, 1e-5, GDP),
		"epsilon 1.27 with any 1 other member, 2.73 with all, if at most one member vanishes": CurveOf(
			Total{Rho: shared.Total(7).Rho, All: shared.Total(7).All}, Shared{Sigma: 32, Effective: 16, Colluders: 1, Absent: 1}, nil, 1e-5, GDP),
		"epsilon 1.27 against the weakest adversary that a run names, 2.73 with all others": CurveOf(
			Total{Rho: shared.Total(7).Rho, All: shared.Total(7).All}, Shared{}, nil, 1e-5, GDP),
	} {
		if c.Text() != text {
			t.Errorf("found %q, want %q", c.Text(), text)
		}
	}
}

// TestEpsilonText checks that epsilonText formats its argument with three significant digits, and rounds it up unless
// the excess is only a rounding error.
func TestEpsilonText(t *testing.T) {
	for epsilon, want := range map[float64]string{0: "0.00", 8: "8.00", 8 * (1 + 1e-12): "8.00", 8.0001: "8.01", 67.62: "67.7", 173.2: "174",
		0.01234: "0.0124", 0.9999: "1.00", 9.9951: "10.0", 0.99: "0.990", 999.5: "1000", math.Inf(1): "+Inf", 1e-12: "0.000000001"} {
		if got := epsilonText(epsilon); got != want {
			t.Errorf("%v: found %q, want %q", epsilon, got, want)
		}
	}
}

// TestCertificateCurve checks that a certificate includes its curve, and that Verify detects a change to any number in
// the curve.
func TestCertificateCurve(t *testing.T) {
	f := mustFilter(t, nil)
	for round := 1; round <= 7; round++ {
		g := shared
		if round == 4 {
			g = shared.Alone()
		}
		if err := f.Reserve(round, g); err != nil {
			t.Fatal(err)
		}
	}
	about := About{RunID: RunID{Run: "r", Fleet: strings.Repeat("01", 32), Member: "a"}}
	for what, bad := range map[string][]Level{
		"rising":   {{0, 15}, {1, 16}, {30, 8}},
		"unsorted": {{1, 16}, {0, 20}, {30, 8}},
		"unnamed":  {{0, 20}, {30, 8}},
		"weaker":   {{0, 20}, {1, 17}, {30, 8}},
		"own":      {{0, 20}, {1, 16}, {30, 7}},
		"negative": {{-1, 20}, {1, 16}, {30, 8}},
	} {
		if c, err := NewCertificate(about, 1e-5, f, nil, bad...); err == nil {
			t.Errorf("%s levels were accepted: %+v", what, c.Curve)
		}
	}
	c, err := NewCertificate(about, 1e-5, f, nil, ringLevels...)
	if err != nil || len(c.Curve) != 4 {
		t.Fatal(c, err)
	}
	if page := strings.Join(strings.Fields(c.Text()), " "); !strings.Contains(page, CurveOf(f.Total(), shared.Shared, ringLevels, 1e-5, GDP).Text()) {
		t.Errorf("no curve in\n%s", c.Text())
	}
	for i := range c.Curve {
		for what, change := range map[string]func(*Point){
			"colluders": func(p *Point) { p.Colluders++ }, "effective": func(p *Point) { p.Effective *= 1.01 },
			"rho": func(p *Point) { p.Rho *= 0.9999 }, "epsilon": func(p *Point) { p.Epsilon *= 0.9999 },
			"rho by little": func(p *Point) { p.Rho *= 1 - 1e-12 }, "high": func(p *Point) { p.Epsilon *= 1.01 }, "nan": func(p *Point) { p.Rho = math.NaN() },
		} {
			bad := *c
			bad.Curve = append([]Point{}, c.Curve...)
			change(&bad.Curve[i])
			// The certificate alone is not enough to detect a wrong number of other members or a wrong effective sigma:
			// both depend on the fleet's graph.
			alone := what == "colluders" && i > 1
			if err := bad.Verify(); (err == nil) != alone {
				t.Errorf("point %d, %s: %v", i, what, err)
			}
		}
	}
	for _, bad := range [][]Point{{}, c.Curve[:3], c.Curve[1:2]} {
		other := *c
		other.Curve = bad
		if err := other.Verify(); err == nil {
			t.Errorf("a curve of %d points was accepted", len(bad))
		}
	}
	own := mustFilter(t, nil)
	if err := own.Reserve(1, shared.Alone()); err != nil {
		t.Fatal(err)
	}
	none, err := NewCertificate(about, 1e-5, own, nil, ringLevels...)
	if err != nil || none.Curve != nil {
		t.Fatal(none, err)
	}
	none.Curve = c.Curve
	if err := none.Verify(); err == nil {
		t.Error("a curve was accepted for releases that share no noise")
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

// TestBars checks that Bars returns an entry for each adversary of a curve, and that the text of Words names all of
// these adversaries.
func TestBars(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 10, Shared: Shared{Sigma: 40, Effective: 38, Colluders: 1}}
	levels := []Level{{0, 40}, {1, 38}, {5, 20}, {30, 10}}
	names := func(c Curve) (all []string) {
		for i, bar := range c.Bars() {
			all = append(all, bar.Who)
			if p := c.Points[i]; bar.Epsilon != p.Epsilon || bar.Guess != Guess(p.Rho) {
				t.Errorf("%+v is the bar of %+v", bar, p)
			}
		}
		return all
	}
	for _, c := range []struct {
		curve Curve
		want  []string
	}{
		{CurveOf(g.Total(50), g.Shared, levels, 1e-5, GDP),
			[]string{"outsiders", "any 1 of 30 others", "any 5 of 30 others", "all others"}},
		{CurveOf(g.Total(50), g.Shared, append(levels[:2:2], Level{5, 10}, Level{30, 10}), 1e-5, GDP),
			[]string{"outsiders", "any 1 of 30 others", "any 5 of 30 others or more"}},
		{CurveOf(g.Total(50), g.Shared, nil, 1e-5, GDP), []string{"any 1 other member", "all others"}},
		{CurveOf(g.Alone().Total(50), Shared{}, nil, 1e-5, GDP), []string{Everybody}},
	} {
		if got := names(c.curve); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		for _, unit := range []Unit{Client, Record} {
			words := c.curve.Words(unit)
			for _, bar := range c.curve.Bars() {
				if !strings.Contains(words, fmt.Sprintf("%d times in 100 (%s)", Times(bar.Guess), bar.Who)) &&
					!strings.Contains(words, fmt.Sprintf(", %d (%s)", Times(bar.Guess), bar.Who)) {
					t.Errorf("no %+v in %q", bar, words)
				}
			}
		}
	}
}
