package admm

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestMomentumBeforeTheClip checks that with losses that do not depend on the model, each update before clipping is 0.6
// times the previous update plus 0.4 times the update without momentum. Mixing rounds have no momentum.
func TestMomentumBeforeTheClip(t *testing.T) {
	updates := func(momentum float64) [][][]float32 {
		net := newNetwork(t, configs(4, kite, func(i int, c *Config) {
			private(dpmech.Gaussian{Clip: 0.01, Sigma: 0.01})(i, c)
			c.Estimator.Momentum, c.Mixing = momentum, 1
		}))
		all := make([][][]float32, len(net.machines))
		net.loss = func(client int, _ []float32, sample int) float64 { return float64((7*client + 3*sample) % 5) }
		net.reserved = func(i int) {
			if m := net.machines[i]; m.touchesData() {
				all[i] = append(all[i], slices.Clone(m.s))
			}
		}
		must(t, net.run())
		return all
	}
	fresh, carried := updates(0), updates(0.6)
	for i := range fresh {
		if len(fresh[i]) != 6 || len(carried[i]) != 6 {
			t.Fatalf("client %d has made %d and %d updates, want 6", i, len(fresh[i]), len(carried[i]))
		}
		want := make([]float64, len(fresh[i][0]))
		for k := range fresh[i] {
			for j, s := range fresh[i][k] {
				want[j] = 0.6*want[j] + 0.4*float64(s)
				if got := float64(carried[i][k][j]); !(math.Abs(got-want[j]) < 1e-5) {
					t.Fatalf("client %d, round %d: coordinate %d of the update is %v, want %v", i, k, j, got, want[j])
				}
			}
		}
	}
}
