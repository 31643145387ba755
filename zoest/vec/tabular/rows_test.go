package tabular_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/spade-dfl/spade-edge/zoest/vec"
	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
	-math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

// some draws a number of one of four kinds: ordinary, around the limit of the subnormals, of any bits, or special.
func some(r *rand.Rand, kind int) float32 {
	switch kind % 4 {
	case 0:
		return float32(r.NormFloat64())
	case 1:
		return math.Float32frombits(r.Uint32N(1<<25) | r.Uint32N(2)<<31)
	case 2:
		return math.Float32frombits(r.Uint32())
	}
	return specials[r.IntN(len(specials))]
}

// same64 reports whether two numbers have the same bits or are both NaN.
func same64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// numbers returns n numbers that begin at a random offset from a 64-byte boundary, with NaN before and behind them: a kernel
// that reads there returns NaN.
func numbers(r *rand.Rand, n, kind int) []float32 {
	buf := slices.Repeat([]float32{float32(math.NaN())}, n+64)
	first := 16
	for uintptr(unsafe.Pointer(&buf[first]))%64 != 0 {
		first++
	}
	first += r.IntN(16)
	x := buf[first : first+n]
	for i := range x {
		x[i] = some(r, kind)
	}
	return x
}

// TestDotRows checks that every variant returns the bits of Dot for each row, for any alignment of rows, and changes neither
// the points nor the table.
func TestDotRows(t *testing.T) {
	defer tabular.Choose(tabular.Chosen())
	r := rand.New(rand.NewPCG(3, 4))
	for _, variant := range tabular.Variants() {
		tabular.Choose(variant)
		for d := 1; d < 700; d++ {
			if d >= 140 && !(d%16 < 2 && d < 210 || d > 508 && d < 516 || d == 699) {
				continue
			}
			for kind := range 4 {
				n := r.IntN(20)
				rows, points, of := r.Perm(n + 2)[:n], make([][]float32, n), numbers(r, (n+2)*d, kind)
				if n > 1 {
					rows[n-1] = rows[n-2]
				}
				want := make([]float64, n+2)
				want[0], want[n+1] = 1, 2
				for i, row := range rows {
					points[i] = numbers(r, d, kind)
					want[i+1] = vec.Dot(points[i], of[row*d:][:d])
				}
				z, before := make([]float64, n+2), slices.Clone(of)
				z[0], z[n+1] = 1, 2
				if !tabular.DotRows(z[1:n+1], points, of, rows) || !slices.EqualFunc(z, want, same64) {
					t.Fatalf("variant %d, d = %d, rows %v: products %v, want %v", variant, d, rows, z[1:n+1], want[1:n+1])
				}
				if !slices.EqualFunc(of, before, func(a, b float32) bool { return a == b || a != a && b != b }) {
					t.Fatalf("variant %d, d = %d: the table has changed", variant, d)
				}
			}
		}
	}
}

// TestDotRowsRefuses checks that arguments that do not fit leave the products unchanged.
func TestDotRowsRefuses(t *testing.T) {
	defer tabular.Choose(tabular.Chosen())
	for _, variant := range tabular.Variants() {
		tabular.Choose(variant)
		x := make([]float32, 12)
		z, points := []float64{7, 7}, [][]float32{x[:4], x[4:8]}
		for name, ok := range map[string]bool{
			"a row behind the table": tabular.DotRows(z, points, x, []int{0, 3}),
			"a row before the table": tabular.DotRows(z, points, x, []int{-1, 0}),
			"half a row":             tabular.DotRows(z, points, x[:7], []int{0, 1}),
			"different lengths":      tabular.DotRows(z, [][]float32{x[:4], x[:3]}, x, []int{0, 1}),
		} {
			if ok || z[0] != 7 || z[1] != 7 {
				t.Errorf("products with %s: %v, %v", name, ok, z)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("too few points: no panic")
				}
			}()
			tabular.DotRows(z, points[:1:1], x, []int{0, 1})
		}()
	}
}
