package rng

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"testing"
)

// intN implements Lemire's method in its simplest form. Of the 2^32 words, it rejects those whose product with n has a
// low half below 2^32 mod n. Each result then corresponds to the same number of words.
func intN(s *Stream, n uint64) uint64 {
	for {
		p := uint64(s.Uint32()) * n
		if p%(1<<32) >= (1<<32)%n {
			return p >> 32
		}
	}
}

func sizes(ns ...int64) []int {
	var fit []int
	for _, n := range ns {
		if strconv.IntSize == 64 || n <= math.MaxInt32 {
			fit = append(fit, int(n))
		}
	}
	return fit
}

func TestIntNAgainstReference(t *testing.T) {
	for _, n := range sizes(1, 2, 3, 6, 7, 64, 1000, 1<<20, 1<<30, 1<<31-1, 1<<31, 1<<31+1, 3<<30, 1<<32-2, 1<<32-1) {
		s, ref := at(10), at(10)
		for i := range 2000 {
			got, want := s.IntN(n), intN(ref, uint64(n))
			if got < 0 || uint64(got) >= uint64(n) {
				t.Fatalf("IntN(%d) is %d", n, got)
			}
			if uint64(got) != want {
				t.Fatalf("IntN(%d), draw %d, is %d, want %d", n, i, got, want)
			}
		}
		if *s != *ref {
			t.Errorf("IntN(%d) uses another number of words than the reference", n)
		}
	}
}

func TestFloat64(t *testing.T) {
	s, ref := at(14), at(14)
	for range 1000 {
		if x, want := s.Float64(), math.Ldexp(float64(ref.Uint64()>>11), -53); x != want {
			t.Fatalf("Float64 is %v, want %v", x, want)
		}
	}
	// Check the ends of the range: all bits clear and all bits set.
	if s := (&Stream{n: 4}); s.Float64() != 0 {
		t.Error("the least value is not 0")
	}
	all := uint32(math.MaxUint32)
	if s := (&Stream{n: 4, buf: [4]uint32{all, all, all, all}}); s.Float64() != 1-0x1p-53 {
		t.Error("the greatest value is not 1 - 2^-53")
	}
}

// cells multiplies each draw by scale and returns the number of draws in each cell. edges contains the inner edges of
// the cells.
func cells(draws, edges []float64, scale float64) []int {
	count := make([]int, len(edges)+1)
	for _, x := range draws {
		count[sort.SearchFloat64s(edges, x*scale)]++
	}
	return count
}

// quantile returns the point between lo and hi at which the distribution function cdf is p.
func quantile(p, lo, hi float64, cdf func(float64) float64) float64 {
	for range 60 {
		if mid := (lo + hi) / 2; cdf(mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// quantiles returns the inner edges of n cells of equal probability for the distribution function cdf.
func quantiles(n int, lo, hi float64, cdf func(float64) float64) []float64 {
	edges := make([]float64, n-1)
	for i := range edges {
		edges[i] = quantile(float64(i+1)/float64(n), lo, hi, cdf)
	}
	return edges
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// TestNormal sorts 400,000 draws into 40 cells. A scale that is off by 2 % would add 4e5 * 2 * 0.02^2 = 320 to a statistic of
// about 39 with a limit of 92; the test also checks that draws with such a scale fail. It then checks that the tails and the
// first four moments are right, and that successive draws are independent, both within and across the pairs that the polar
// method generates. Each mean over n draws may deviate by at most five of its standard deviations.
func TestNormal(t *testing.T) {
	const n, k = 400_000, 40
	s := at(15)
	x := make([]float64, n+2)
	for i := range x {
		x[i] = s.Normal()
	}
	edges := quantiles(k, -10, 10, normalCDF)
	if got := chiSquare(cells(x, edges, 1)); got > chiLimit(k-1) {
		t.Errorf("chi-square is %.1f, limit %.1f", got, chiLimit(k-1))
	}
	for _, scale := range []float64{0.98, 1.02} {
		if got := chiSquare(cells(x, edges, scale)); got <= chiLimit(k-1) {
			t.Errorf("scale %v passes with chi-square %.1f: the test has no power", scale, got)
		}
	}
	beyond := func(sign float64) func(i int) float64 {
		return func(i int) float64 {
			if sign*x[i] > 4 {
				return 1
			}
			return 0
		}
	}
	const far = 3.167e-5 // the probability of a draw above 4
	for _, c := range []struct {
		name     string
		f        func(i int) float64
		mean, sd float64
	}{
		{"x", func(i int) float64 { return x[i] }, 0, 1},
		{"x^2", func(i int) float64 { return x[i] * x[i] }, 1, math.Sqrt(2)},
		{"x^3", func(i int) float64 { return math.Pow(x[i], 3) }, 0, math.Sqrt(15)},
		{"x^4", func(i int) float64 { return math.Pow(x[i], 4) }, 3, math.Sqrt(96)},
		{"x above 4", beyond(1), far, math.Sqrt(far)},
		{"x below -4", beyond(-1), far, math.Sqrt(far)},
		{"x*next", func(i int) float64 { return x[i] * x[i+1] }, 0, 1},
		{"x*next but one", func(i int) float64 { return x[i] * x[i+2] }, 0, 1},
		{"x^2*next^2", func(i int) float64 { return math.Pow(x[i]*x[i+1], 2) }, 1, math.Sqrt(8)},
		{"first of pair", func(i int) float64 { return x[i&^1] }, 0, math.Sqrt2},
		{"pair", func(i int) float64 { return x[i&^1] * x[i|1] }, 0, math.Sqrt2},
		{"squares of pair", func(i int) float64 { return math.Pow(x[i&^1]*x[i|1], 2) }, 1, 4},
	} {
		var sum float64
		for i := range n {
			sum += c.f(i)
		}
		// Adjacent terms of the second moments have common factors, which at most doubles the variance.
		if got, limit := sum/n, 5*math.Sqrt2*c.sd/math.Sqrt(n); math.Abs(got-c.mean) > limit {
			t.Errorf("mean of %s is %.5f, want %v within %.5f", c.name, got, c.mean, limit)
		}
	}
}

// gammaCDF is the distribution function of the gamma distribution with scale 1. It uses the series of the incomplete
// gamma function.
func gammaCDF(shape, x float64) float64 {
	if x <= 0 {
		return 0
	}
	log, _ := math.Lgamma(shape + 1)
	term := math.Exp(shape*math.Log(x) - x - log)
	sum := term
	for n := 1.0; term > 1e-17*sum; n++ {
		term *= x / (shape + n)
		sum += term
	}
	return sum
}

// TestGamma checks that the mean and the variance both equal the shape. It also compares the number of draws in each of
// 30 intervals of equal probability, and the number of draws in the far tail, with the expected numbers. Draws with a
// shape that is 8 % too large must not pass these checks: they add 260 or more to a statistic of about 29.
func TestGamma(t *testing.T) {
	const n, k = 40_000, 30
	for i, shape := range []float64{0.1, 0.5, 1, 3, 20} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			draw := func(shape float64) []float64 {
				s := at(20 + uint32(i))
				x := make([]float64, n)
				for i := range x {
					x[i] = s.Gamma(shape)
				}
				return x
			}
			x := draw(shape)
			var sum, sq float64
			for _, v := range x {
				if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
					t.Fatalf("drew %v", v)
				}
				sum += v
				sq += (v - shape) * (v - shape)
			}
			// The fourth central moment is 3*shape^2 + 6*shape. The limits are five standard deviations.
			root := math.Sqrt(n)
			if got, limit := sum/n, 5*math.Sqrt(shape)/root; math.Abs(got-shape) > limit {
				t.Errorf("mean is %.5f, want %v within %.5f", got, shape, limit)
			}
			if got, limit := sq/n, 5*math.Sqrt(2*shape*shape+6*shape)/root; math.Abs(got-shape) > limit {
				t.Errorf("variance is %.5f, want %v within %.5f", got, shape, limit)
			}

			cdf := func(x float64) float64 { return gammaCDF(shape, x) }
			edges := quantiles(k, 0, 60+10*shape, cdf)
			if got := chiSquare(cells(x, edges, 1)); got > chiLimit(k-1) {
				t.Errorf("chi-square is %.1f, limit %.1f", got, chiLimit(k-1))
			}
			if got := chiSquare(cells(draw(1.08*shape), edges, 1)); got <= chiLimit(k-1) {
				t.Errorf("a shape 8 %% too large passes with chi-square %.1f: the test has no power", got)
			}
			far := quantile(0.999, 0, 60+10*shape, cdf)
			beyond := cells(x, []float64{far}, 1)[1]
			if want := n / 1000.; math.Abs(float64(beyond)-want) > 5*math.Sqrt(want) {
				t.Errorf("%d draws beyond %.3f, want about %.0f", beyond, far, want)
			}
		})
	}
}

// TestGammaTinyShape checks that draws with a very small shape sometimes underflow to zero, and are never negative,
// infinite or NaN.
func TestGammaTinyShape(t *testing.T) {
	s := at(30)
	zeros := 0
	for range 10000 {
		x := s.Gamma(0.001)
		if !(x >= 0) || math.IsInf(x, 0) {
			t.Fatalf("Gamma(0.001) is %v", x)
		}
		if x == 0 {
			zeros++
		}
	}
	// P(X < 2^-1022) is 2^-1.022 = 0.4924, up to a factor of 1.0006.
	if zeros < 4500 || zeros > 5350 {
		t.Errorf("%d of 10000 draws underflowed, want about 4920", zeros)
	}
}

// TestShuffleUniform checks that each of the 24 orders of four items is equally frequent. A shuffle with the common
// mistake of swapping each item with an arbitrary item must not pass this test. The test finds frequencies that are off by 6 %
// on average.
func TestShuffleUniform(t *testing.T) {
	const draws = 24000
	code := func(p [4]int) int { return p[0] + 4*p[1] + 16*p[2] + 64*p[3] }
	right, wrong := map[int]int{}, map[int]int{}
	s := at(31)
	for range draws {
		p := [4]int{0, 1, 2, 3}
		s.Shuffle(4, func(i, j int) { p[i], p[j] = p[j], p[i] })
		right[code(p)]++

		p = [4]int{0, 1, 2, 3}
		for i := range p {
			j := s.IntN(4)
			p[i], p[j] = p[j], p[i]
		}
		wrong[code(p)]++
	}
	statistic := func(m map[int]int) float64 {
		var count []int
		for _, c := range m {
			count = append(count, c)
		}
		if len(count) != 24 {
			t.Fatalf("%d orders turned up, want 24", len(count))
		}
		return chiSquare(count)
	}
	if got := statistic(right); got > chiLimit(23) {
		t.Errorf("chi-square is %.1f, limit %.1f", got, chiLimit(23))
	}
	if got := statistic(wrong); got <= chiLimit(23) {
		t.Errorf("a biased shuffle passes with chi-square %.1f: the test has no power", got)
	}
}
