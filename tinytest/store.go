package tinytest

import (
	"errors"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// OpenStore opens a node's store. Each call begins another life of the node: it finds what the lives before have left. The store of
// the life before has been closed.
//
// The faults of a store wrap such a function and count saves over all lives, from 1. They work with any store.
type OpenStore func() (state.Store, error)

// ErrCrashed is what a store returns once its process is meant to be dead. To go on, open the store again.
var ErrCrashed = errors.New("tinytest: the process has crashed, as planned")

// MemStore returns a sound store in memory, fresh at first. Opening it again takes it away from whoever had it open.
func MemStore() OpenStore {
	d := &memDisk{}
	return func() (state.Store, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.life++
		return &memStore{disk: d, life: d.life}, nil
	}
}

// memDisk is what outlives the stores on it.
type memDisk struct {
	mu   sync.Mutex
	life int
	kept []state.Record // newest first, at most two
}

// memStore is the store of one life.
type memStore struct {
	disk *memDisk
	life int
	err  error
}

// check returns the error that every call has to return, if there is one.
func (s *memStore) check() error {
	if s.err == nil && s.life != s.disk.life {
		s.err = errors.New("tinytest: the store has been opened by somebody else")
	}
	return s.err
}

func (s *memStore) Load() ([]state.Record, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if err := s.check(); err != nil {
		return nil, err
	}
	return copyOf(s.disk.kept), nil
}

func (s *memStore) Save(r state.Record) error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if err := s.check(); err != nil {
		return err
	}
	if r.Round < 0 || len(s.disk.kept) > 0 && r.Round != s.disk.kept[0].Round+1 {
		s.err = errors.New("tinytest: a save of a round that does not follow the one before")
		return s.err
	}
	s.disk.kept = lastTwo(copyOf([]state.Record{r}), s.disk.kept)
	return nil
}

func (s *memStore) Close() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.err == nil {
		s.err = errors.New("tinytest: the store is closed")
	}
	return nil
}

// copyOf returns states with copies of their bytes.
func copyOf(states []state.Record) []state.Record {
	var all []state.Record
	for _, s := range states {
		s.State = append([]byte{}, s.State...)
		all = append(all, s)
	}
	return all
}

// lastTwo returns the first two of two lists, both newest first.
func lastTwo(newer, older []state.Record) []state.Record {
	all := append(newer[:len(newer):len(newer)], older...)
	return all[:min(2, len(all))]
}

// CrashAt lets the process die between the nth save, which is whole, and everything that rests on it.
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

// TornWrite lets the process die in the middle of the nth save: it is not there, and the older of the two states, whose
// place it was to take, is gone.
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
			if torn && len(kept) > 1 {
				kept = kept[:1]
			}
			return kept, err
		}
	})
}

// LyingSync confirms saves from the nth on without making them durable: this life sees them, and when it ends, as if with
// the power, they are lost.
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

// wrap returns an OpenStore whose stores have some methods of their own, set for each life.
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

// wrapped is a store with a fault. An error of Save is final.
type wrapped struct {
	state.Store
	save func(state.Record) error
	load func() ([]state.Record, error)
	err  error
}

func (s *wrapped) Save(r state.Record) error {
	if s.err == nil {
		s.err = s.save(r)
	}
	return s.err
}

func (s *wrapped) Load() ([]state.Record, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.load()
}
