package ws

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// Transport is a node's end of its connections. It implements [transport.Transport].
type Transport struct {
	name       string
	public     ed25519.PublicKey
	cert       tls.Certificate
	maxFrame   int
	hello      func(peer string) []byte
	checkHello func(peer string, hello []byte) error
	log        *slog.Logger
	timing     timing
	dialTCP    func(ctx context.Context, network, address string) (net.Conn, error)

	peers    map[string]*peer
	byKey    atomic.Pointer[map[string]*peer] // by the bytes of a public key; the map is never changed
	sorted   []*peer                          // by name
	updating sync.Mutex                       // held by Update

	inbox    chan item
	shelf    shelf
	opened   chan string
	listener net.Listener // nil if nobody dials us
	door     door

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	complained struct {
		sync.Mutex
		at time.Time
	}
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Notifier  = (*Transport)(nil)
	_ transport.Recycler  = (*Transport)(nil)
)

// item is a frame that has arrived.
type item struct {
	from  *peer
	frame []byte
}

// New checks the whole configuration, reporting all faults at once, listens, and starts to connect. The slices in cfg are
// copied.
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
		if p.dial {
			t.wg.Go(func() { t.keepDialling(p) })
		}
	}
	return t, nil
}

// build makes a transport that neither listens nor dials.
func build(cfg Config) (*Transport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &Transport{
		name:       cfg.Name,
		public:     cfg.Key.Public().(ed25519.PublicKey),
		cert:       selfSigned(cfg.Key),
		maxFrame:   cfg.MaxFrame,
		hello:      cfg.Hello,
		checkHello: cfg.CheckHello,
		log:        cfg.Logger,
		timing:     cfg.timing,
		dialTCP:    cfg.dial,
		peers:      make(map[string]*peer),
		inbox:      make(chan item, window*len(cfg.Peers)),
		shelf:      shelf{limit: len(cfg.Peers)},
		door:       door{handled: make(chan struct{}, 2*doorLimit)},
		opened:     make(chan string, 4*len(cfg.Peers)),
	}
	if t.maxFrame == 0 {
		t.maxFrame = DefaultMaxFrame
	}
	if t.timing == (timing{}) {
		t.timing = defaultTiming
	}
	if t.dialTCP == nil {
		t.dialTCP = new(net.Dialer).DialContext
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	byKey := make(map[string]*peer)
	for _, c := range cfg.Peers {
		p := &peer{
			name:   c.Name,
			dial:   t.name < c.Name,
			out:    make(chan []byte),
			kick:   make(chan struct{}, 1),
			status: PeerStatus{Name: c.Name},
		}
		p.keys = cloneKeys(c.Keys)
		for _, k := range p.keys {
			byKey[string(k)] = p
		}
		p.addresses, _ = parseAddresses(c.Addresses) // validate has seen them
		t.peers[c.Name] = p
		t.sorted = append(t.sorted, p)
	}
	slices.SortFunc(t.sorted, func(a, b *peer) int { return strings.Compare(a.name, b.name) })
	t.byKey.Store(&byKey)
	return t, nil
}

// Addr returns the address that is listened on as peers on this machine could dial it, "wss://host:port/"; it is empty
// if the transport does not listen.
func (t *Transport) Addr() string {
	if t.listener == nil {
		return ""
	}
	return "wss://" + t.listener.Addr().String() + "/"
}

// Opened implements [transport.Notifier].
func (t *Transport) Opened() <-chan string { return t.opened }

// SetAddresses replaces the addresses of a peer; see [Peer.Addresses]. If there is no connection the new ones are tried
// at once; a connection that is up stays up. After an error nothing has changed.
func (t *Transport) SetAddresses(peer string, addresses ...string) error {
	p := t.peers[peer]
	if p == nil {
		return fmt.Errorf("ws: set addresses: no peer %q", peer)
	}
	as, err := parseAddresses(addresses)
	if err != nil {
		return fmt.Errorf("ws: set addresses of peer %q: %w", peer, err)
	}
	p.mu.Lock()
	p.addresses = as
	p.mu.Unlock()
	p.dialSoon()
	return nil
}

// dialSoon has the dialler try again without waiting any longer.
func (p *peer) dialSoon() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// where returns the addresses to dial. The slice is not changed any more.
func (p *peer) where() []address {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addresses
}

// Send implements [transport.Transport]. A nil error means that a connected peer had room for the frame when its
// turn came. If the connection breaks meanwhile it is sent once more on the next one, and lost if that breaks as well.
func (t *Transport) Send(ctx context.Context, to string, frame []byte) error {
	p := t.peers[to]
	switch {
	case t.ctx.Err() != nil:
		return fmt.Errorf("ws: send to %q: %w", to, transport.ErrClosed)
	case p == nil:
		return fmt.Errorf("ws: send to %q: not a neighbor of %q", to, t.name)
	case len(frame) > t.maxFrame:
		return fmt.Errorf("ws: send to %q: frame of %d bytes, want at most %d", to, len(frame), t.maxFrame)
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
	if t.ctx.Err() != nil {
		return "", nil, fmt.Errorf("ws: receive: %w", transport.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return "", nil, fmt.Errorf("ws: receive: %w", err)
	}
	select {
	case it := <-t.inbox:
		it.from.took()
		return it.from.name, it.frame, nil
	case <-ctx.Done():
		return "", nil, fmt.Errorf("ws: receive: %w", ctx.Err())
	case <-t.ctx.Done():
		return "", nil, fmt.Errorf("ws: receive: %w", transport.ErrClosed)
	}
}

// Recycle implements [transport.Recycler]. As many frames are kept for use as there are peers; of more the newest. Frames of
// at most 1 KiB are not worth it.
func (t *Transport) Recycle(frame []byte) {
	if cap(frame) <= t.maxFrame {
		t.shelf.put(frame)
	}
}

// MaxFrame implements [transport.Transport].
func (t *Transport) MaxFrame() int { return t.maxFrame }

// Close implements [transport.Transport]. Connections are given two seconds to deliver what has been sent.
func (t *Transport) Close() error {
	t.cancel()
	if t.listener != nil {
		t.listener.Close()
	}
	// A session may be in the middle of a frame; then it comes to its polite end only after that.
	timer := time.AfterFunc(t.timing.linger, func() {
		for _, p := range t.sorted {
			p.mu.Lock()
			if p.session != nil {
				p.session.c.tcp.Close()
			}
			p.mu.Unlock()
		}
	})
	defer timer.Stop()
	t.wg.Wait()
	return nil
}
