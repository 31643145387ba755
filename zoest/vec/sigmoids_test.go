package vec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TestSigmoids checks that the results of every variant of Sigmoids and Logs equal those of Sigmoid and Log, bit for bit,
// and that the variant writes nothing outside the slice.
func TestSigmoids(t *testing.T) {
	defer vec.Choose(vec.Chosen())
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
		-math.MaxFloat64, 5e-324, -5e-324, 1e-17, 0.5 * math.Ln2, -0.5 * math.Ln2}
	for _, x := range []float64{709.78, -708.39} {
		special = append(special, x, math.Nextafter(x, 1e3), math.Nextafter(x, -1e3))
	}
	r := rand.New(rand.NewPCG(1, 3))
	some := func() float64 {
		switch r.IntN(8) {
		case 0:
			return special[r.IntN(len(special))]
		case 1:
			return math.Float64frombits(r.Uint64())
		case 2, 3:
			return 1500 * (r.Float64() - 0.5)
		}
		return 4 * r.NormFloat64()
	}
	for _, variant := range vec.Variants() {
		vec.Choose(variant.Name)
		for i := range 4_000 {
			n := i % 23
			x := make([]float64, n+2)
			for j := range x {
				x[j] = some()
			}
			name, one, all := "Sigmoid", vec.Sigmoid, vec.Sigmoids
			if i%2 == 1 {
				name, one, all = "Log", vec.Log, vec.Logs
				for j := range x {
					if r.IntN(40) > 0 {
						x[j] = math.Abs(x[j])
					}
				}
			}
			got := append([]float64(nil), x...)
			all(got[1 : n+1])
			for j := range x {
				want := x[j]
				if j > 0 && j <= n {
					want = one(x[j])
				}
				if !same64(got[j], want) {
					t.Fatalf("%s %s, %d numbers: number %d is %v (%#x) for %v, want %v", variant.Name, name, n, j-1, got[j],
						math.Float64bits(got[j]), x[j], want)
				}
			}
		}
	}
}
