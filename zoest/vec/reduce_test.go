package vec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// dot follows the description in the package comment. In each block of 4096 elements, it adds element i to lane i mod
// 64 of 64 float32 lanes that start at +0. It then folds the lanes by halves until only lane 0 is left, and adds the
// sums of the blocks in float64.
func dot(x, y []float32) float64 {
	var sum float64
	for first := 0; first < len(x); first += 4096 {
		var lane [64]float32
		for i := first; i < len(x) && i < first+4096; i++ {
			l := (i - first) % 64
			lane[l] = add(lane[l], mul(x[i], y[i]))
		}
		for _, half := range []int{32, 16, 8, 4, 2, 1} {
			for l := range half {
				lane[l] = add(lane[l], lane[l+half])
			}
		}
		sum += float64(lane[0])
	}
	return sum
}

// same64 reports whether two numbers have the same bits or are both NaN.
func same64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

func TestDotLaneByLane(t *testing.T) {
	finite := func(r *rand.Rand) float32 { // 37 binary orders of magnitude: the order of adding matters
		return float32(math.Ldexp(r.NormFloat64(), r.IntN(37)-18))
	}
	fills := map[string]func(r *rand.Rand) float32{
		"ordinary":  fills[0].next,
		"wide":      finite,
		"subnormal": fills[1].next,
		"zeros":     func(r *rand.Rand) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) },
		"overflow":  func(r *rand.Rand) float32 { return float32(math.Ldexp(r.NormFloat64(), 62)) },
		"tiny products": func(r *rand.Rand) float32 { // the product is subnormal or rounds to zero
			return float32(math.Ldexp(r.NormFloat64(), -68-r.IntN(8)))
		},
		"few specials": func(r *rand.Rand) float32 {
			if r.IntN(200) == 0 {
				return specials[r.IntN(len(specials))]
			}
			return finite(r)
		},
		"special": fills[3].next,
	}
	for _, variant := range vec.Variants() {
		for name, next := range fills {
			t.Run(variant.Name+"/"+name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(6, 7))
				for _, n := range append(lengths(), 20000) {
					_, x := guarded(r, n, next)
					_, y := guarded(r, n, next)
					if got, want := variant.Dot(x, y), dot(x, y); !same64(got, want) {
						t.Fatalf("length %d: Dot is %v (%016x), want %v (%016x)", n, got, math.Float64bits(got), want,
							math.Float64bits(want))
					}
					if got, want := variant.SumSquares(x), dot(x, x); !same64(got, want) {
						t.Fatalf("length %d: SumSquares is %v, want %v", n, got, want)
					}
				}
			})
		}
	}
}

// TestDotAccuracy checks the error of Dot. Each element of a block is rounded once as a product, at most 64 times in
// its lane and 6 times in the fold. So for any length the error is at most 71 half ulps of the sum of magnitudes (the
// factor 1.01 covers higher orders and the float64 sums). A single float32 lane has no such bound: with a million equal
// numbers it must exceed the limit.
func TestDotAccuracy(t *testing.T) {
	const unit = 0x1p-24 // half an ulp of 1
	r := rand.New(rand.NewPCG(8, 9))
	exact := func(x, y []float32) (sum, abs float64) {
		for i := range x {
			p := float64(x[i]) * float64(y[i]) // exact
			sum, abs = sum+p, abs+math.Abs(p)
		}
		return sum, abs
	}
	for _, n := range []int{1, 10, 64, 100, 1000, 4096, 10000, 200000, 1000000} {
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		for _, y := range [][]float32{y, x} {
			want, abs := exact(x, y)
			if got := vec.Dot(x, y); math.Abs(got-want) > 1.01*71*unit*abs {
				t.Errorf("length %d: error %g, limit %g", n, got-want, 1.01*71*unit*abs)
			}
		}
	}

	x := make([]float32, 1000000)
	var plain float32
	for i := range x {
		x[i] = 0.1
		plain += float32(x[i] * x[i])
	}
	want, abs := exact(x, x)
	limit := 1.01 * 71 * unit * abs
	if got := vec.SumSquares(x); math.Abs(got-want) > limit {
		t.Errorf("SumSquares is off by %g, limit %g", got-want, limit)
	}
	if math.Abs(float64(plain)-want) <= limit {
		t.Error("a plain float32 sum passes too: the test has no power")
	}
}
