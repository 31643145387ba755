package mem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

const window = endpoint.Window

// Net is a network inside one process. Net and its nodes are safe for concurrent use.
type Net struct {
	// MaxFrame is the maximum length of a frame, in bytes; 0 means 16 MiB. Set it before opening the first node.
	MaxFrame int

	mu      sync.Mutex
	members map[string]*member
}

type member struct {
	node   *node           // nil while the member is closed
	missed map[string]bool // senders whose frames the closed member may have missed
}

var (
	_ transport.Transport = (*node)(nil)
	_ transport.Notifier  = (*node)(nil)
)

// New returns a network with the given members. Initially all members are closed.
func New(members ...string) *Net {
	n := &Net{members: make(map[string]*member, len(members))}
	for _, name := range members {
		n.members[name] = &member{missed: make(map[string]bool)}
	}
	return n
}

// Node opens a member and returns its transport. Only one transport of a member can be open at a time. After Close, the
// member can be opened again, with an empty inbox. Frames to a closed member are lost; when the member opens, the
// senders of these frames are notified, because every node is a [transport.Notifier]. Node fails if the name is
// unknown, if the member is already open, or if MaxFrame is negative.
func (n *Net) Node(name string) (transport.Transport, error) {
	if n.MaxFrame < 0 {
		return nil, fmt.Errorf("mem: MaxFrame is %d, want at least 0", n.MaxFrame)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.members[name]
	if m == nil {
		return nil, fmt.Errorf("mem: this network has no member %q", name)
	}
	if m.node != nil {
		return nil, fmt.Errorf("mem: member %q is already open", name)
	}
	e := &node{net: n, name: name, maxFrame: cmp.Or(n.MaxFrame, endpoint.DefaultMaxFrame), inbox: endpoint.NewInbox(),
		room: make(map[string]chan struct{}), opened: make(chan string, min(len(n.members), 64))}
	e.ctx, e.close = context.WithCancel(context.Background())
	m.node = e
	for from := range m.missed {
		if sender := n.members[from].node; sender != nil {
			endpoint.Offer(sender.opened, name)
		}
	}
	clear(m.missed)
	return e, nil
}

type node struct {
	net      *Net
	name     string
	maxFrame int
	inbox    *endpoint.Inbox // at most window frames of each sender
	ctx      context.Context // ends with Close
	close    context.CancelFunc
	opened   chan string // names of members that missed frames of this node and have opened

	mu   sync.Mutex
	room map[string]chan struct{} // per sender, one token for each of its frames in inbox
}

// roomFor returns a channel that contains one token for each frame in the inbox that came from the sender. The
// channel's capacity is window.
func (e *node) roomFor(sender string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.room[sender]
	if c == nil {
		c = make(chan struct{}, window)
		e.room[sender] = c
	}
	return c
}

func (e *node) Send(ctx context.Context, to string, frame []byte) error {
	if e.ctx.Err() != nil {
		return fmt.Errorf("mem: send from %q: %w", e.name, transport.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mem: send to %q: %w", to, err)
	}
	if len(frame) > e.maxFrame {
		return fmt.Errorf("mem: send to %q: frame of %d bytes, want at most %d", to, len(frame), e.maxFrame)
	}
	m := e.net.members[to] // the set of members never changes
	if m == nil || to == e.name {
		return fmt.Errorf("mem: send to %q: not a neighbor of %q", to, e.name)
	}
	e.net.mu.Lock()
	dst := m.node
	if dst == nil {
		m.missed[e.name] = true
	}
	e.net.mu.Unlock()
	if dst == nil {
		return nil
	}
	select {
	case dst.roomFor(e.name) <- struct{}{}:
		dst.inbox.Put(e.name, slices.Clone(frame))
	case <-ctx.Done():
		return fmt.Errorf("mem: send to %q: %w", to, ctx.Err())
	case <-e.ctx.Done():
		return fmt.Errorf("mem: send from %q: %w", e.name, transport.ErrClosed)
	case <-dst.ctx.Done():
	}
	if dst.ctx.Err() != nil { // the receiver has closed, and may be open again
		e.net.mu.Lock()
		defer e.net.mu.Unlock()
		if m.node == nil {
			m.missed[e.name] = true
		} else {
			endpoint.Offer(e.opened, to)
		}
	}
	return nil
}

func (e *node) Recv(ctx context.Context) (string, []byte, error) {
	it, err := e.inbox.Take(ctx, e.ctx.Done())
	if err != nil {
		return "", nil, fmt.Errorf("mem: receive at %q: %w", e.name, err)
	}
	<-e.roomFor(it.From)
	return it.From, it.Frame, nil
}

func (e *node) MaxFrame() int { return e.maxFrame }

func (e *node) Opened() <-chan string { return e.opened }

func (e *node) Close() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.ctx.Err() == nil {
		e.close()
		m := e.net.members[e.name]
		m.node = nil
		e.mu.Lock()
		defer e.mu.Unlock()
		for from := range e.room { // each sender's last frames may be lost
			m.missed[from] = true
		}
	}
	return nil
}
