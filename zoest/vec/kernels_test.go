package vec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// add and mul perform one float32 operation with one rounding. A float64 represents the product of two float32 values
// exactly. A float64 has 53 binary digits, more than 2*24 + 2, so rounding a sum twice is the same as rounding it once.
func add(a, b float32) float32 { return float32(float64(a) + float64(b)) }
func mul(a, b float32) float32 { return float32(float64(a) * float64(b)) }

// kernel describes an elementwise kernel and how to compute its result for single elements, one operation at a time.
type kernel struct {
	name  string
	vecs  int // number of vectors, destinations first
	outs  int // number of destinations
	signs bool
	run   func(f *vec.Kernels, v [][]float32, a, b float32, signs []uint64)
	one   func(x []float32, a, b, sign float32) // replaces x[:outs]
	same  [][]int                               // which vectors may be one slice: {0, 0} puts vector 0 in place of 1
}

var kernels = []kernel{
	{
		name: "Axpy", vecs: 2, outs: 1, same: [][]int{{0, 0}},
		run: func(f *vec.Kernels, v [][]float32, a, _ float32, _ []uint64) { f.Axpy(v[0], a, v[1]) },
		one: func(x []float32, a, _, _ float32) { x[0] = add(x[0], mul(a, x[1])) },
	},
	{
		name: "Scale", vecs: 1, outs: 1,
		run: func(f *vec.Kernels, v [][]float32, a, _ float32, _ []uint64) { f.Scale(v[0], a) },
		one: func(x []float32, a, _, _ float32) { x[0] = mul(x[0], a) },
	},
	{
		name: "Step", vecs: 3, outs: 1, same: [][]int{{0, 0, 2}, {0, 1, 0}, {0, 1, 1}, {0, 0, 0}},
		run: func(f *vec.Kernels, v [][]float32, a, b float32, _ []uint64) { f.Step(v[0], a, v[1], b, v[2]) },
		one: func(x []float32, a, b, _ float32) { x[0] = add(x[0], -mul(a, add(x[1], mul(b, x[2])))) },
	},
	{
		name: "SignAxpy", vecs: 1, outs: 1, signs: true,
		run: func(f *vec.Kernels, v [][]float32, a, _ float32, s []uint64) { f.SignAxpy(v[0], a, s) },
		one: func(x []float32, a, _, sign float32) { x[0] = add(x[0], mul(a, sign)) },
	},
	{
		name: "SignPerturb", vecs: 2, outs: 1, signs: true, same: [][]int{{0, 0}},
		run: func(f *vec.Kernels, v [][]float32, a, _ float32, s []uint64) { f.SignPerturb(v[0], v[1], a, s) },
		one: func(x []float32, a, _, sign float32) { x[0] = add(x[1], mul(a, sign)) },
	},
	{
		name: "SignAdd", vecs: 3, outs: 1, signs: true, same: [][]int{{0, 0, 2}, {0, 1, 0}, {0, 1, 1}, {0, 0, 0}},
		run: func(f *vec.Kernels, v [][]float32, _, _ float32, s []uint64) { f.SignAdd(v[0], v[1], v[2], s) },
		one: func(x []float32, _, _, sign float32) { x[0] = add(x[1], mul(x[2], sign)) },
	},
	{
		name: "SignScale", vecs: 1, outs: 1, signs: true,
		run: func(f *vec.Kernels, v [][]float32, a, _ float32, s []uint64) { f.SignScale(v[0], a, s) },
		one: func(x []float32, a, _, sign float32) { x[0] = mul(a, sign) },
	},
	{
		name: "SignReplace", vecs: 3, outs: 3, signs: true,
		run: func(f *vec.Kernels, v [][]float32, a, b float32, s []uint64) {
			f.SignReplace(v[0], v[1], v[2], a, s, b, -0.375)
		},
		one: func(x []float32, a, b, sign float32) {
			q := mul(a, sign)
			diff := add(q, -x[0])
			x[0], x[1], x[2] = q, add(x[1], mul(diff, b)), add(x[2], mul(diff, -0.375))
		},
	},
}

// fills lists the kinds of numbers with which the kernels are tested.
var fills = []struct {
	name string
	next func(r *rand.Rand) float32
}{
	{"ordinary", func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }},
	{"subnormal", func(r *rand.Rand) float32 { // around the limit of the subnormals, either sign
		return math.Float32frombits(r.Uint32N(1<<25) | r.Uint32N(2)<<31)
	}},
	{"any bits", func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()) }},
	{"special", func(r *rand.Rand) float32 { return specials[r.IntN(len(specials))] }},
}

var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
	-math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

// lengths returns all lengths up to 200, and lengths around the ends of the first two blocks.
func lengths() []int {
	var ns []int
	for n := range 201 {
		ns = append(ns, n)
	}
	for _, edge := range []int{4096, 8192} {
		for _, off := range []int{-64, -33, -1, 0, 1, 63, 64} {
			ns = append(ns, edge+off)
		}
	}
	return ns
}

var canary = math.Float32frombits(0x7fc0ca9a)

// guarded returns a slice v of n numbers in a buffer buf with at least 16 guards on both sides. v starts at a random offset
// from a 64-byte boundary. Each guard is NaN, so that reading it corrupts the result; a kernel must not write to it.
func guarded(r *rand.Rand, n int, next func(*rand.Rand) float32) (buf, v []float32) {
	buf = make([]float32, n+64)
	for i := range buf {
		buf[i] = canary
	}
	first := 16
	for uintptr(unsafe.Pointer(&buf[first]))%64 != 0 {
		first++
	}
	first += r.IntN(16)
	v = buf[first : first+n]
	for i := range v {
		v[i] = next(r)
	}
	return buf, v
}

// same reports whether two numbers have the same bits or are both NaN.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// check runs a variant of a kernel once, on vectors with n elements. Two arguments i and j of the kernel are the same
// slice if slot[i] = slot[j]. The kernel must write the correct numbers and change no other numbers.
func (k kernel) check(t *testing.T, f *vec.Kernels, r *rand.Rand, n int, slot []int, next func(*rand.Rand) float32) {
	t.Helper()
	a, b := next(r), next(r)
	signs := make([]uint64, vec.SignWords(n))
	for i := range signs {
		signs[i] = r.Uint64() // including bits beyond the last coordinate, which must not matter
	}
	bufs, vs := make([][]float32, k.vecs), make([][]float32, k.vecs)
	for j := range vs {
		bufs[j], vs[j] = guarded(r, n, next)
	}
	args, before, want := make([][]float32, k.vecs), make([][]float32, k.vecs), make([][]float32, k.vecs)
	for j := range args {
		args[j] = vs[slot[j]]
		before[j] = slices.Clone(args[j])
		want[j] = slices.Clone(vs[j])
	}
	x := make([]float32, k.vecs)
	for i := range n {
		for j := range x {
			x[j] = before[j][i]
		}
		sign := float32(1)
		if signs[i/64]>>(i%64)&1 == 1 {
			sign = -1
		}
		k.one(x, a, b, sign)
		for j := range k.outs {
			want[slot[j]][i] = x[j]
		}
	}

	k.run(f, args, a, b, signs)
	for j := range vs {
		for i, y := range vs[j] {
			if !same(y, want[j][i]) {
				t.Fatalf("length %d, a = %v, b = %v: vector %d, element %d became %v (%08x), want %v (%08x)", n, a, b, j, i,
					y, math.Float32bits(y), want[j][i], math.Float32bits(want[j][i]))
			}
			vs[j][i] = canary
		}
		if !untouched(bufs[j]) {
			t.Fatalf("length %d: vector %d: a number outside the slice was overwritten", n, j)
		}
	}
}

// untouched reports whether a buffer contains guards only.
func untouched(buf []float32) bool {
	return !slices.ContainsFunc(buf, func(x float32) bool { return math.Float32bits(x) != math.Float32bits(canary) })
}

// TestKernelsElementByElement checks every variant at every length, at many alignments, and with a destination that is the
// same slice as a source or two sources that are the same slice.
func TestKernelsElementByElement(t *testing.T) {
	for _, variant := range vec.Variants() {
		for _, k := range kernels {
			for i, slot := range append([][]int{[]int{0, 1, 2, 3}[:k.vecs]}, k.same...) {
				t.Run(fmt.Sprint(variant.Name, "/", k.name, slot), func(t *testing.T) {
					lens := append(lengths()[:201], 4095, 4097) // elementwise kernels have no block edges
					if i > 0 {
						lens = []int{0, 1, 7, 63, 64, 65, 127, 300, 4097}
					}
					r := rand.New(rand.NewPCG(1, 2))
					for _, f := range fills {
						for _, n := range lens {
							k.check(t, &variant, r, n, slot, f.next)
						}
					}
				})
			}
		}
	}
}

// TestKernelsSourceLength checks that a kernel uses a longer source only up to the length of the destination, and
// panics if a source is shorter.
func TestKernelsSourceLength(t *testing.T) {
	const n = 70
	for _, k := range kernels {
		for j := 1; j < k.vecs; j++ {
			args := make([][]float32, k.vecs)
			for i := range args {
				args[i] = make([]float32, n)
			}
			signs := make([]uint64, vec.SignWords(n))
			args[j] = make([]float32, n+5)
			if panics(func() { k.run(&vec.Exported, args, 1, 1, signs) }) {
				t.Errorf("%s: vector %d is longer than the first: panicked", k.name, j)
			}
			args[j] = make([]float32, n-1, n+8) // capacity beyond the length does not count
			if !panics(func() { k.run(&vec.Exported, args, 1, 1, signs) }) {
				t.Errorf("%s: vector %d is shorter than the first: did not panic", k.name, j)
			}
		}
		if k.signs {
			v := [][]float32{make([]float32, n), make([]float32, n), make([]float32, n)}
			if panics(func() { k.run(&vec.Exported, v, 1, 1, make([]uint64, 5)) }) {
				t.Errorf("%s: more sign words than needed: panicked", k.name)
			}
			if !panics(func() { k.run(&vec.Exported, v, 1, 1, make([]uint64, 1, 9)) }) {
				t.Errorf("%s: one sign word for %d coordinates: did not panic", k.name, n)
			}
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func TestKernelsAllocateNothing(t *testing.T) {
	v := make([][]float32, 4)
	for j := range v {
		v[j] = make([]float32, 5000)
	}
	signs := make([]uint64, vec.SignWords(5000))
	for _, k := range kernels {
		if got := testing.AllocsPerRun(5, func() { k.run(&vec.Exported, v, 0.5, 0.25, signs) }); got != 0 {
			t.Errorf("%s makes %v allocations", k.name, got)
		}
	}
	var sum float64
	if got := testing.AllocsPerRun(5, func() {
		sum += vec.Dot(v[0],
			v[1]) + vec.SumSquares(v[0]) + vec.Exp(1) + vec.Log(2)
	}); got != 0 {
		t.Errorf("Dot, SumSquares, Exp and Log make %v allocations (sum %v)", got, sum)
	}
}
