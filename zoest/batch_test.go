package zoest

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func batchAt(step int) *rng.Stream {
	s := rng.New(3, rng.Address{Purpose: rng.Batch, Step: uint32(step)})
	return &s
}

// TestBatchDependsOnItsAddressAlone checks that a draw depends only on its address: a batch that has already drawn at
// other addresses must draw the same items as a new batch.
func TestBatchDependsOnItsAddressAlone(t *testing.T) {
	for _, c := range []struct{ m, size int }{{2, 1}, {6, 3}, {50, 49}, {1000, 10}} {
		b := newBatch(c.m, c.size)
		var differ bool
		first := slices.Clone(b.draw(batchAt(0)))
		for step := 1; step < 30; step++ {
			fresh := newBatch(c.m, c.size)
			other := slices.Clone(b.draw(batchAt(step)))
			if want := fresh.draw(batchAt(step)); !slices.Equal(other, want) {
				t.Errorf("%d of %d, draw %d, is %v after others and %v alone", c.size, c.m, step, other, want)
			}
			differ = differ || !slices.Equal(other, first)
			if again := b.draw(batchAt(0)); !slices.Equal(again, first) {
				t.Errorf("%d of %d: the draw is %v, and %v after draw %d", c.size, c.m, first, again, step)
			}
		}
		if !differ {
			t.Errorf("%d of %d: all draws are the same", c.size, c.m)
		}
	}
}
