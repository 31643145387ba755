package ws

import (
	"slices"
	"sync"
)

// bufferPool keeps frames that the application is done with, and later ones of about the same length are read into
// them. Otherwise every frame costs fresh memory, which has to be cleared first and collected afterwards.
type bufferPool struct {
	mu     sync.Mutex
	frames [][]byte // oldest first, at most limit
	limit  int
}

// smallFrame is up to what length in bytes a frame is not worth keeping.
const smallFrame = 1 << 10

// take returns a slice of n bytes with arbitrary content.
func (s *bufferPool) take(n int) []byte {
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

// put keeps a frame. If there are too many the oldest is dropped.
func (s *bufferPool) put(f []byte) {
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
