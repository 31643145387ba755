package dpmech

import (
	crand "crypto/rand"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

var fresh = flag.Bool("fresh", false, "draw the normals of the statistical tests from a fresh key")

// keyed returns a fixed stream of random words for the given seed or, with the flag -fresh, a new random stream.
func keyed(t testing.TB, seed byte) *rand.ChaCha8 {
	key := [32]byte{seed}
	if *fresh {
		if _, err := crand.Read(key[:]); err != nil {
			t.Fatal(err)
		}
		t.Logf("key %x", key)
	}
	return rand.NewChaCha8(key)
}

// draws counts rounded numbers on the grid with step 2^-shift in three ways: by sign, by their last 8 bits, and in bins
// from -8 to 8. The width of a bin is 2^-3 or, if that is larger, 2^-shift.
type draws struct {
	n, positive, negative float64
	shift, fine           int
	bins                  []float64
	last                  [256]float64
}

func (d *draws) add(block []int64) {
	d.n += float64(len(block))
	for _, x := range block {
		switch {
		case x > 0:
			d.positive++
		case x < 0:
			d.negative++
		}
		d.last[x&255]++
		d.bins[min(max(0, x>>(d.shift-d.fine)+8<<d.fine), int64(len(d.bins)-1))]++
	}
}

// count makes n draws, in blocks of 50,000.
func count(n, shift int, word func() uint64) *draws {
	d := &draws{shift: shift, fine: min(shift, 3)}
	d.bins = make([]float64, 16<<d.fine)
	for block := make([]int64, 50000); n > 0; n -= len(block) {
		normals(block, shift, word)
		d.add(block)
	}
	return d
}

// between returns the probability that a standard normal number, rounded to the grid, falls into one of the bins with
// an index in [from, to). The result is accurate in both tails.
func (d *draws) between(from, to int) float64 {
	edge := func(i int) float64 {
		switch i {
		case 0:
			return math.Inf(-1)
		case len(d.bins):
			return math.Inf(1)
		}
		return (math.Ldexp(float64(i-len(d.bins)/2), -d.fine) - math.Ldexp(0.5, -d.shift)) / math.Sqrt2
	}
	a, b := edge(from), edge(to)
	if b < 0 {
		a, b = -b, -a
	}
	return (math.Erfc(a) - math.Erfc(b)) / 2
}

// chiLimit returns the value that a chi-square statistic with df degrees of freedom exceeds with a probability of about
// 1e-6. By the approximation of Wilson and Hilferty, the cube root of the statistic is nearly normal. The constant 4.75
// is the normal quantile for this probability.
func chiLimit(df int) float64 {
	v := 2 / (9 * float64(df))
	return float64(df) * math.Pow(1-v+4.75*math.Sqrt(v), 3)
}

// chi returns the chi-square statistic and its degrees of freedom. The bins reach far beyond four standard deviations. Each
// tail with fewer than 10 expected draws is a single bin.
func (d *draws) chi() (sum float64, df int) {
	all := len(d.bins)
	lo, hi := 1, all-1
	for d.n*d.between(0, lo) < 10 {
		lo++
	}
	for d.n*d.between(hi, all) < 10 {
		hi--
	}
	cell := func(from, to int) {
		var got float64
		for _, c := range d.bins[from:to] {
			got += c
		}
		want := d.n * d.between(from, to)
		sum += (got - want) * (got - want) / want
		df++
	}
	cell(0, lo)
	for i := lo; i < hi; i++ {
		cell(i, i+1)
	}
	cell(hi, all)
	return sum, df - 1
}

// faults returns a description of each test that the draws fail. The probability that an exact sampler fails is about
// 1e-6 for each test, except for the test of signs, where it is 6e-5.
func (d *draws) faults() (failed []string) {
	if sum, df := d.chi(); sum > chiLimit(df) {
		failed = append(failed, fmt.Sprintf("chi-square is %.1f, limit %.1f", sum, chiLimit(df)))
	}
	if z := (d.positive - d.negative) / math.Sqrt(d.positive+d.negative); math.Abs(z) > 4 {
		failed = append(failed, fmt.Sprintf("the signs are %.1f standard deviations from even, limit 4", z))
	}
	if d.shift >= 16 {
		var sum float64
		for _, c := range d.last {
			want := d.n / float64(len(d.last))
			sum += (c - want) * (c - want) / want
		}
		if limit := chiLimit(len(d.last) - 1); sum > limit {
			failed = append(failed, fmt.Sprintf("chi-square of the last 8 bits is %.1f, limit %.1f", sum, limit))
		}
	}
	return failed
}

// sizes returns two numbers of draws: signs for the test of signs, and plain for all other tests. The draws detect an error
// of 2 % in the scale, and wrong signs in 1 % of the draws; with SPADE_LONG, of 0.5 % and in 0.1 %.
func sizes() (plain, signs int) {
	if long {
		return 1e7, 4e7
	}
	return 500_000, 1e6
}

// long reports whether SPADE_LONG is set. If it is set, tests use the sample sizes of the full check, .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// TestNormalLaw checks that the draws follow the normal distribution on a coarse grid, where rounding is visible, on a
// medium grid and on a fine grid.
func TestNormalLaw(t *testing.T) {
	t.Parallel()
	plain, signs := sizes()
	for _, c := range []struct{ shift, n int }{{2, plain}, {8, plain}, {28, signs}} {
		words := keyed(t, byte(16+c.shift))
		for _, fault := range count(c.n, c.shift, words.Uint64).faults() {
			t.Errorf("M = %d, %d draws: %s", c.shift, c.n, fault)
		}
	}
}

// TestTailLaw checks the tail, which random draws rarely reach. The fraction of proposed points that are accepted, and
// the distribution of the accepted points, must agree with the complementary error function.
func TestTailLaw(t *testing.T) {
	t.Parallel()
	words := keyed(t, 40)
	tries := 5000
	if long {
		tries = 20000
	}
	const start = cells / 2. // in units of the standard deviation
	beyond := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / math.Erfc(start/math.Sqrt2) }
	const bins = 24 // bins of width 1/32; the last bin is unbounded
	var got [bins]float64
	kept := 0.0
	for range tries {
		x, ok := tail(words.Uint64(), words.Uint64)
		if ok {
			kept++
			got[min(bins-1, int((math.Ldexp(float64(x), -52)-start)*32))]++
		}
	}
	// p is the expected fraction of accepted points: the mass of the density in the tail, in units of cells, divided by
	// the weight of the proposal.
	p := float64(heights[0]) * math.Ldexp(math.Sqrt(math.Pi/2)*math.Erfc(start/math.Sqrt2), cellBits) / tailWeight
	if sd := math.Sqrt(float64(tries) * p * (1 - p)); math.Abs(kept-float64(tries)*p) > 5*sd {
		t.Errorf("%v of %d were kept, want %.0f", kept, tries, float64(tries)*p)
	}
	var sum float64
	for i, g := range got {
		want := beyond(start + float64(i)/32)
		if i < bins-1 {
			want -= beyond(start + float64(i+1)/32)
		}
		want *= kept
		sum += (g - want) * (g - want) / want
	}
	if sum > chiLimit(bins-1) {
		t.Errorf("chi-square is %.1f, limit %.1f: %v", sum, chiLimit(bins-1), got)
	}
}
