package main

import (
	"math"
	"unsafe"

	"github.com/spade-dfl/spade-edge/zoest/vec"
	"github.com/viterin/vek/vek32"
	"gonum.org/v1/gonum/blas/gonum"
)

// data holds the input of the kernels: six vectors, and signs in two forms. A kernel uses only as many of the vectors
// as it needs.
type data struct {
	v      [6][]float32
	signs  []uint64
	floats []float32 // the signs as -1 and +1
	sum    float64   // receives results, so that the compiler cannot remove a reduction
}

// newData allocates vectors of n numbers that start at multiples of 64 bytes. Consecutive vectors are separated by 11
// unused cache lines: without this gap, vectors whose length is a power of two would map to the same cache sets.
func newData(n int) *data {
	const line = 16
	stride := (n+line-1)/line*line + 11*line
	buf := make([]float32, 7*stride+line)
	for uintptr(unsafe.Pointer(&buf[0]))%64 != 0 {
		buf = buf[1:]
	}
	d := &data{signs: make([]uint64, vec.SignWords(n))}
	x := uint64(1)
	next := func() uint64 {
		x = x*6364136223846793005 + 1442695040888963407
		return x ^ x>>29
	}
	for j := range d.v {
		d.v[j] = buf[j*stride:][:n:n]
		for i := range d.v[j] {
			d.v[j][i] = float32(next()>>40)*0x1p-24 + 0.5
		}
	}
	for i := range d.signs {
		d.signs[i] = next()
	}
	d.floats = buf[len(d.v)*stride:][:n:n]
	expand(d.floats, d.signs)
	return d
}

// expand converts signs from one bit each to floats and stores them in s.
func expand(s []float32, signs []uint64) {
	for i := range s {
		s[i] = math.Float32frombits(0x3f800000 | uint32(signs[i/64]>>(i%64))<<31)
	}
}

// The scalars are chosen so that no result overflows or becomes subnormal, no matter how often a kernel is repeated.
// They are variables so that compilers cannot optimize for their values.
var (
	minusOne float32 = -1
	tiny     float32 = 1e-9
)

type contender struct {
	name string
	run  func(d *data, k int)
}

// operation is a computation that several contenders perform. The first contender is this project's kernel. The second
// one, a plain loop, computes the reference results that all other contenders must match. Contenders whose names begin
// with a bracket do less work and are shown only for information.
type operation struct {
	name  string
	bytes int // bytes read and written per element
	who   []contender
}

var blas gonum.Implementation

var operations = []operation{
	{"axpy", 12, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				vec.Axpy(d.v[0], tiny, d.v[1])
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				plainAxpy(d.v[0], tiny, d.v[1])
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				blas.Saxpy(len(d.v[0]), tiny, d.v[1], 1, d.v[0], 1)
			}
		}},
		{"vek32", func(d *data, k int) { // vek32 has no axpy, so it needs two passes
			for range k {
				vek32.MulNumber_Into(d.v[5], d.v[1], tiny)
				vek32.Add_Inplace(d.v[0], d.v[5])
			}
		}},
	}},
	{"dot", 8, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				d.sum += vec.Dot(d.v[0], d.v[1])
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				d.sum += float64(plainDot(d.v[0], d.v[1]))
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				d.sum += float64(blas.Sdot(len(d.v[0]), d.v[0], 1, d.v[1], 1))
			}
		}},
		{"vek32", func(d *data, k int) {
			for range k {
				d.sum += float64(vek32.Dot(d.v[0], d.v[1]))
			}
		}},
	}},
	{"sumsquares", 4, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				d.sum += vec.SumSquares(d.v[0])
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				d.sum += float64(plainDot(d.v[0], d.v[0]))
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				d.sum += float64(blas.Sdot(len(d.v[0]), d.v[0], 1, d.v[0], 1))
			}
		}},
		{"vek32", func(d *data, k int) {
			for range k {
				d.sum += float64(vek32.Dot(d.v[0], d.v[0]))
			}
		}},
	}},
	{"scale", 8, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				vec.Scale(d.v[0], minusOne)
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				plainScale(d.v[0], minusOne)
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				blas.Sscal(len(d.v[0]), minusOne, d.v[0], 1)
			}
		}},
		{"vek32", func(d *data, k int) {
			for range k {
				vek32.MulNumber_Inplace(d.v[0], minusOne)
			}
		}},
	}},
	{"step", 16, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				vec.Step(d.v[0], tiny, d.v[1], 0.5, d.v[2])
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				plainStep(d.v[0], tiny, d.v[1], 0.5, d.v[2])
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				blas.Saxpy(len(d.v[0]), -tiny, d.v[1], 1, d.v[0], 1)
				blas.Saxpy(len(d.v[0]), -tiny*0.5, d.v[2], 1, d.v[0], 1)
			}
		}},
		{"vek32", func(d *data, k int) { // four passes
			for range k {
				vek32.MulNumber_Into(d.v[5], d.v[2], 0.5)
				vek32.Add_Inplace(d.v[5], d.v[1])
				vek32.MulNumber_Inplace(d.v[5], tiny)
				vek32.Sub_Inplace(d.v[0], d.v[5])
			}
		}},
	}},
	{"signaxpy", 8, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				vec.SignAxpy(d.v[0], tiny, d.signs)
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				plainSignAxpy(d.v[0], tiny, d.signs)
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				expand(d.v[5], d.signs)
				blas.Saxpy(len(d.v[0]), tiny, d.v[5], 1, d.v[0], 1)
			}
		}},
		{"(gonum, floats given)", func(d *data, k int) {
			for range k {
				blas.Saxpy(len(d.v[0]), tiny, d.floats, 1, d.v[0], 1)
			}
		}},
	}},
	{"signperturb", 8, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				vec.SignPerturb(d.v[0], d.v[1], 0.25, d.signs)
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				plainSignPerturb(d.v[0], d.v[1], 0.25, d.signs)
			}
		}},
		{"gonum", func(d *data, k int) { // three passes
			for range k {
				expand(d.v[5], d.signs)
				copy(d.v[0], d.v[1])
				blas.Saxpy(len(d.v[0]), 0.25, d.v[5], 1, d.v[0], 1)
			}
		}},
		{"vek32", func(d *data, k int) { // three passes
			for range k {
				expand(d.v[0], d.signs)
				vek32.MulNumber_Inplace(d.v[0], 0.25)
				vek32.Add_Inplace(d.v[0], d.v[1])
			}
		}},
		{"(gonum, floats given)", func(d *data, k int) {
			for range k {
				copy(d.v[0], d.v[1])
				blas.Saxpy(len(d.v[0]), 0.25, d.floats, 1, d.v[0], 1)
			}
		}},
	}},
	{"signscale", 4, []contender{
		{"vec", func(d *data, k int) {
			for range k {
				vec.SignScale(d.v[0], 0.25, d.signs)
			}
		}},
		{"plain", func(d *data, k int) {
			for range k {
				plainSignScale(d.v[0], 0.25, d.signs)
			}
		}},
		{"gonum", func(d *data, k int) {
			for range k {
				expand(d.v[0], d.signs)
				blas.Sscal(len(d.v[0]), 0.25, d.v[0], 1)
			}
		}},
		{"vek32", func(d *data, k int) {
			for range k {
				expand(d.v[0], d.signs)
				vek32.MulNumber_Inplace(d.v[0], 0.25)
			}
		}},
	}},
	{"memory", 12, []contender{
		{"triad", func(d *data, k int) {
			for range k {
				triad(d.v[0], tiny, d.v[1], d.v[2])
			}
		}},
		{"plain triad", func(d *data, k int) {
			for range k {
				plainTriad(d.v[0], tiny, d.v[1], d.v[2])
			}
		}},
		{"(copy)", func(d *data, k int) {
			for range k {
				copy(d.v[0], d.v[1])
			}
		}},
	}},
}
