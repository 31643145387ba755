package task

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"testing"
)

// random returns n samples whose columns are sums of a few shared numbers, so that the columns are correlated.
func random(n, dim, classes int, seed uint64) *Data {
	s := testStream(seed)
	d := &Data{Dim: dim, Classes: classes}
	for i := range n {
		shared := [3]float64{s.Normal(), s.Normal(), s.Normal()}
		for j := range dim {
			d.X = append(d.X, float32(float64(3*shared[j%3]/float64(1+j))+s.Normal()+float64(j)))
		}
		d.Y = append(d.Y, (i+s.IntN(2))%classes)
	}
	return d
}

func digest[T float32 | float64 | int](values ...T) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, v := range values {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(float64(v)))
		h.Write(b[:])
	}
	return h.Sum64()
}

func TestData(t *testing.T) {
	d := &Data{X: []float32{1, 2, 3, 4, 5, 6}, Y: []int{0, 1, 1}, Dim: 2, Classes: 2, Features: []string{"a", "b"}}
	if err := d.check(); err != nil {
		t.Fatal(err)
	}
	if r := d.Row(1); !slices.Equal(r, []float32{3, 4}) || cap(r) != 2 {
		t.Errorf("Row(1) = %v with capacity %d", r, cap(r))
	}
	s := d.Select([]int{2, 0, 2})
	if !slices.Equal(s.X, []float32{5, 6, 1, 2, 5, 6}) || !slices.Equal(s.Y, []int{1, 0, 1}) || s.Dim != 2 ||
		s.Classes != 2 {
		t.Errorf("Select = %+v", s)
	}
	s.X[0] = 9
	if d.X[4] != 5 {
		t.Error("Select shares X")
	}
	b := d.WithBias()
	if !slices.Equal(b.X, []float32{1, 2, 1, 3, 4, 1, 5, 6, 1}) || b.Dim != 3 ||
		!slices.Equal(b.Features, []string{"a", "b", "bias"}) {
		t.Errorf("WithBias = %+v", b)
	}
	if len(d.Features) != 2 || d.Dim != 2 {
		t.Error("WithBias changed its source")
	}
}

func TestStandardizer(t *testing.T) {
	train := &Data{Dim: 3, Classes: 2, Y: []int{0, 1, 0, 1}, X: []float32{
		1, 0.1, 1e6 + 1,
		2, 0.1, 1e6 + 3,
		3, 0.1, 1e6 + 1,
		6, 0.1, 1e6 + 3,
	}}
	s := must(FitStandardizer(train))(t)
	got := must(s.Apply(train))(t)
	std := math.Sqrt(3.5) // standard deviation of 1, 2, 3, 6
	for i, first := range []float64{-2 / std, -1 / std, 0, 3 / std} {
		want := []float64{first, 0, float64(2*(i%2) - 1)}
		for j, x := range got.Row(i) {
			if math.Abs(float64(x)-want[j]) > 1e-6 {
				t.Errorf("row %d column %d: %v, want %v", i, j, x, want[j])
			}
		}
	}
	// New rows are standardized with the statistics of the training set. A column that is constant in the training set
	// becomes 0.
	test := must(s.Apply(&Data{Dim: 3, Classes: 2, Y: []int{0}, X: []float32{3 + 10, 7, 1e6 + 2}}))(t)
	if math.Abs(float64(test.X[0])-10/std) > 1e-6 || test.X[1] != 0 || test.X[2] != 0 {
		t.Errorf("test row %v", test.X)
	}
	if train.X[0] != 1 {
		t.Error("Apply changed its source")
	}
	if _, err := s.Apply(random(3, 4, 2, 1)); err == nil {
		t.Error("took 4 columns for 3")
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

// must returns a result that a test needs.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
