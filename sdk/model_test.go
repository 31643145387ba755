package sdk_test

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestModelOfAState checks that Fleet.Model obtains the node's model by shrinking the stored last release, whether the
// run ended as planned, ended early, or ended because a neighbor had ended. Fleet.Model does not change earlier
// releases.
func TestModelOfAState(t *testing.T) {
	t.Parallel()
	f := privateRing()
	f.Method.Shrink = 0.5
	stores := make([]state.Store, len(f.Members))
	all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		var err error
		if stores[i], err = tinytest.MemStore()(); err != nil {
			t.Fatal(err)
		}
		c.Store = stores[i]
	})
	mustRun(t, all)
	for i, n := range all {
		records, err := stores[i].Load()
		if err != nil {
			t.Fatal(err)
		}
		var kept wire.Snapshot
		if err := wire.DecodeSnapshot(records[0].State, &kept); err != nil {
			t.Fatal(err)
		}
		st := kept.State
		got := f.Model(st.X, st.Round)
		if !slices.Equal(got, n.Model()) || slices.Equal(got, st.X) {
			t.Errorf("%s: the state's model is %v, the node's %v, the release %v", f.Members[i], got, n.Model(), st.X)
		}
		if same := f.Model(st.X, st.Round-1); !slices.Equal(same, st.X) {
			t.Error("a release that is not the last one is shrunk")
		}
	}
}

// TestShrink checks that the model of the last release has each coordinate moved toward X0 by Shrink standard deviations
// of the noise of the mean, but not beyond X0.
func TestShrink(t *testing.T) {
	f := &sdk.Fleet{Members: make([]string, 4), X0: []float32{0.25, -0.5, 0, 1}, Method: sdk.Method{Rounds: 9, Cooldown: 2, Shrink: 0.5},
		Privacy: sdk.Privacy{Sigma: 0.25}} // the noise of the mean is 0.25*3/2, and half of that 0.1875
	x := []float32{1.25, -1.5, 0.125, 0.875}
	if got, want := f.Model(x, 11), []float32{1.0625, -1.3125, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f.X0 = nil
	if got, want := f.Model(x, 11), []float32{1.0625, -1.3125, 0, 0.6875}; !slices.Equal(got, want) {
		t.Errorf("from zeros: %v, want %v", got, want)
	}
	f.Privacy = sdk.Privacy{NonPrivate: true}
	if got := f.Model(x, 11); !slices.Equal(got, x) {
		t.Errorf("without noise: %v", got)
	}
}
