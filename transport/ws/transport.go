package ws

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
)

// Transport is a node's part of its connections to all peers. It implements [transport.Transport].
//
// A frame is sent without a copy, and is received into the memory that Recv returns. On 64-bit machines an idle
// connection costs each end about 40 KB, or 80 KB after a frame longer than a TLS record has arrived, and up to 128 KiB
// more while a message is written. TLS and websockets add 0.2 % to the length of a frame of 40 KB.
type Transport struct {
	cfg    Config // including defaults
	public ed25519.PublicKey
	cert   tls.Certificate
	hellos endpoint.Hellos

	peers    map[string]*peer
	sorted   []*peer    // by name
	updating sync.Mutex // held by Update

	inbox      *endpoint.Inbox // at most window frames of each peer
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

// New checks the whole configuration and reports all errors together. It then listens, and connects in the background.
// New copies the slices in cfg.
func New(cfg Config) (*Transport, error) {
	t, err := build(cfg)
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

// build returns a transport that neither listens nor dials.
func build(cfg Config) (*Transport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, endpoint.DefaultMaxFrame)
	cfg.timing = cmp.Or(cfg.timing, defaultTiming)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = slog.New(transport.Limited(cfg.Logger.Handler()))
	cert, err := selfSigned(cfg.Key)
	if err != nil {
		return nil, err
	}
	t := &Transport{
		cfg:    cfg,
		public: cfg.Key.Public().(ed25519.PublicKey),
		cert:   cert,
		hellos: endpoint.Hellos{Make: cfg.Hello, Accept: cfg.CheckHello},
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
		p := &peer{
			name:   c.Name,
			own:    cfg.Key,
			out:    make(chan []byte),
			redial: make(chan struct{}, 1),
			turn:   make(chan struct{}, 1),
			status: transport.PeerStatus{Name: c.Name},
		}
		p.configure(c)
		t.peers[c.Name] = p
		t.sorted = append(t.sorted, p)
	}
	sort.SliceStable(t.sorted, func(i, j int) bool { return t.sorted[i].name < t.sorted[j].name })
	return t, nil
}

// Addr returns the address on which the transport listens, "wss://host:port/", or "" if it does not listen.
func (t *Transport) Addr() string {
	if t.listener == nil {
		return ""
	}
	return "wss://" + t.listener.Addr().String() + "/"
}

// Opened implements [transport.Notifier].
func (t *Transport) Opened() <-chan string { return t.opened }

// Update replaces the keys and addresses of all peers. peers must be those given to [New], each once, in any order. If
// there are errors, Update reports them together and changes nothing. It copies the slices.
//
// Afterwards no frame is read from, or written to, a connection whose key is not among the new keys: if it is open, it
// is closed at once, and if it is being opened, it is refused. Recv still returns frames that had arrived completely. A
// connection that this end dialed is also closed if its address is not among the new addresses. A connection that this
// end accepted is also closed if an address of the peer was replaced. All other connections stay open. For a peer
// without a connection, the new addresses are tried at once.
func (t *Transport) Update(peers []Peer) error {
	faults := endpoint.Faults{Prefix: "ws: update: "}
	checkPeers(&faults, t.cfg.Name, t.public, peers)
	faults.CheckSame(t.cfg.Name, slices.Sorted(maps.Keys(t.peers)), peers)
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
// the frame. If this connection breaks before the frame is sent, the frame is sent again on the next connection. If
// that connection breaks as well, the frame is lost.
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
	select {
	case p.out <- frame:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ws: send to %q, %s: %w", to, p.state(), ctx.Err())
	case <-t.ctx.Done():
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

// MaxFrame implements [transport.Transport].
func (t *Transport) MaxFrame() int { return t.cfg.MaxFrame }

// Close implements [transport.Transport]. Connections have two seconds to deliver frames for which Send has returned.
func (t *Transport) Close() error {
	t.cancel()
	if t.listener != nil {
		t.listener.Close()
	}
	// A session that is sending a frame can close in an orderly way only after that frame, so end it by force after
	// linger.
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
