package sdk

import (
	"bytes"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

const (
	room  = 4       // maximum number of queued frames: two messages of a round, and answers; put may exceed it by one
	words = 1 << 14 // maximum number of queued words (see outbox)
)

// outbox queues frames for one neighbor.
type outbox struct {
	mu     sync.Mutex
	change sync.Cond       // signals changes of the fields below
	frames [][]byte        // oldest first
	words  []string        // answers to offers, oldest first; sent before frames
	said   map[string]bool // the set of words
	closed bool
}

func newOutbox() *outbox {
	b := &outbox{said: map[string]bool{}}
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

// say queues an answer to offers, unless it is already queued or the queue is full.
func (b *outbox) say(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if word := string(frame); len(b.words) < words && !b.said[word] {
		b.words, b.said[word] = append(b.words, word), true
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
	for len(b.frames)+len(b.words) == 0 && !b.closed {
		b.change.Wait()
	}
	if len(b.words) > 0 {
		word := b.words[0]
		b.words = b.words[1:]
		delete(b.said, word)
		return []byte(word)
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
			r.attach(m)
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
	switch {
	case err != nil:
	case m.Kind == admm.Relay && len(m.Signed.Relayed) == 0:
		// The frame is an answer to offers. Without an answer to its offers, the neighbor would send all of them again.
		box.say(frame)
	default:
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
