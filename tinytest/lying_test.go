package tinytest

import "github.com/spade-dfl/spade-edge/sdk/state"

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
