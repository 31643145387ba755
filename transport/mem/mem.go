package mem

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/transport"
)

const (
	// DefaultMaxFrame is the longest frame, in bytes, that a node takes unless [Net.MaxFrame] says otherwise.
	DefaultMaxFrame = 16 << 20

	// window is how many frames of one member may wait at another: the messages of two rounds and a repeat of each.
	window = 4
)

// Net is a network inside one process. Its methods and those of its nodes may be called from several goroutines.
type Net struct {
	// MaxFrame is the length in bytes of the longest frame that nodes take, [DefaultMaxFrame] if zero. Set it before
	// the first node is opened.
	MaxFrame int

	mu    sync.Mutex
	nodes map[string]*node // nil for a member that is not open
}

var _ transport.Transport = (*node)(nil)

// New returns a network with the given members, all of them closed.
func New(members ...string) *Net {
	n := &Net{nodes: make(map[string]*node, len(members))}
	for _, name := range members {
		n.nodes[name] = nil
	}
	return n
}

// Node opens a member's end of the network. A member is open once at a time; after Close it may be opened again and starts
// with nothing received. Frames sent to a member that is not open are lost. It is an error to ask for a name that is not
// a member, for one that is open, or with a negative MaxFrame.
func (n *Net) Node(name string) (transport.Transport, error) {
	if n.MaxFrame < 0 {
		return nil, fmt.Errorf("mem: MaxFrame is %d, want at least 0", n.MaxFrame)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old, ok := n.nodes[name]
	if !ok {
		return nil, fmt.Errorf("mem: no member %q in this network", name)
	}
	if old != nil {
		return nil, fmt.Errorf("mem: member %q is open already", name)
	}
	e := &node{
		net:      n,
		name:     name,
		maxFrame: n.MaxFrame,
		room:     make(map[string]chan struct{}),
		ready:    make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
	if e.maxFrame == 0 {
		e.maxFrame = DefaultMaxFrame
	}
	n.nodes[name] = e
	return e, nil
}

// lookup returns the open node of a member, nil if it is closed, and whether there is such a member at all.
func (n *Net) lookup(name string) (*node, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e, ok := n.nodes[name]
	return e, ok
}

type item struct {
	from  string
	frame []byte
}

// node is one member's end.
type node struct {
	net      *Net
	name     string
	maxFrame int
	ready    chan struct{} // holds a token while queue may have something for Recv
	closed   chan struct{}

	mu    sync.Mutex
	queue []item                   // in order of arrival, at most window frames of each sender
	room  map[string]chan struct{} // per sender, one token for each of its frames in queue
}

// roomFor returns the channel that takes a token for every frame the sender has in the queue.
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

// wake lets one Recv look at the queue.
func (e *node) wake() {
	select {
	case e.ready <- struct{}{}:
	default:
	}
}

func (e *node) isClosed() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

func (e *node) Send(ctx context.Context, to string, frame []byte) error {
	if e.isClosed() {
		return fmt.Errorf("mem: send from %q: %w", e.name, transport.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mem: send to %q: %w", to, err)
	}
	if len(frame) > e.maxFrame {
		return fmt.Errorf("mem: send to %q: frame of %d bytes, want at most %d", to, len(frame), e.maxFrame)
	}
	dst, ok := e.net.lookup(to)
	if !ok || to == e.name {
		return fmt.Errorf("mem: send to %q: not a neighbor of %q", to, e.name)
	}
	if dst == nil {
		return nil
	}
	select {
	case dst.roomFor(e.name) <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("mem: send to %q: %w", to, ctx.Err())
	case <-e.closed:
		return fmt.Errorf("mem: send from %q: %w", e.name, transport.ErrClosed)
	case <-dst.closed:
		return nil
	}
	dst.mu.Lock()
	dst.queue = append(dst.queue, item{e.name, slices.Clone(frame)})
	dst.mu.Unlock()
	dst.wake()
	return nil
}

func (e *node) Recv(ctx context.Context) (string, []byte, error) {
	for {
		if e.isClosed() {
			return "", nil, fmt.Errorf("mem: receive at %q: %w", e.name, transport.ErrClosed)
		}
		if err := ctx.Err(); err != nil {
			return "", nil, fmt.Errorf("mem: receive at %q: %w", e.name, err)
		}
		if it, ok := e.take(); ok {
			return it.from, it.frame, nil
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
		case <-e.closed:
		}
	}
}

// take removes the oldest frame of the queue.
func (e *node) take() (item, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		return item{}, false
	}
	it := e.queue[0]
	e.queue[0] = item{}
	e.queue = e.queue[1:]
	<-e.room[it.from]
	if len(e.queue) > 0 {
		e.wake() // for another Recv that waits
	}
	return it, true
}

func (e *node) MaxFrame() int { return e.maxFrame }

func (e *node) Close() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.isClosed() {
		return nil
	}
	close(e.closed)
	e.net.nodes[e.name] = nil
	return nil
}
