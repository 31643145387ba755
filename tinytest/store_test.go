package tinytest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestStores checks that CheckStore accepts the project's stores.
func TestStores(t *testing.T) {
	if err := tinytest.CheckStore(tinytest.MemStore(), 100); err != nil {
		t.Error(err)
	}
	for _, size := range []int{1, 1000} {
		dir := t.TempDir()
		if err := tinytest.CheckStore(func() (state.Store, error) { return state.Open(dir) }, size); err != nil {
			t.Error(err)
		}
	}
	if err := tinytest.CheckStore(tinytest.MemStore(), 0); err == nil {
		t.Error("a store for nothing passed")
	}
}

// bentStore is a store whose methods can be replaced.
type bentStore struct {
	state.Store
	save  func(state.Record) error
	load  func() ([]state.Record, error)
	close func() error
}

func (b *bentStore) Save(s state.Record) error     { return b.save(s) }
func (b *bentStore) Load() ([]state.Record, error) { return b.load() }
func (b *bentStore) Close() error                  { return b.close() }
func straight(s state.Store) *bentStore            { return &bentStore{s, s.Save, s.Load, s.Close} }
func bend(f func(b *bentStore)) tinytest.OpenStore {
	open := tinytest.MemStore()
	return func() (state.Store, error) {
		s, err := open()
		b := straight(s)
		f(b)
		return b, err
	}
}

// TestWrongStores checks that CheckStore names the broken rule for each of several faulty stores.
func TestWrongStores(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		open tinytest.OpenStore
	}{
		"right": {"", bend(func(*bentStore) {})},
		"begins with something": {"a fresh store", bend(func(b *bentStore) {
			b.load = func() ([]state.Record, error) {
				kept, err := b.Store.Load()
				if len(kept) == 0 {
					kept = []state.Record{{}}
				}
				return kept, err
			}
		})},
		"keeps one state": {"the last two saves", bend(func(b *bentStore) {
			b.load = func() ([]state.Record, error) { kept, err := b.Store.Load(); return kept[:min(1, len(kept))], err }
		})},
		"oldest first": {"newest first", bend(func(b *bentStore) {
			b.load = func() ([]state.Record, error) { kept, err := b.Store.Load(); slices.Reverse(kept); return kept, err }
		})},
		"forgets what was saved before a restart": {"after a restart", tinytest.LyingSync(tinytest.MemStore(), 1)},
		"trims zeros": {"come back as they were", bend(func(b *bentStore) {
			b.save = func(s state.Record) error {
				s.State = []byte(strings.TrimRight(string(s.State), "\x00"))
				return b.Store.Save(s)
			}
		})},
		"loses notes": {"notes", bend(func(b *bentStore) {
			b.save = func(s state.Record) error { s.Note = ""; return b.Store.Save(s) }
		})},
		"hands out its own bytes": {"belongs to the caller", bend(func(b *bentStore) {
			var own []state.Record
			b.save = func(s state.Record) error { own = nil; return b.Store.Save(s) }
			b.load = func() (_ []state.Record, err error) {
				if own == nil {
					own, err = b.Store.Load()
				}
				return slices.Clone(own), err
			}
		})},
		"keeps what it is given": {"the last two saves", bend(func(b *bentStore) {
			var given []state.Record
			b.save = func(s state.Record) error { given = []state.Record{s}; return b.Store.Save(s) }
			b.load = func() ([]state.Record, error) {
				kept, err := b.Store.Load()
				copy(kept, given)
				return kept, err
			}
		})},
		"complains of a second Close": {"a further Close", bend(func(b *bentStore) {
			closed := false
			b.close = func() (err error) {
				if closed {
					err = errors.New("closed twice")
				}
				closed = true
				return errors.Join(err, b.Store.Close())
			}
		})},
		"goes on after an error": {"is final", bend(func(b *bentStore) {
			b.save = func(s state.Record) error {
				if kept, _ := b.Store.Load(); len(kept) > 0 && s.Round != kept[0].Round+1 {
					return errors.New("not this one")
				}
				return b.Store.Save(s)
			}
		})},
		"an error destroys": {"leaves what was saved before", func() tinytest.OpenStore {
			open := tinytest.MemStore()
			broken := false
			return func() (state.Store, error) {
				s, err := open()
				b := straight(s)
				b.save = func(s state.Record) error { err := b.Store.Save(s); broken = broken || err != nil; return err }
				b.load = func() ([]state.Record, error) {
					kept, err := b.Store.Load()
					if broken {
						kept = kept[min(1, len(kept)):]
					}
					return kept, err
				}
				return b, err
			}
		}()},
	} {
		err := tinytest.CheckStore(c.open, 64)
		text, _, _ := strings.Cut(fmt.Sprint(err), "\n") // one broken rule may break later ones
		if c.rule == "" && err != nil || c.rule != "" && !strings.Contains(text, c.rule) {
			t.Errorf("%s: error %v, want one that begins with %q", name, err, c.rule)
		}
	}
}

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
