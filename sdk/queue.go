package sdk

import (
	"bytes"
	"slices"
	"sync"
)

// parcel is a frame to or from a neighbor, or what stands in its place.
type parcel struct {
	from   string // of a received frame
	frame  []byte
	urgent bool  // may exceed the limit of a queue by one
	silent bool  // instead of a frame: the neighbor was silent for longer than Config.Patience
	err    error // instead of a frame: why the receiver ended
}

func (p parcel) equal(q parcel) bool { return p.silent == q.silent && bytes.Equal(p.frame, q.frame) }

// room is the maximum number of queued parcels: two messages of a round, and answers. An urgent one may exceed it.
const room = 4

// queue holds the parcels to or from one neighbor. It is safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	change  sync.Cond // signals changes of the fields below
	parcels []parcel  // oldest first
	closed  bool
}

func newQueue() *queue {
	q := new(queue)
	q.change.L = &q.mu
	return q
}

// put adds a parcel. It drops the parcel if the queue is full or already contains it, because repeated frames would
// fill the queue on a slow link. A dropped frame is sent again later.
func (q *queue) put(p parcel) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.ContainsFunc(q.parcels, p.equal) {
		return
	}
	if len(q.parcels) < room || p.urgent && len(q.parcels) == room {
		q.parcels = append(q.parcels, p)
		q.change.Signal()
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Signal()
}

// next removes a parcel from the queue and returns it, waiting if necessary. ok is false once the queue is closed and
// empty.
func (q *queue) next() (p parcel, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.parcels) == 0 && !q.closed {
		q.change.Wait()
	}
	if len(q.parcels) == 0 {
		return p, false
	}
	p = q.parcels[0]
	q.parcels = slices.Delete(q.parcels, 0, 1)
	return p, true
}
