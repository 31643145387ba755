package sdk_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/transport"
)

// TestSilentForGood silences a member during a run, so that no node gets further than that member's last release
// allows. The other members are restarted without the silent member. They must finish and agree, even if it returns.
// After a second restart they must no longer need Config.Without.
func TestSilentForGood(t *testing.T) {
	sparse := ring() // c is no neighbor of e, which waits for neighbors that wait for c
	sparse.Privacy = privateRing().Privacy
	sparse.Method.Cooldown = 40
	for name, f := range map[string]*sdk.Fleet{"pairwise noise": sharing(), "sparse": sparse} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var stores []*state.Dir
			open := func(trs []transport.Transport, change func(i int, c *sdk.Config)) []*sdk.Node {
				stores = nil
				return nodes(t, f, trs, func(i int, c *sdk.Config) {
					store := must(state.Open(filepath.Join(dir, c.Name)))(t)
					stores, c.Store = append(stores, store), store
					change(i, c)
				})
			}
			shut := func() {
				for _, s := range stores {
					ok(t, s.Close())
				}
			}
			victims := []int{}
			for i, name := range f.Members {
				if i != bad && slices.ContainsFunc(f.Edges, func(e [2]string) bool { return slices.Contains(e[:], name) && slices.Contains(e[:], "c") }) {
					victims = append(victims, i)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				trs := inMemory(t, f)
				all := open(trs, func(_ int, c *sdk.Config) {
					c.Events.Released = func(int, []float32) { time.Sleep(10 * time.Millisecond) } // slow enough for leave
				})
				minute, end := context.WithTimeout(t.Context(), time.Minute)
				defer end()
				errs := leave(minute, all, 3, bad)
				last := all[bad].Status().Round
				for i, n := range all {
					if st := n.Status(); errs[i] == nil || st.Round > last+2 || slices.Contains(victims, i) && st.Round > last+1 {
						t.Errorf("node %d: %v, %d releases after %d of the silent member", i, errs[i], st.Round, last)
					}
				}
				shut()

				all = open(trs, func(i int, c *sdk.Config) {
					if slices.Contains(victims, i) {
						c.Without = []string{"c"}
					}
				})
				errs = runHonest(t, all)
				agree(t, f, all, errs, "was told to go on without it", 1, victims...)
				if err := errs[bad]; !errors.Is(err, context.Canceled) && !errors.Is(err, trust.ErrQuarantine) || all[bad].Status().Done {
					t.Errorf("who was silent: %v, %+v", err, all[bad].Status())
				}
				shut()
				all = open(trs, func(int, *sdk.Config) {})
				defer shut()
				agree(t, f, all, make([]error, len(all)), "was told to go on without it", 1, victims...)
			})
		})
	}
}

// TestWithoutIsChecked checks that Config.Without accepts only neighbors, each at most once, and not all of them.
func TestWithoutIsChecked(t *testing.T) {
	for _, without := range [][]string{{}, {"x"}, {"a"}, {"d"}, {"b", "d"}, {"b", "b"}, {"e", "b", "c"}, {"e", "b", "c", "d"}} {
		f := ring()
		c := sdk.Config{Fleet: f, Name: "a", Samples: 1, Oracle: oracle(0), Transport: inMemory(t, f)[0], Without: without}
		_, err := sdk.New(c)
		if len(without) == 0 {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, sdk.ErrWithout) {
			t.Errorf("%q: %v", without, err)
		}
	}
}
