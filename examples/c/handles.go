package main

import (
	"math"
	"sync"

	"github.com/spade-dfl/spade-edge/examples/c/host"
)

// handles gives out numbers in place of pointers. The zero value is empty.
type handles[T any] struct {
	mu   sync.Mutex
	last int32
	open map[int32]T
}

func (h *handles[T]) put(v T) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == math.MaxInt32 {
		return 0, host.Usagef("all %d handles of this process have been used", h.last)
	}
	if h.open == nil {
		h.open = map[int32]T{}
	}
	h.last++
	h.open[h.last] = v
	return int64(h.last), nil
}

func (h *handles[T]) get(handle int32) (T, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.open[handle]
	if !ok {
		return v, host.Usagef("%d is no open node", handle)
	}
	return v, nil
}

func (h *handles[T]) remove(handle int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, handle)
}
