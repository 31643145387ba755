package ws

import (
	"slices"
	"sync"
)

// shelf keeps frames that the application is done with, for the next ones of about the same length to be read into: else
// every frame costs fresh memory that has to be cleared first and collected afterwards.
type shelf struct {
	mu     sync.Mutex
	frames [][]byte // oldest first, at most limit
	limit  int
}

// smallFrame is up to what length in bytes a frame is not worth keeping.
const smallFrame = 1 << 10

// take returns a slice of n bytes with anything in them.
func (s *shelf) take(n int) []byte {
	if n > smallFrame {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, f := range slices.Backward(s.frames) {
			if n <= cap(f) && cap(f)/2 <= n {
				s.frames = slices.Delete(s.frames, i, i+1)
				return f[:n]
			}
		}
	}
	return make([]byte, n)
}

// put keeps a frame. If there are too many the oldest goes.
func (s *shelf) put(f []byte) {
	if cap(f) <= smallFrame || s.limit == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.frames) == s.limit {
		s.frames = slices.Delete(s.frames, 0, 1)
	}
	s.frames = append(s.frames, f)
}
