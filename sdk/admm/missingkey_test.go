package admm

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// firstRelease returns a client's first release, rounded to a grid with the given step, or unrounded if step is 0. It
// checks that no key is left in memory.
func firstRelease(t *testing.T, step float64, g dpmech.Gaussian, key func(peer, release int) ([32]byte, bool)) []float32 {
	t.Helper()
	noise := rng.New(3, rng.Address{Purpose: rng.Noise})
	m, err := New(Config{
		Estimator: zoest.Config{Dim: 5, Samples: 1, Batch: 1, Client: 1}, Neighbors: []int{0, 2}, Rounds: 1, Tau: 1,
		Rho: 1, Beta: 1, Eta: Schedule{0.5}, Mu: Schedule{0.5},
		Privacy: g, Noise: &noise, GridStep: step, PairKey: key,
	})
	if err != nil {
		t.Fatal(err)
	}
	for m.round == 0 {
		r, err := m.Ready()
		if err == nil && len(r.Queries) > 0 {
			err = m.Answer(make([]float64, len(r.Queries))...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range m.pairs[:cap(m.pairs)] {
		if p.Key != [32]byte{} {
			t.Error("a key is still in memory")
		}
	}
	return m.Model()
}

// TestMissingKey checks that a release has no pairwise noise if one neighbor's key is missing. It must then have as
// much local noise as a release of a member that shares no noise.
func TestMissingKey(t *testing.T) {
	g := dpmech.Gaussian{Clip: 1, Sigma: 0.5, Shared: dpmech.Shared{Sigma: 2, Effective: 0.9}}
	for _, step := range []float64{0, 0.25} {
		keys := func(missing int) func(peer, release int) ([32]byte, bool) {
			return func(peer, release int) ([32]byte, bool) {
				if release != 1 {
					t.Errorf("asked for release %d", release)
				}
				return [32]byte{byte(1 + peer)}, peer != missing
			}
		}
		alone := firstRelease(t, step, g.Alone(), nil)
		for _, missing := range []int{0, 2} {
			if got := firstRelease(t, step, g, keys(missing)); !slices.Equal(got, alone) {
				t.Errorf("step %v: %v without the key of %d, want %v", step, got, missing, alone)
			}
		}
		if got := firstRelease(t, step, g, keys(-1)); slices.Equal(got, alone) {
			t.Errorf("step %v: %v with all keys", step, got)
		}
	}
}
