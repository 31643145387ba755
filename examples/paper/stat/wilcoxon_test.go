package stat

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func signed(d ...float64) (x, y []float64) {
	return d, make([]float64, len(d))
}

// TestWilcoxonOnPublishedData compares the results for two data sets with the results of textbooks and statistics
// programs.
func TestWilcoxonOnPublishedData(t *testing.T) {
	// Darwin's maize: heights of cross-fertilized minus self-fertilized plants, in eighths of an inch. min(W+, W-) =
	// 24, p = 0.04126.
	x, y := signed(6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75)
	got, err := Wilcoxon(x, y, DropZeros)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Test{Pairs: 15, Plus: 96, P: 0.041259765625, Exact: true}); got != want {
		t.Errorf("maize: %+v, want %+v", got, want)
	}
	// Hollander and Wolfe: values of the Hamilton depression scale before and after treatment. W+ = 40, p = 0.03906.
	x = []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y = []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	if got, err = Wilcoxon(x, y, DropZeros); err != nil {
		t.Fatal(err)
	}
	if want := (Test{Pairs: 9, Plus: 40, P: 0.0390625, Exact: true}); got != want {
		t.Errorf("depression: %+v, want %+v", got, want)
	}
}

// TestWilcoxonAgainstTables checks exact p values against tables of critical values, which list, for each number of
// pairs, the largest W with a two-sided p of at most 0.05.
func TestWilcoxonAgainstTables(t *testing.T) {
	for n, critical := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89, 30: 137, 40: 264,
		50: 434} {
		if p := exact(n, critical); p > 0.05 {
			t.Errorf("n = %d: p = %v at the critical value %d", n, p, critical)
		}
		if p := exact(n, critical+1); p <= 0.05 {
			t.Errorf("n = %d: p = %v above the critical value %d", n, p, critical)
		}
	}
}

// TestWilcoxonAgainstEnumeration checks that the exact p value equals the p value obtained by enumerating all 2^n
// assignments of signs to the ranks.
func TestWilcoxonAgainstEnumeration(t *testing.T) {
	for n := 1; n <= 12; n++ {
		top := n * (n + 1) / 2
		count := make([]int, top+1)
		for signs := range 1 << n {
			count[sumOfRanks(signs)]++
		}
		for w := range count {
			var low, high int
			for s, c := range count {
				if s <= w {
					low += c
				}
				if s >= w {
					high += c
				}
			}
			want := min(1, 2*float64(min(low, high))/float64(int(1)<<n))
			if got := exact(n, w); got != want {
				t.Errorf("n = %d, W+ = %d: p = %v, enumeration has %v", n, w, got, want)
			}
		}
	}
}

// sumOfRanks returns the sum of the ranks in a bit set, in which bit i represents rank i+1.
func sumOfRanks(set int) (sum int) {
	for ; set != 0; set &= set - 1 {
		sum += bits.TrailingZeros(uint(set)) + 1
	}
	return sum
}

// TestWilcoxonWithTiesAndZeros checks the normal approximation for data with ties and zeros. It enumerates all signs of
// the differences to compute the mean and variance of W+. These two values determine the p value that Wilcoxon must
// return.
func TestWilcoxonWithTiesAndZeros(t *testing.T) {
	for _, size := range [][]float64{{1, 1, 2, 3, 3, 3, 4, 5}, {0, 0, 1, 2, 2, 3, 5}, {0, 1, 2, 3, 4, 5, 6},
		{2, 2, 2, 2, 2}} {
		for _, zeros := range []Zeros{DropZeros, PrattZeros} {
			var sums []float64
			for signs := range 1 << len(size) {
				x, y := signed(giveSigns(size, signs)...)
				got, err := Wilcoxon(x, y, zeros)
				if err != nil {
					t.Fatal(err)
				}
				if got.Exact {
					t.Fatalf("%v: taken as exact", x)
				}
				sums = append(sums, got.Plus)
			}
			mean, sd := Mean(sums), SD(sums)
			for signs := range 1 << len(size) {
				x, y := signed(giveSigns(size, signs)...)
				got, _ := Wilcoxon(x, y, zeros)
				z := max(0, math.Abs(got.Plus-mean)-0.5) / sd
				if want := math.Erfc(z / math.Sqrt2); !near(got.P, want, 1e-9) {
					t.Errorf("%v, rule %d: p = %v, from mean and variance over all signs %v", x, zeros, got.P, want)
				}
			}
		}
	}
	// By hand: sizes 1, 2, 2 have ranks 1, 2.5, 2.5 under Wilcoxon's rule, and ranks 2, 3.5, 3.5 under Pratt's rule.
	x, y := signed(0, -1, 2, 2)
	for zeros, want := range map[Zeros]float64{DropZeros: 5, PrattZeros: 7} {
		if got, _ := Wilcoxon(x, y, zeros); got.Plus != want || got.Pairs != 3 {
			t.Errorf("rule %d: %+v, want W+ = %v of 3 pairs", zeros, got, want)
		}
	}
}

func giveSigns(size []float64, signs int) []float64 {
	d := make([]float64, len(size))
	for i, v := range size {
		d[i] = v
		if signs>>i&1 == 1 {
			d[i] = -v
		}
	}
	return d
}

func TestWilcoxonProperties(t *testing.T) {
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	for trial := range 300 {
		n := 2 + s.IntN(70)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = s.Normal(), s.Normal()
			if trial%3 == 0 {
				x[i], y[i] = math.Round(x[i]), math.Round(y[i]) // rounding makes ties and zeros
			}
		}
		zeros := Zeros(trial % 2)
		first, err := Wilcoxon(x, y, zeros)
		if err != nil {
			t.Fatal(err)
		}
		if !(first.P > 0 && first.P <= 1) {
			t.Fatalf("p = %v", first.P)
		}
		same := func(what string, x, y []float64) {
			t.Helper()
			if got, err := Wilcoxon(x, y, zeros); err != nil || got.P != first.P {
				t.Errorf("n = %d: p = %v (%v) %s, want %v", n, got.P, err, what, first.P)
			}
		}
		same("with the samples exchanged", y, x)
		scaled, shuffled := make([]float64, n), make([]float64, n)
		scaledY, shuffledY := make([]float64, n), make([]float64, n)
		for i := range x {
			scaled[i], scaledY[i] = 1024*x[i], 1024*y[i]
			shuffled[i], shuffledY[i] = x[n-1-i], y[n-1-i]
		}
		same("in other units", scaled, scaledY)
		same("in another order", shuffled, shuffledY)
	}
	// For many pairs, the approximation is close to the exact distribution.
	var d []float64
	for i := range 50 {
		d = append(d, float64(i+1))
	}
	for i := range d {
		d[i] = -d[i]
		a, _ := Wilcoxon(d, make([]float64, 50), DropZeros)
		b, _ := Wilcoxon(append([]float64{0}, d...), make([]float64, 51), DropZeros) // the zero prevents the exact test
		if !a.Exact || b.Exact || !near(a.P, b.P, 5e-3) {
			t.Errorf("p = %v exactly and %v approximately", a.P, b.P)
		}
	}
}

// TestWilcoxonRounding checks that differences that are equal up to rounding are treated as ties.
func TestWilcoxonRounding(t *testing.T) {
	got, err := Wilcoxon([]float64{0.3, 0.2}, []float64{0.2, 0.1}, DropZeros)
	if err != nil || got.Exact || got.Plus != 3 {
		t.Errorf("%+v, %v: 0.3-0.2 and 0.2-0.1 are not tied", got, err)
	}
	if got, err := Wilcoxon([]float64{0.1 + 0.2, 1}, []float64{0.3, 1}, PrattZeros); err != nil || got != (Test{P: 1}) {
		t.Errorf("%+v, %v: 0.1+0.2 and 0.3 differ", got, err)
	}
	if got, err := Wilcoxon(nil, nil, DropZeros); err != nil || got != (Test{P: 1}) {
		t.Errorf("%+v, %v of no pairs", got, err)
	}
	if got, err := Wilcoxon([]float64{1, 1e300}, []float64{2, -1e300}, DropZeros); err != nil || got.Plus == 0 {
		t.Errorf("%+v, %v with huge values", got, err)
	}
}

func TestWilcoxonRefuses(t *testing.T) {
	if _, err := Wilcoxon([]float64{1}, nil, DropZeros); err == nil || !strings.Contains(err.Error(), "1 and 0") {
		t.Errorf("unequal lengths: %v", err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := Wilcoxon([]float64{1, bad}, []float64{0, 0}, DropZeros); err == nil ||
			!strings.Contains(err.Error(), "pair 1") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
