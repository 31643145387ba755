package dpmech

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// filter counts the releases of a run.
type filter struct {
	Spends
	limit *Limit
}

func (f *filter) Reserve(round int, g Gaussian) error {
	with, err := f.With(round, g, f.limit)
	if err == nil {
		f.Spends = with
	}
	return err
}

// exactRho returns the sum of the costs of all releases as an exact rational number.
func exactRho(releases []Gaussian) *big.Rat {
	sum := new(big.Rat)
	for _, g := range releases {
		r := new(big.Rat).Quo(new(big.Rat).SetFloat64(g.Clip), new(big.Rat).SetFloat64(g.Sigma))
		sum.Add(sum, r.Mul(r, r).Mul(r, big.NewRat(2, 1)))
	}
	return sum
}

// TestFilterSumsUpward checks that the filter's sum is never below the exact sum and only slightly above it, and that
// it is exact if no rounding is needed.
func TestFilterSumsUpward(t *testing.T) {
	t.Parallel()
	s := stream(31)
	for range 15 {
		f := new(filter)
		var all []Gaussian
		g := Gaussian{Clip: 1, Sigma: 8}
		for round := 1; round <= 60; round++ {
			if s.IntN(3) == 0 {
				g = Gaussian{Clip: math.Exp(3 * s.Normal()), Sigma: 0}
				g.Sigma = g.Clip * math.Exp(2+s.Normal())
			}
			if err := f.Reserve(round, g); err != nil {
				t.Fatal(err)
			}
			all = append(all, g)
		}
		exact := exactRho(all)
		if new(big.Rat).SetFloat64(f.Total().Rho).Cmp(exact) < 0 {
			t.Errorf("sum %v is below the exact one", f.Total().Rho)
		}
		if want, _ := exact.Float64(); f.Total().Rho > want*(1+1e-13) {
			t.Errorf("sum %v, want %v", f.Total().Rho, want)
		}
	}
	f := new(filter)
	for round := 1; round <= 50; round++ {
		if err := f.Reserve(round, Gaussian{Clip: 1, Sigma: 8}); err != nil {
			t.Fatal(err)
		}
	}
	if f.Total().Rho != 1.5625 || len(f.Spends) != 1 {
		t.Errorf("50 releases of 1/32 cost %v in %d entries, want 1.5625 in 1", f.Total().Rho, len(f.Spends))
	}
}

// TestRoundingUp checks that a sum or a multiple is rounded up to the next float64 if it is not a float64, and is
// returned unchanged otherwise.
func TestRoundingUp(t *testing.T) {
	t.Parallel()
	s := stream(32)
	above := 0
	for range 4000 {
		a, b := math.Exp(6*s.Normal()), math.Exp(6*s.Normal())
		n := 1 + s.IntN(1<<20)
		exact := map[string]*big.Rat{"sum": new(big.Rat).SetFloat64(a), "multiple": new(big.Rat).SetFloat64(a)}
		exact["sum"].Add(exact["sum"], new(big.Rat).SetFloat64(b))
		exact["multiple"].Mul(exact["multiple"], new(big.Rat).SetInt64(int64(n)))
		for name, x := range map[string]float64{"sum": sumUp(a, b), "multiple": times(n, a)} {
			got, below := new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(math.Nextafter(x, 0))
			if got.Cmp(exact[name]) < 0 || below.Cmp(exact[name]) >= 0 {
				t.Fatalf("%s of %v and %v or %d is %v, want the first number not below the exact one", name, a, b, n, x)
			}
			if nearest, _ := exact[name].Float64(); nearest < x {
				above++
			}
		}
	}
	if above < 2000 {
		t.Errorf("only %d of 8000 results were rounded away from the nearest number: the test has no power", above)
	}
}

// TestFilterRefuses checks that the planned number of rounds fits the limit with the noise from budget.SigmaFor, that one more round
// does not, that the error states the round, the cost and the limit, and that the remaining budget covers a cheaper release.
func TestFilterRefuses(t *testing.T) {
	g := Gaussian{Clip: 0.5, Sigma: 4.50888} // the result of budget.SigmaFor
	f := &filter{limit: &Limit{Epsilon: 8, Delta: 1e-5, Accounting: ZCDP}}
	for round := 1; round <= 50; round++ {
		if err := f.Reserve(round, g); err != nil {
			t.Fatal(err)
		}
	}
	before := fmt.Sprint(f.Spends)
	err := f.Reserve(51, g)
	if !errors.Is(err, ErrBudget) || fmt.Sprint(f.Spends) != before || f.Last() != 50 {
		t.Fatalf("round 51: %v, want a refusal; the spends are %v, want %v", err, f.Spends, before)
	}
	for _, want := range []string{"round 51", fmt.Sprintf("rho %.6g", f.Total().Rho), "limit", "epsilon 8 with zcdp", "1e-05"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
	if err := f.Reserve(51, Gaussian{Clip: 0.5, Sigma: 1e5 * 0.5}); err != nil {
		t.Errorf("a release that costs next to nothing: %v", err)
	}
}

// TestFilterIsTight checks that the filter refuses a release if and only if it would exceed the limit, for any
// parameters, even for parameters that were chosen based on the remaining budget.
func TestFilterIsTight(t *testing.T) {
	t.Parallel()
	s := stream(33)
	for range 12 {
		limit := Limit{Epsilon: math.Exp(s.Normal() + 1), Delta: 1e-6, Accounting: Accounting(s.IntN(3))}
		f := &filter{limit: &limit}
		most, err := limit.Accounting.MaxRho(limit.Epsilon, limit.Delta)
		if err != nil {
			t.Fatal(err)
		}
		for round, refused := 1, 0; refused < 10; round++ {
			g := Gaussian{Clip: 1, Sigma: math.Sqrt(2/(most-f.Total().Rho)) * math.Exp(s.Normal()+0.5)}
			if g.Validate() != nil {
				break
			}
			cost := Spend{round, 1, Gaussian{Clip: g.Clip, Sigma: g.Sigma}}.Total().Rho
			switch err := f.Reserve(round, g); {
			case err == nil && limit.Accounting.Epsilon(f.Total().Rho, limit.Delta) > limit.Epsilon:
				t.Fatalf("%+v: spent %v", limit, f.Total().Rho)
			case err != nil && f.Total().Rho+cost < most*(1-1e-9):
				t.Fatalf("%+v: %v after %v refused, %v would fit", limit, cost, f.Total().Rho, most)
			case err != nil:
				refused++
			}
		}
	}
}

// TestFilterRounds checks that a repeated release counts once, and that a release in a counted round with other
// parameters, or against another adversary, is refused.
func TestFilterRounds(t *testing.T) {
	a, b, other := Gaussian{Clip: 1, Sigma: 8}, Gaussian{Clip: 1, Sigma: 9}, shared
	other.Shared.Colluders = 2
	f := new(filter)
	for _, c := range []struct {
		round int
		g     Gaussian
		want  string // "" if it is accepted
	}{
		{1, a, ""}, {1, a, ""}, {2, a, ""}, {1, a, ""},
		{1, b, "round 1 is reserved with clip 1 and sigma 8"},
		{3, b, ""}, {2, a, ""}, {2, b, "round 2 is reserved"},
		{7, b, ""}, {8, b, ""}, {9, a, ""},
		{5, b, "round 5 was skipped"}, {4, b, "round 4 was skipped"},
		{3, b, ""}, {7, b, ""}, {9, a, ""},
		{10, shared, ""}, {10, other, "shared sigma 32 and effective sigma 16 against whoever"},
		{0, a, "round is 0"}, {-1, a, "round is -1"},
	} {
		before := f.Total().Rho
		err := f.Reserve(c.round, c.g)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("round %d with %v: %v, want %q", c.round, c.g, err, c.want)
		}
		if err != nil && f.Total().Rho != before {
			t.Errorf("round %d: refused, and cost something", c.round)
		}
	}
	want := []Spend{{1, 2, a}, {3, 1, b}, {7, 2, b}, {9, 1, a}, {10, 1, shared}}
	if got := f.Spends; !slices.Equal(got, want) || f.Last() != 10 {
		t.Errorf("spends %v up to round %d, want %v", got, f.Last(), want)
	}
}

// TestFilterRefusesNonsense checks that invalid numbers are errors, with and without a limit, and that nothing is
// counted.
func TestFilterRefusesNonsense(t *testing.T) {
	for _, limit := range []*Limit{nil, {Epsilon: 1e6, Delta: 1e-5, Accounting: GDP}} {
		f := &filter{limit: limit}
		for _, g := range append(invalid, Gaussian{Clip: 1, Sigma: 1e-3}) { // the last one has rho 2e6
			if err := f.Reserve(1, g); err == nil {
				t.Errorf("%+v was accepted", g)
			}
		}
		if over := int64(maxRound) + 1; int64(int(over)) == over { // over fits an int only on 64-bit processors
			if err := f.Reserve(int(over), Gaussian{Clip: 1, Sigma: 8}); err == nil {
				t.Errorf("round %d was accepted", over)
			}
		}
		costly := Gaussian{Clip: 1, Sigma: 0.0015}
		if err := f.Reserve(3, Gaussian{Clip: 1, Sigma: 8}); err != nil || f.Total().Rho != 1./32 {
			t.Errorf("%v; spent %v, want 1/32", err, f.Total().Rho)
		}
		if limit == nil && (f.Reserve(4, costly) != nil || f.Reserve(5, costly) == nil || f.Last() != 4) { // the sum exceeds MaxTotal
			t.Errorf("a total above 1e6: %v", f.Spends)
		}
	}
	for _, l := range []Limit{{}, {Epsilon: 8}, {Delta: 1e-5}, {Epsilon: math.NaN(), Delta: 1e-5}, {Epsilon: 8, Delta: 1},
		{Epsilon: 8, Delta: 1e-5, Accounting: Accounting(9)}} {
		if err := l.Validate(); err == nil {
			t.Errorf("limit %+v was accepted", l)
		}
	}
}
