package vec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TestSignDot checks that in every variant SignDot equals Dot with the signs as numbers, bit for bit. It tests lengths
// around the ends of words, blocks and vectors, and sets bits beyond the last element. The numbers vary so much in
// magnitude that any other order of summation would round differently.
func TestSignDot(t *testing.T) {
	chosen := vec.Chosen()
	defer vec.Choose(chosen)
	r := rand.New(rand.NewPCG(14, 15))
	for _, n := range append(lengths(), 4160, 8192, 10000) {
		x, s, signs := make([]float32, n+1)[1:], make([]float32, n), make([]uint64, vec.SignWords(n))
		for i := range signs {
			signs[i] = r.Uint64()
		}
		for i := range x {
			x[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(20)))
			s[i] = 1 - 2*float32(signs[i/64]>>(i%64)&1)
		}
		want := vec.Reference.Dot(x, s)
		for _, k := range vec.Variants() {
			if !vec.Choose(k.Name) {
				continue
			}
			few := min(n, 4096)
			got, want32 := k.SignFold(x[:few], signs), vec.Reference.SignFold(x[:few], signs)
			if math.Float32bits(got) != math.Float32bits(want32) {
				t.Errorf("%s, n = %d: a block is %v, want %v", k.Name, n, got, want32)
			}
			if got := vec.SignDot(x, signs); math.Float64bits(got) != math.Float64bits(want) {
				t.Errorf("%s, n = %d: %v, want %v", k.Name, n, got, want)
			}
		}
	}
}
