package dpmech

import (
	"fmt"
	"math"
	"sort"
	"testing"
)

// chiSquare returns the statistic of n draws, sorted into cells of equal probability under the normal law with the given
// scale: cells-1 degrees of freedom if the draws follow it.
func chiSquare(draws []int64, shift, cells int, scale float64) float64 {
	edges := make([]float64, cells-1)
	for i := range edges {
		edges[i] = quantile(float64(i+1)/float64(cells)) * scale * math.Ldexp(1, shift)
	}
	count := make([]float64, cells)
	for _, x := range draws {
		count[sort.SearchFloat64s(edges, float64(x))]++
	}
	want := float64(len(draws)) / float64(cells)
	var sum float64
	for _, c := range count {
		sum += (c - want) * (c - want) / want
	}
	return sum
}

// quantile inverts the normal distribution function by bisection.
func quantile(p float64) float64 {
	lo, hi := -10.0, 10.0
	for range 100 {
		if mid := (lo + hi) / 2; math.Erfc(-mid/math.Sqrt2)/2 < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// 3e6 draws in 40 cells. With 39 degrees of freedom the statistic has mean 39 and standard deviation 8.8; the limit of 83
// is five of them up. A scale that is off by 0.5 % adds 3e6 * 2 * 0.005^2 = 150, four standard deviations past the limit,
// and that is shown too: the same draws against cells too wide or too narrow. The seed is fixed, so the outcome is.
func TestNormalChiSquare(t *testing.T) {
	if testing.Short() {
		t.Skip("three million exact draws are left out in short mode")
	}
	const shift, cells, limit = 28, 40, 83
	n := normal{random: stream(11)}
	draws := make([]int64, 3_000_000)
	if err := n.fill(draws, shift); err != nil {
		t.Fatal(err)
	}
	if got := chiSquare(draws, shift, cells, 1); got > limit {
		t.Errorf("chi-square is %.1f, want at most %d", got, limit)
	}
	for _, scale := range []float64{0.995, 1.005} {
		if got := chiSquare(draws, shift, cells, scale); got <= limit {
			t.Errorf("scale %v passes with chi-square %.1f: the test has no power", scale, got)
		}
	}
	// Far tails, where cells of equal weight see little: beyond 4 sigma there should be 3e6 * 6.334e-5 = 190 draws.
	var far int
	for _, x := range draws {
		if math.Abs(float64(x)) > 4<<shift {
			far++
		}
	}
	if math.Abs(float64(far)-190) > 5*math.Sqrt(190) {
		t.Errorf("%d draws beyond 4 sigma, want about 190", far)
	}
}

// On a coarse grid every integer is a cell: the law is that of a rounded normal, to nearest and not down.
func TestNormalRoundsToNearest(t *testing.T) {
	const draws = 1_000_000
	n := normal{random: stream(12)}
	count := map[int64]int{}
	for range draws {
		count[n.draw(0)]++
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for x := int64(-3); x <= 3; x++ {
		p := phi(float64(x)+0.5) - phi(float64(x)-0.5)
		if got, sd := float64(count[x])/draws, math.Sqrt(p*(1-p)/draws); math.Abs(got-p) > 5*sd {
			t.Errorf("%d was drawn with frequency %.5f, want %.5f", x, got, p)
		}
	}
}

// Ties of whole 64-bit digits, which chance would never show: the comparison goes on to the next digit.
func TestUniformTies(t *testing.T) {
	n := normal{random: stream(13)}
	a, b := uniform{digits: []uint64{5, 9}}, uniform{digits: []uint64{5}}
	first := n.less(&a, &b)
	if len(b.digits) < 2 {
		t.Fatal("the tie did not draw a digit")
	}
	if want := 9 < b.digits[1]; first != want {
		t.Errorf("0.5:9 < 0.5:%d is %v", b.digits[1], first)
	}
	if n.less(&a, &b) == n.less(&b, &a) {
		t.Error("the order is not antisymmetric")
	}
}

// The same bytes give the same noise, on every processor and from release to release.
func TestNormalGolden(t *testing.T) {
	n := normal{random: stream(14)}
	got := make([]int64, 6)
	if err := n.fill(got, 28); err != nil {
		t.Fatal(err)
	}
	const want = "[359046872 148884844 -106063023 326438768 -444233496 -158977622]"
	if fmt.Sprint(got) != want {
		t.Errorf("drew %v, want %v", got, want)
	}
}
