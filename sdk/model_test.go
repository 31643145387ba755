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
		got := f.Model(st.X, st.Round, st.End, st.Early)
		if !slices.Equal(got, n.Model()) || slices.Equal(got, st.X) {
			t.Errorf("%s: the state's model is %v, the node's %v, the release %v", f.Members[i], got, n.Model(), st.X)
		}
		for _, c := range []struct{ release, end, early int }{{st.Round - 1, 0, 0}, {st.Round, 1, 0}, {st.Round, 0, st.Round - 1}} {
			if same := f.Model(st.X, c.release, c.end, c.early); !slices.Equal(same, st.X) {
				t.Errorf("%+v: the release is not the last one, and is shrunk", c)
			}
		}
		early := f.Model(st.X, f.Method.EndedAt(1).Last(), 1, 0)
		if slices.Equal(early, st.X) || slices.Equal(early, got) {
			t.Error("a run that ended after one round is shrunk as one of all rounds, or not at all")
		}
	}
}
