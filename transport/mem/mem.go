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

	mu     sync.Mutex
	nodes  map[string]*node           // nil for a member that is not open
	missed map[string]map[string]bool // by closed member: the senders whose frames the member missed
}

var (
	_ transport.Transport = (*node)(nil)
	_ transport.Notifier  = (*node)(nil)
)

// New returns a network with the given members. Initially all members are closed.
func New(members ...string) *Net {
	n := &Net{nodes: make(map[string]*node, len(members)), missed: make(map[string]map[string]bool)}
	for _, name := range members {
		n.nodes[name] = nil
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
	old, ok := n.nodes[name]
	if !ok {
		return nil, fmt.Errorf("mem: this network has no member %q", name)
	}
	if old != nil {
		return nil, fmt.Errorf("mem: member %q is already open", name)
	}
	e := &node{
		net:      n,
		name:     name,
		maxFrame: cmp.Or(n.MaxFrame, endpoint.DefaultMaxFrame),
		inbox:    endpoint.NewInbox(),
		room:     make(map[string]chan struct{}),
		opened:   make(chan string, min(len(n.nodes), 64)),
	}
	e.ctx, e.close = context.WithCancel(context.Background())
	n.nodes[name] = e
	for from := range n.missed[name] {
		if sender := n.nodes[from]; sender != nil {
			endpoint.Offer(sender.opened, name)
		}
	}
	delete(n.missed, name)
	return e, nil
}

// miss records that a closed member may have missed a frame. The parameters are the names of that member and of the
// sender. The caller must hold the network's lock.
func (n *Net) miss(to, from string) {
	if n.missed[to] == nil {
		n.missed[to] = make(map[string]bool)
	}
	n.missed[to][from] = true
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
	e.net.mu.Lock()
	dst, ok := e.net.nodes[to]
	if ok && dst == nil {
		e.net.miss(to, e.name)
	}
	e.net.mu.Unlock()
	if !ok || to == e.name {
		return fmt.Errorf("mem: send to %q: not a neighbor of %q", to, e.name)
	}
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
		if e.net.nodes[to] == nil {
			e.net.miss(to, e.name)
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
		e.net.nodes[e.name] = nil
		e.mu.Lock()
		defer e.mu.Unlock()
		for from := range e.room { // each sender's last frames may be lost
			e.net.miss(e.name, from)
		}
	}
	return nil
}
