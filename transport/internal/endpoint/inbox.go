package endpoint

import (
	"context"
	"sync"

	"github.com/spade-dfl/spade-edge/transport"
)

// Item is a received frame and the name of its sender.
type Item struct {
	From  string
	Frame []byte
}

// Inbox is a queue of received frames in order of arrival. Its size is unlimited; the transport must limit it.
type Inbox struct {
	ready chan struct{} // holds a token while the queue may be nonempty
	mu    sync.Mutex
	queue []Item
}

func NewInbox() *Inbox { return &Inbox{ready: make(chan struct{}, 1)} }

func (b *Inbox) Put(from string, frame []byte) {
	b.Edit(func(queue []Item) []Item { return append(queue, Item{from, frame}) })
}

// Edit replaces the queue with the result of change(queue). change may modify its argument.
func (b *Inbox) Edit(change func(queue []Item) []Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = change(b.queue)
	Offer(b.ready, struct{}{})
}

// Take waits for a frame, and removes and returns the oldest frame. It fails with the error of ctx if ctx ends, and
// with [transport.ErrClosed] if the given channel is closed.
func (b *Inbox) Take(ctx context.Context, closed <-chan struct{}) (Item, error) {
	for {
		select {
		case <-closed:
			return Item{}, transport.ErrClosed
		default:
		}
		if err := ctx.Err(); err != nil {
			return Item{}, err
		}
		if it, ok := b.pop(); ok {
			return it, nil
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
		case <-closed:
		}
	}
}

func (b *Inbox) pop() (it Item, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return Item{}, false
	}
	it, b.queue[0] = b.queue[0], Item{}
	if b.queue = b.queue[1:]; len(b.queue) > 0 {
		Offer(b.ready, struct{}{}) // wakes another waiting Take
	}
	return it, true
}

// Offer sends v on c unless the send would block.
func Offer[T any](c chan<- T, v T) {
	select {
	case c <- v:
	default:
	}
}
