package sdk_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
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
			dir, trs := t.TempDir(), inMemory(t, f)
			var stores []*state.Dir
			open := func(change func(i int, c *sdk.Config)) []*sdk.Node {
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

			life, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			falls, silent := context.WithCancel(life)
			var behind sync.WaitGroup
			behind.Add(len(others))
			all := open(func(i int, c *sdk.Config) {
				c.Events.Released = func(round int, _ []float32) {
					switch {
					case round == 3 && i == bad:
						silent()
					case round == 2 && i != bad: // the releases of c that this round needs have arrived
						behind.Done()
					case round > 4:
						t.Errorf("%s has made release %d", c.Name, round)
					}
				}
			})
			go func() {
				behind.Wait()
				end()
			}()
			var run sync.WaitGroup
			for i, n := range all {
				ctx := life
				if i == bad {
					ctx = falls
				}
				run.Go(func() {
					if err := n.Run(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("node %d: %v", i, err)
					}
				})
			}
			run.Wait()
			shut()

			victims := []int{}
			all = open(func(i int, c *sdk.Config) {
				for _, e := range f.Edges {
					if i != bad && slices.Contains(e[:], c.Name) && slices.Contains(e[:], "c") {
						c.Without = []string{"c"}
						victims = append(victims, i)
					}
				}
			})
			life, end = context.WithTimeout(t.Context(), time.Minute)
			defer end()
			errs := make([]error, len(all))
			var back sync.WaitGroup
			for i, n := range all {
				group := &run
				if i == bad {
					group = &back
				}
				group.Go(func() { errs[i] = n.Run(life) })
			}
			run.Wait()
			end()
			back.Wait()
			agree(t, f, all, errs, "was told to go on without it", 1, victims...)
			if err := errs[bad]; !errors.Is(err, context.Canceled) && !errors.Is(err, trust.ErrQuarantine) || all[bad].Status().Done {
				t.Errorf("who was silent: %v, %+v", err, all[bad].Status())
			}
			shut()
			all = open(func(int, *sdk.Config) {})
			defer shut()
			agree(t, f, all, make([]error, len(all)), "was told to go on without it", 1, victims...)
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
