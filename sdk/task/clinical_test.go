package task

import (
	"math"
	"slices"
	"testing"
)

// logistic fits a logistic regression with an intercept to the given columns by gradient ascent and returns its
// accuracy.
func logistic(d *Data, columns ...int) float64 {
	w := make([]float64, len(columns)+1)
	score := func(i int) float64 {
		z := w[len(columns)]
		for k, j := range columns {
			z += w[k] * float64(d.Row(i)[j])
		}
		return z
	}
	for range 60 {
		g := make([]float64, len(w))
		for i, y := range d.Y {
			e := float64(y) - 1/(1+math.Exp(-score(i)))
			for k, j := range columns {
				g[k] += e * float64(d.Row(i)[j])
			}
			g[len(columns)] += e
		}
		for k := range w {
			w[k] += 4 * g[k] / float64(d.Len())
		}
	}
	right := 0
	for i, y := range d.Y {
		if (score(i) > 0) == (y == 1) {
			right++
		}
	}
	return float64(right) / float64(d.Len())
}

func TestClinical(t *testing.T) {
	d := Clinical(3000, 1)
	if err := d.check(); err != nil || d.Len() != 3000 || d.Dim != 5 || len(d.Features) != 5 || len(d.ClassNames) != 2 {
		t.Fatalf("%v: %d x %d, %q, %q", err, d.Len(), d.Dim, d.Features, d.ClassNames)
	}
	events := 0
	for i := range d.Y {
		events += d.Y[i]
		for j, x := range d.Row(i) {
			if c := clinicalColumns[j]; x < float32(c.low) || x > float32(c.high) {
				t.Errorf("patient %d: %s is %v", i, c.name, x)
			}
		}
	}
	if share := float64(events) / 3000; math.Abs(share-0.5) > 0.04 {
		t.Errorf("%v have an event, want about half", share)
	}
	scale, err := FitStandardizer(d)
	if err != nil {
		t.Fatal(err)
	}
	for j, c := range clinicalColumns {
		if math.Abs(scale.Mean[j]-c.mean) > 0.1*c.std || math.Abs(scale.Std[j]/c.std-1) > 0.1 {
			t.Errorf("%s: %v ± %v, want %v ± %v", c.name, scale.Mean[j], scale.Std[j], c.mean, c.std)
		}
	}
	std, err := scale.Apply(d)
	if err != nil {
		t.Fatal(err)
	}
	every := []int{0, 1, 2, 3, 4}
	all := logistic(std, every...)
	if all < 0.87 || all > 0.93 {
		t.Errorf("a linear model on all columns gets %v, want about 0.9", all)
	}
	for j, name := range d.Features {
		if alone := logistic(std, j); alone > 0.75 {
			t.Errorf("%s alone gets %v", name, alone)
		}
		if without := logistic(std, slices.Delete(slices.Clone(every), j, j+1)...); without > all-0.03 {
			t.Errorf("without %s: %v, with it %v", name, without, all)
		}
	}
}

func TestClinicalDraws(t *testing.T) {
	long, short, other := Clinical(100, 1), Clinical(30, 1), Clinical(30, 2)
	if !slices.Equal(long.X[:len(short.X)], short.X) || !slices.Equal(long.Y[:30], short.Y) {
		t.Error("a patient depends on how many there are")
	}
	if slices.Equal(short.X, other.X) {
		t.Error("the seed plays no part")
	}
	if Clinical(0, 1).Len() != 0 || Clinical(-1, 1).Len() != 0 {
		t.Error("patients out of nothing")
	}
	const want = 0x307ed0db3b7282b1
	if got := digest(long.X...) ^ digest(long.Y...); got != want {
		t.Errorf("digest %#x, want %#x as on every processor", got, uint64(want))
	}
}
