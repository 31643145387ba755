package sim_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// TestPairSecret checks that a secret depends on the seed and on both members, in any order.
func TestPairSecret(t *testing.T) {
	if sim.PairSecret(1, 4, 2) != sim.PairSecret(1, 2, 4) {
		t.Error("the two ends have different secrets")
	}
	if s := sim.PairSecret(1, 4, 2); s == sim.PairSecret(2, 4, 2) || s == sim.PairSecret(1, 3, 2) || s == sim.PairSecret(1, 4, 3) {
		t.Error("another seed or another member has the same secret")
	}
}
