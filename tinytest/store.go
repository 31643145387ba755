package tinytest

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// OpenStore opens a node's store at the start of a process. The store contains the records that earlier processes
// saved. The previous process must have ended, and its store must no longer be in use.
//
// [CrashAt], [TornWrite] and [LyingSync] add a simulated fault to any OpenStore. They count saves across all processes, starting at
// 1.
type OpenStore func() (state.Store, error)

// ErrCrashed is the error that a store returns when it simulates a crash. To continue, the test must call the OpenStore
// again.
var ErrCrashed = errors.New("tinytest: the process has crashed, as planned")

// MemStore returns an OpenStore for a store in memory that is initially empty. Each call of the OpenStore disables the
// store that the previous call returned.
func MemStore() OpenStore {
	d := &memDisk{kept: map[string][]byte{}}
	return func() (state.Store, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open = &memStore{disk: d}
		return d.open, nil
	}
}

// memDisk holds the content of a memory store across processes.
type memDisk struct {
	mu      sync.Mutex // also guards the stores on this disk
	open    *memStore
	records []state.Record // newest first, at most two
	kept    map[string][]byte
}

// final holds the first error of a store.
type final struct{ err error }

// do calls f and returns its error. After an error, all further calls return the same error without calling f.
func (s *final) do(f func() error) error {
	if s.err == nil {
		s.err = f()
	}
	return s.err
}

// memStore is a store that one process has opened.
type memStore struct {
	disk *memDisk
	final
}

func (s *memStore) do(f func() error) error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.err == nil && s.disk.open != s {
		s.err = errors.New("tinytest: another process has since opened the store")
	}
	return s.final.do(f)
}

func (s *memStore) Load() (all []state.Record, err error) {
	err = s.do(func() error { all = copyOf(s.disk.records); return nil })
	return all, err
}

func (s *memStore) Save(r state.Record) error {
	return s.do(func() error {
		if all := s.disk.records; r.Round < 0 || len(all) > 0 && r.Round != all[0].Round+1 {
			return errors.New("tinytest: the round to be saved does not follow the last saved round")
		}
		s.disk.records = lastTwo(copyOf([]state.Record{r}), s.disk.records)
		return nil
	})
}

func (s *memStore) Kept(name string) (data []byte, err error) {
	err = s.do(func() error { data = bytes.Clone(s.disk.kept[name]); return nil })
	return data, err
}

func (s *memStore) Keep(name string, data []byte) error {
	return s.do(func() error { s.disk.kept[name] = bytes.Clone(data); return nil })
}

func (s *memStore) Close() error {
	_ = s.do(func() error { return errors.New("tinytest: the store is closed") })
	return nil
}

func copyOf(states []state.Record) []state.Record {
	all := slices.Clone(states)
	for i := range all {
		all[i].State = append([]byte{}, all[i].State...)
	}
	return all
}

// lastTwo returns the two newest records from both lists together. Each list must be sorted newest first, and every
// record in the first list must be newer than every record in the second list.
func lastTwo(newer, older []state.Record) []state.Record {
	all := slices.Concat(newer, older)
	return all[:min(2, len(all))]
}

// CrashAt simulates a crash right after the nth save, which succeeds.
func CrashAt(open OpenStore, nth int) OpenStore {
	saves := 0
	return wrap(open, func(s *wrapped) {
		s.save = func(r state.Record) error {
			err := s.Store.Save(r)
			if saves++; saves == nth && err == nil {
				err = ErrCrashed
			}
			return err
		}
	})
}

// TornWrite simulates a crash in the middle of the nth save. The new state is lost. Of the two states stored before,
// the older one is also lost, because the new state was overwriting it.
func TornWrite(open OpenStore, nth int) OpenStore {
	saves, torn := 0, false
	return wrap(open, func(s *wrapped) {
		s.save = func(r state.Record) error {
			if saves++; saves == nth {
				torn = true
				return ErrCrashed
			}
			err := s.Store.Save(r)
			torn = torn && err != nil
			return err
		}
		s.load = func() ([]state.Record, error) {
			kept, err := s.Store.Load()
			if torn {
				kept = kept[:min(1, len(kept))]
			}
			return kept, err
		}
	})
}

// LyingSync simulates a disk that confirms saves without making them durable, from the nth save on. The process can
// load these saves, but they are lost when it ends, as in a power failure.
func LyingSync(open OpenStore, nth int) OpenStore {
	saves := 0
	return wrap(open, func(s *wrapped) {
		var cache []state.Record
		s.save = func(r state.Record) error {
			if saves++; saves < nth {
				return s.Store.Save(r)
			}
			cache = lastTwo(copyOf([]state.Record{r}), cache)
			return nil
		}
		s.load = func() ([]state.Record, error) {
			kept, err := s.Store.Load()
			return lastTwo(copyOf(cache), kept), err
		}
	})
}

// wrap returns an OpenStore that opens a store with open and wraps it. For each process it calls set, which can replace
// methods of the wrapper.
func wrap(open OpenStore, set func(*wrapped)) OpenStore {
	return func() (state.Store, error) {
		inner, err := open()
		if err != nil {
			return nil, err
		}
		s := &wrapped{Store: inner, save: inner.Save, load: inner.Load}
		set(s)
		return s, nil
	}
}

// wrapped is a store with a simulated fault. Once a call other than Close has failed, all further calls return the same
// error.
type wrapped struct {
	state.Store
	save func(state.Record) error
	load func() ([]state.Record, error)
	final
}

func (s *wrapped) Kept(name string) (data []byte, err error) {
	err = s.do(func() (err error) { data, err = s.Store.Kept(name); return err })
	return data, err
}

func (s *wrapped) Load() (all []state.Record, err error) {
	err = s.do(func() (err error) { all, err = s.load(); return err })
	return all, err
}

func (s *wrapped) Keep(name string, data []byte) error {
	return s.do(func() error { return s.Store.Keep(name, data) })
}

func (s *wrapped) Save(r state.Record) error { return s.do(func() error { return s.save(r) }) }
