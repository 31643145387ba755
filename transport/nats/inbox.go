package nats

import (
	"bytes"
	"sync"
)

// item is a frame that has arrived.
type item struct {
	from  string
	frame []byte
}

// inbox holds what Recv has not taken yet: the last few frames of each peer.
type inbox struct {
	ready chan struct{} // holds a token while there may be something for Recv

	mu    sync.Mutex
	queue []item // in order of arrival
}

// put adds a frame. One that waits already is not there twice, and of too many the peer's oldest goes, as at the broker.
func (b *inbox) put(from string, frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	count, oldest := 0, -1
	for i, it := range b.queue {
		if it.from != from {
			continue
		}
		if bytes.Equal(it.frame, frame) {
			return
		}
		if count++; oldest < 0 {
			oldest = i
		}
	}
	if count == window {
		copy(b.queue[oldest:], b.queue[oldest+1:])
		b.queue[len(b.queue)-1] = item{}
		b.queue = b.queue[:len(b.queue)-1]
	}
	b.queue = append(b.queue, item{from, frame})
	b.wake()
}

// take removes the oldest frame.
func (b *inbox) take() (item, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return item{}, false
	}
	it := b.queue[0]
	b.queue[0] = item{}
	b.queue = b.queue[1:]
	if len(b.queue) > 0 {
		b.wake() // for another Recv that waits
	}
	return it, true
}

func (b *inbox) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}
