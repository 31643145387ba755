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
