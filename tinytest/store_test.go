package tinytest_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// rounds reopens a store. It returns the store and the round of each stored state.
func rounds(t *testing.T, open tinytest.OpenStore) (state.Store, []int) {
	t.Helper()
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	list := []int{}
	for _, k := range kept {
		list = append(list, k.Round)
	}
	return s, list
}

// TestStoreFaults checks the content of memory stores and file stores after each simulated fault, alone and nested.
func TestStoreFaults(t *testing.T) {
	files := func() tinytest.OpenStore {
		dir := t.TempDir()
		return func() (state.Store, error) { return state.Open(dir) }
	}
	for _, fresh := range []func() tinytest.OpenStore{tinytest.MemStore, files} {
		for name, c := range map[string]struct {
			open  tinytest.OpenStore
			crash int   // which save fails, 0 for none
			left  []int // rounds that remain after a process made four saves or crashed earlier
		}{
			"sound":               {fresh(), 0, []int{4, 3}},
			"crash":               {tinytest.CrashAt(fresh(), 3), 3, []int{3, 2}},
			"torn":                {tinytest.TornWrite(fresh(), 3), 3, []int{2}},
			"first torn":          {tinytest.TornWrite(fresh(), 1), 1, []int{}},
			"lie":                 {tinytest.LyingSync(fresh(), 3), 0, []int{2, 1}},
			"crash after the lie": {tinytest.CrashAt(tinytest.LyingSync(fresh(), 2), 3), 3, []int{1}},
			"lie over a crash":    {tinytest.LyingSync(tinytest.CrashAt(fresh(), 2), 3), 2, []int{2, 1}},
		} {
			s, list := rounds(t, c.open)
			if len(list) > 0 {
				t.Errorf("%s: a fresh store has %v", name, list)
			}
			for r := 1; r <= 4; r++ {
				err := s.Save(state.Record{Round: r, State: []byte{byte(r)}})
				if c.crash > 0 && r >= c.crash {
					if !errors.Is(err, tinytest.ErrCrashed) {
						t.Errorf("%s: save %d returned %v, want a crash", name, r, err)
					}
					if _, err := s.Load(); !errors.Is(err, tinytest.ErrCrashed) {
						t.Errorf("%s: the dead store loads: %v", name, err)
					}
				} else if err != nil {
					t.Errorf("%s: save %d: %v", name, r, err)
				} else if kept, err := s.Load(); err != nil || kept[0].Round != r {
					t.Errorf("%s: after save %d this life sees %v, %v", name, r, kept, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			s, list = rounds(t, c.open)
			if !slices.Equal(list, c.left) {
				t.Errorf("%s: left %v, want %v", name, list, c.left)
			}
			next := 1
			if len(list) > 0 {
				next = list[0] + 1
			}
			if err := errors.Join(s.Save(state.Record{Round: next}), s.Close()); err != nil {
				t.Errorf("%s: the next life cannot save: %v", name, err)
			}
		}
	}
}
