package vec_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TestOverlap checks that a destination may be identical to a source or disjoint from it, that every kernel refuses a
// partial overlap, and that SignReplace also refuses identical slices.
func TestOverlap(t *testing.T) {
	const n = 100
	signs := make([]uint64, vec.SignWords(n))
	other := func() []float32 { return make([]float32, n) }
	kernels := map[string]func(dst, src []float32){
		"Axpy":        func(y, x []float32) { vec.Axpy(y, 2, x) },
		"Step, v":     func(y, x []float32) { vec.Step(y, 2, x, 2, other()) },
		"Step, p":     func(y, x []float32) { vec.Step(y, 2, other(), 2, x) },
		"SignPerturb": func(y, x []float32) { vec.SignPerturb(y, x, 2, signs) },
	}
	for i, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		kernels["RepSign "+string(rune('a'+i))] = func(y, x []float32) {
			args := [3][]float32{other(), other(), other()}
			args[pair[0]], args[pair[1]] = y, x
			vec.SignReplace(args[0], args[1], args[2], 2, signs, 0.5, 0.5)
		}
	}
	memory := make([]float32, 3*n+1)
	for name, k := range kernels {
		for _, c := range []struct {
			at  int
			bad bool
		}{{0, true}, {1, true}, {n - 1, true}, {n, name[:3] == "Rep"}, {n + 1, true}, {2*n - 1, true}, {2 * n,
			false}, {2*n + 1, false}} {
			dst, src := memory[n:2*n], memory[c.at:c.at+n]
			if c.at == 0 { // just below: the last element of src is the one before dst
				c.bad = false
			}
			if got := panics(func() { k(dst, src) }); got != c.bad {
				t.Errorf("%s, source %d elements from the destination: panics %v, want %v", name, c.at-n, got, c.bad)
			}
		}
		if panics(func() { k(nil, nil) }) && name[:3] != "Rep" {
			t.Errorf("%s panics on nothing", name)
		}
	}
}
