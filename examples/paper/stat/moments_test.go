package stat

import (
	"math"
	"testing"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// TestMoments checks values computed by hand: the mean of 2, 4, 4, 4, 5, 5, 7, 9 is 5, and the squared deviations from
// the mean sum to 32.
func TestMoments(t *testing.T) {
	x := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	if got := Mean(x); got != 5 {
		t.Errorf("mean %v, want 5", got)
	}
	if got := SD(x); got != 2 {
		t.Errorf("population standard deviation %v, want 2", got)
	}
	if got, want := SampleSD(x), math.Sqrt(32.0/7); got != want {
		t.Errorf("sample standard deviation %v, want %v", got, want)
	}
	for name, v := range map[string]float64{"mean of none": Mean(nil), "SD of none": SD(nil),
		"sample SD of one": SampleSD(x[:1])} {
		if !math.IsNaN(v) {
			t.Errorf("%s is %v, want NaN", name, v)
		}
	}
	if SD(x[:1]) != 0 {
		t.Error("one value has a population standard deviation")
	}
	// The spread remains accurate for values far from 0, because the code does not subtract large squares.
	for i := range x {
		x[i] += 1e9
	}
	if got := SD(x); got != 2 {
		t.Errorf("population standard deviation %v after a shift by 1e9, want 2", got)
	}
}

// TestTIntervalAgainstTables checks intervals against tables of Student's t. Two values that differ by 2s have the mean
// 0 and the sample standard deviation s*sqrt(2), so the half-width of the interval is s times the quantile for one
// degree of freedom. The other cases are analogous.
func TestTIntervalAgainstTables(t *testing.T) {
	for _, c := range []struct {
		n           int
		level, want float64
	}{
		{2, 0.95, 12.706}, {3, 0.95, 4.303}, {5, 0.95, 2.776}, {10, 0.95, 2.262}, {30, 0.95, 2.045}, {121, 0.95, 1.980},
		{10, 0.99, 3.250}, {30, 0.99, 2.756}, {30, 0.90, 1.699}, {2, 0.5, 1},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64(i)
		}
		got, err := TInterval(x, c.level)
		if err != nil {
			t.Fatal(err)
		}
		quantile := (got.High - got.Mean) * math.Sqrt(float64(c.n)) / SampleSD(x)
		if !near(quantile, c.want, 6e-4) {
			t.Errorf("n = %d, level %v: quantile %.4f, the table has %v", c.n, c.level, quantile, c.want)
		}
		if !near(got.High-got.Mean, got.Mean-got.Low, 1e-9) {
			t.Errorf("n = %d: the interval %+v is not symmetric", c.n, got)
		}
	}
}

func TestTIntervalRefuses(t *testing.T) {
	for _, level := range []float64{0, 1, -1, 95, math.NaN()} {
		if _, err := TInterval([]float64{1, 2, 3}, level); err == nil {
			t.Errorf("level %v is accepted", level)
		}
	}
	if _, err := TInterval([]float64{1}, 0.95); err == nil {
		t.Error("an interval from one value")
	}
}
