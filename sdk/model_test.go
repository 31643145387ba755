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
