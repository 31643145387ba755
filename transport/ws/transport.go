package ws

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
)

// Transport is a node's end of the connections to all its peers. It implements [transport.Transport].
//
// Transport does not copy the frames that it sends or receives. On 64-bit machines an idle connection costs each end
// about 25 KB, or about 65 KB once a frame longer than a TLS record has arrived, and up to 85 KiB more while a message
// is being written. TLS and websockets add 0.2% to the length of a 40 KB frame.
type Transport struct {
	cfg    Config // including defaults
	public ed25519.PublicKey
	cert   tls.Certificate

	peers    map[string]*peer
	sorted   []*peer    // by name
	updating sync.Mutex // held by Update

	inbox      *endpoint.Inbox // at most window frames of each peer
	spare      sync.Pool       // of *[]byte, the memory of frames passed to Recycle
	opened     chan string
	listener   net.Listener // nil if no peer dials this end
	dialer     *proxy.Dialer
	handshakes handshakeLimiter

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Notifier  = (*Transport)(nil)
)

// New returns a transport that listens and that connects to its peers in the background. If the configuration is
// invalid, New returns all errors at once. It copies the slices in cfg.
func New(cfg Config) (*Transport, error) {
	t, err := build(&cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Listen != "" {
		if t.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
			return nil, fmt.Errorf("ws: %w", err)
		}
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	if t.listener != nil {
		t.wg.Go(t.acceptAll)
	}
	for _, p := range t.sorted {
		t.wg.Go(func() { t.keepDialing(p) })
	}
	return t, nil
}

// build returns a transport that does not listen or dial yet.
func build(cfg *Config) (*Transport, error) {
	if inBrowser {
		return nil, fmt.Errorf("ws: on js the browser opens websockets, and pins no keys: use package transport/broker/mqtt with "+
			"a broker's wss URL, or transport/mem: %w", errors.ErrUnsupported)
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, endpoint.DefaultMaxFrame)
	cfg.timing = cmp.Or(cfg.timing, defaultTiming)
	cfg.Logger = transport.Limited(cfg.Logger)
	if cfg.CheckHello == nil {
		cfg.CheckHello = endpoint.AnyHello
	}
	t := &Transport{
		cfg:    *cfg,
		public: cfg.Key.Public().(ed25519.PublicKey),
		cert:   selfSigned(cfg.Key),
		peers:  make(map[string]*peer),
		inbox:  endpoint.NewInbox(),
		handshakes: handshakeLimiter{
			slots:   make(chan struct{}, 2*handshakeLimit+peerLimit*len(cfg.Peers)),
			pending: make(map[*peer][]*caller),
		},
		opened: make(chan string, 4*len(cfg.Peers)),
		dialer: proxy.New(cfg.Proxy, cfg.dial),
	}
	for _, c := range cfg.Peers {
		p := &peer{name: c.Name, own: cfg.Key, out: make(chan []byte), redial: make(chan struct{}, 1), turn: make(chan struct{}, 1),
			status: transport.PeerStatus{Name: c.Name}}
		p.configure(c)
		t.peers[c.Name] = p
		t.sorted = append(t.sorted, p)
	}
	slices.SortFunc(t.sorted, func(a, b *peer) int { return strings.Compare(a.name, b.name) })
	return t, nil
}

// Addr returns the address on which the transport listens, as "wss://host:port/", or "" if it does not listen.
func (t *Transport) Addr() string {
	if t.listener == nil {
		return ""
	}
	return "wss://" + t.listener.Addr().String() + "/"
}

// Opened implements [transport.Notifier].
func (t *Transport) Opened() <-chan string { return t.opened }

// Update replaces the keys and addresses of all peers. peers must contain exactly the peers passed to [New], in any
// order. If peers contains errors, Update returns all errors and changes nothing. Update copies the slices.
//
// After Update, no frame is read from or written to a connection whose key is not among the new keys: an open
// connection is closed immediately, and a connection that is being opened is refused. Recv still returns frames that
// had arrived completely. A connection that this node dialed is also closed if its address is not among the new
// addresses, and a connection that this node accepted is also closed if an address of the peer was replaced. All other
// connections stay open. If there is no connection to a peer, the peer's new addresses are tried immediately.
func (t *Transport) Update(peers []Peer) error {
	faults := endpoint.Faults{Prefix: "ws: update: "}
	checkPeers(&faults, t.cfg.Name, t.public, peers)
	faults.CheckSame(slices.Sorted(maps.Keys(t.peers)), peers)
	if err := faults.Err(); err != nil {
		return err
	}
	t.updating.Lock()
	defer t.updating.Unlock()
	for _, c := range peers {
		p := t.peers[c.Name]
		gone := func(a string) bool { return !slices.Contains(c.Addresses, a) }
		moved := len(c.Addresses) > 0 && slices.ContainsFunc(p.config.Load().Addresses, gone)
		changed, s := p.configure(c)
		switch {
		case s == nil:
		case !p.pins(s.c.key):
			s.end(errUnpinned)
		case s.c.dialed != "" && gone(s.c.dialed), s.c.dialed == "" && moved:
			s.end(errMoved)
		}
		if changed {
			endpoint.Offer(p.redial, struct{}{})
		}
	}
	return nil
}

// Send implements [transport.Transport]. A nil error means that there was a connection on which the peer had room for
// the frame. If this connection breaks before the frame has been sent, the frame is sent again on the next connection.
// If that connection also breaks, the frame is lost. Send itself writes a short frame; if that has to wait, because the
// peer does not receive, Send returns after a few seconds at the latest, even if ctx ends earlier.
func (t *Transport) Send(ctx context.Context, to string, frame []byte) error {
	p := t.peers[to]
	switch {
	case t.ctx.Err() != nil:
		return fmt.Errorf("ws: send to %q: %w", to, transport.ErrClosed)
	case p == nil:
		return fmt.Errorf("ws: send to %q: not a neighbor of %q", to, t.cfg.Name)
	case len(frame) > t.cfg.MaxFrame:
		return fmt.Errorf("ws: send to %q: frame of %d bytes, want at most %d", to, len(frame), t.cfg.MaxFrame)
	case ctx.Err() != nil:
		return fmt.Errorf("ws: send to %q, %s: %w", to, p.state(), ctx.Err())
	}
	if p.sendNow(frame) {
		return nil
	}
	p.passed.Add(1)
	select {
	case p.out <- frame:
		return nil
	case <-ctx.Done():
		p.passed.Add(-1)
		return fmt.Errorf("ws: send to %q, %s: %w", to, p.state(), ctx.Err())
	case <-t.ctx.Done():
		p.passed.Add(-1)
		return fmt.Errorf("ws: send to %q: %w", to, transport.ErrClosed)
	}
}

// Recv implements [transport.Transport].
func (t *Transport) Recv(ctx context.Context) (from string, frame []byte, err error) {
	it, err := t.inbox.Take(ctx, t.ctx.Done())
	if err != nil {
		return "", nil, fmt.Errorf("ws: receive: %w", err)
	}
	t.peers[it.From].dequeue(true)
	return it.From, it.Frame, nil
}

// Recycle hands a frame that Recv returned back to the transport, which may receive another frame in its memory. This is
// optional, and saves the time to allocate, clear and collect the memory: for long frames up to half the time of a
// round trip. The caller must not use the frame afterwards, and must not recycle a frame that it passed to Send.
func (t *Transport) Recycle(frame []byte) {
	if cap(frame) > short {
		t.spare.Put(&frame)
	}
}

// newFrame returns a slice of n bytes, which may contain bytes of an earlier frame.
func (t *Transport) newFrame(n int) []byte {
	if n > short {
		if b, ok := t.spare.Get().(*[]byte); ok && cap(*b) >= n {
			return (*b)[:n]
		}
	}
	return make([]byte, n)
}

// MaxFrame implements [transport.Transport].
func (t *Transport) MaxFrame() int { return t.cfg.MaxFrame }

// Close implements [transport.Transport]. It allows two seconds for the delivery of frames for which Send has returned.
func (t *Transport) Close() error {
	t.cancel()
	if t.listener != nil {
		t.listener.Close()
	}
	// A session that is sending a frame can close properly only after that frame. Force such sessions to end after the
	// linger timeout.
	timer := time.AfterFunc(t.cfg.timing.linger, func() {
		for _, p := range t.sorted {
			if s := p.current(); s != nil {
				s.c.tcp.Close()
			}
		}
	})
	defer timer.Stop()
	t.wg.Wait()
	return nil
}
