package sdk

import (
	"bytes"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// room is the maximum number of queued frames: two messages of a round, and answers. [outbox.put] may exceed it by one.
const room = 4

// outbox queues frames for one neighbor.
type outbox struct {
	mu     sync.Mutex
	change sync.Cond // signals changes of the fields below
	frames [][]byte  // oldest first
	closed bool
}

func newOutbox() *outbox {
	b := new(outbox)
	b.change.L = &b.mu
	return b
}

// put queues a frame. It drops the frame if the queue is full or already contains it, because repeated frames would
// fill the queue on a slow link. A dropped frame is sent again later. If last is true, frame is the run's last frame,
// and put queues it even if the queue has just reached its limit (room).
func (b *outbox) put(frame []byte, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.frames, func(f []byte) bool { return bytes.Equal(f, frame) }) {
		return
	}
	if len(b.frames) < room || last && len(b.frames) == room {
		b.frames = append(b.frames, frame)
		b.change.Signal()
	}
}

func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.change.Signal()
}

// next removes a frame from the queue and returns it, waiting if necessary. It returns nil once the outbox is closed
// and empty.
func (b *outbox) next() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && !b.closed {
		b.change.Wait()
	}
	if len(b.frames) == 0 {
		return nil
	}
	frame := b.frames[0]
	b.frames = slices.Delete(b.frames, 0, 1)
	return frame
}

// send queues messages for their recipients. A release for all neighbors is encoded only once.
func (r *run) send(msgs []admm.Message) error {
	var frame []byte
	for i := range msgs {
		m, before := &msgs[i], &msgs[max(0, i-1)]
		if same := m.Kind == before.Kind && m.Round == before.Round && m.Resent == before.Resent; i == 0 || !same ||
			m.Kind != admm.Release {
			r.claims.Attach(m)
			var err error
			if frame, err = r.codec.Append(nil, m); err != nil {
				return err
			}
		}
		r.outbox[m.To].put(frame, m.Kind == admm.Done)
	}
	return nil
}

// post encodes a message and queues it for the neighbor with the given number. It does nothing if there is no such
// neighbor.
func (r *run) post(to int, m *admm.Message) error {
	box := r.outbox[to]
	if box == nil {
		return nil
	}
	frame, err := r.codec.Append(nil, m)
	if err == nil {
		box.put(frame, false)
	}
	return err
}

// reached queues the messages that a neighbor may lack. It is called when a connection to the neighbor opens.
func (r *run) reached(name string) {
	j := r.number[name]
	if peer := r.claims.Peers[j]; peer != nil {
		peer.Again(trust.SayDouble | trust.SayHeld)
		r.show(j, peer)
	}
	r.sendNotice(j)
	r.machine.Reached(j)
}
