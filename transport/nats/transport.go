package nats

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// Transport is a node's end of its edges. It implements [transport.Transport].
type Transport struct {
	cfg      Config           // with its defaults
	exchange *ecdh.PrivateKey // cfg.Key on the other form of the curve
	process  uint64           // a number drawn at start
	hellos   endpoint.Hellos

	peers    map[string]*peer
	byTag    map[string]*peer // by the tag in a subject
	sorted   []*peer          // by name
	updating sync.Mutex       // held by Update

	link   link
	inbox  *endpoint.Inbox // the last window frames of each peer
	opened chan string

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	close  sync.Once
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Notifier  = (*Transport)(nil)
)

// peer is a neighbor at work.
type peer struct {
	name    string
	out, in edge
	turn    chan struct{} // holds a token while a goroutine sends to this peer
	number  uint64        // of the last frame sent; belongs to whoever has the turn

	hello chan struct{} // holds a token while a hello has to be sent

	// These belong to the reader.
	window   replays
	arriving assembly
	greeted  uint64 // the last process that the hello was sent to again

	mu     sync.Mutex // of what follows
	pins   []ed25519.PublicKey
	seals  []*ecdh.PublicKey // the pins on the other form of the curve
	ring   ring
	status transport.PeerStatus
}

// New checks the whole configuration, reporting all faults at once, and starts to connect; the broker need not be there
// yet. The slices in cfg are copied.
func New(cfg Config) (*Transport, error) {
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	if err := t.link.connect(&t.cfg, hexTag(tag(8, t.cfg.Run, t.cfg.Name))); err != nil {
		t.cancel()
		return nil, err
	}
	if len(t.sorted) > 0 {
		t.wg.Go(t.receiveAll)
	}
	for _, p := range t.sorted {
		t.wg.Go(func() { t.sendHellos(p) })
		endpoint.Offer(p.hello, struct{}{})
	}
	return t, nil
}

// build makes a transport that is not at work yet.
func build(cfg Config) (*Transport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	exchange, err := endpoint.ExchangePrivate(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	var process [8]byte
	if _, err := rand.Read(process[:]); err != nil { // never, see crypto/rand
		return nil, fmt.Errorf("nats: %w", err)
	}
	cfg.Key = slices.Clone(cfg.Key)
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, endpoint.DefaultMaxFrame)
	cfg.timing = cmp.Or(cfg.timing, defaultTiming)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = slog.New(transport.Limited(cfg.Logger.Handler()))
	t := &Transport{
		cfg:      cfg,
		exchange: exchange,
		process:  binary.BigEndian.Uint64(process[:]),
		hellos:   endpoint.Hellos{Make: cfg.Hello, Accept: cfg.CheckHello},
		peers:    make(map[string]*peer),
		byTag:    make(map[string]*peer),
		inbox:    endpoint.NewInbox(),
		opened:   make(chan string, 4*len(cfg.Peers)),
	}
	for _, c := range cfg.Peers {
		p := &peer{
			name:   c.Name,
			out:    newEdge(t.cfg.Run, t.cfg.Name, c.Name),
			in:     newEdge(t.cfg.Run, c.Name, t.cfg.Name),
			turn:   make(chan struct{}, 1),
			hello:  make(chan struct{}, 1),
			ring:   ring{timing: &t.cfg.timing},
			status: transport.PeerStatus{Name: c.Name},
		}
		p.setKeys(c.Keys)
		t.peers[c.Name], t.byTag[hexTag(p.in.fromTag)] = p, p
		t.sorted = append(t.sorted, p)
	}
	slices.SortFunc(t.sorted, func(a, b *peer) int { return strings.Compare(a.name, b.name) })
	t.ctx, t.cancel = context.WithCancel(context.Background())
	runTag := hexTag(tag(16, t.cfg.Run))
	t.link.timing, t.link.log, t.link.lost = &t.cfg.timing, t.cfg.Logger, t.resendAll
	t.link.dialer = newDialer(t.ctx, &t.cfg)
	t.link.frames = func(piece int) int64 { return int64(max(1, (t.cfg.MaxFrame+piece-1)/piece)) }
	t.link.want = jetstream.StreamConfig{
		Name: Stream(t.cfg.Run), Subjects: []string{"spade." + runTag + ".*.*.*"}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxAge: cmp.Or(cfg.MaxAge, defaultMaxAge), MaxBytes: cmp.Or(cfg.MaxBytes, -1),
	}
	return t, nil
}

// Stream returns the name of a run's stream at the broker.
func Stream(run string) string { return "SPADE-" + hexTag(tag(16, run)) }

// Subjects returns the pattern of the subjects on which a member of a run publishes, and no other member.
func Subjects(run, member string) string {
	return "spade." + hexTag(tag(16, run)) + "." + hexTag(tag(8, run, member)) + ".*.*"
}

// subject is where the messages of an edge are stored; place separates the frames that are stored at the same time.
func subject(e *edge, place string) string {
	return "spade." + hexTag(e.runTag) + "." + hexTag(e.fromTag) + "." + hexTag(e.toTag) + "." + place
}

// setKeys pins keys that are known to be good.
func (p *peer) setKeys(keys []ed25519.PublicKey) {
	p.pins, p.seals = nil, nil
	for _, k := range keys {
		public, _ := endpoint.ExchangePublic(k)
		p.pins, p.seals = append(p.pins, slices.Clone(k)), append(p.seals, public)
	}
}

// Opened implements [transport.Notifier]. A name comes when the hello of a process of that member arrives, and when the
// broker has lost what it stored.
func (t *Transport) Opened() <-chan string { return t.opened }

// MaxFrame implements [transport.Transport].
func (t *Transport) MaxFrame() int { return t.cfg.MaxFrame }

// Send implements [transport.Transport]. It waits until the broker has confirmed that it stores the frame, for a
// connection as well. A frame that the broker has is not given to it again for a while, which gets longer, up to a
// minute, as long as nothing comes from the peer.
func (t *Transport) Send(ctx context.Context, to string, frame []byte) error {
	p := t.peers[to]
	switch {
	case t.ctx.Err() != nil:
		return fmt.Errorf("nats: send to %q: %w", to, transport.ErrClosed)
	case p == nil:
		return fmt.Errorf("nats: send to %q: not a neighbor of %q", to, t.cfg.Name)
	case len(frame) > t.cfg.MaxFrame:
		return fmt.Errorf("nats: send to %q: frame of %d bytes, want at most %d", to, len(frame), t.cfg.MaxFrame)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	if err := t.store(inner, p, frame); err != nil {
		switch {
		case t.ctx.Err() != nil:
			err = transport.ErrClosed
		case ctx.Err() != nil:
			err = ctx.Err()
			if l := t.link.state(); !l.up && l.err != nil {
				err = fmt.Errorf("%w (%w)", err, l.err)
			}
		}
		return fmt.Errorf("nats: send to %q: %w", to, err)
	}
	return nil
}

// store gives the broker a frame for a peer, unless it has it.
func (t *Transport) store(ctx context.Context, p *peer, frame []byte) error {
	return t.inTurn(ctx, p, func() error {
		sum := sha256.Sum256(frame)
		p.mu.Lock()
		n, due := p.ring.find(sum, time.Now())
		p.mu.Unlock()
		if !due {
			return nil
		}
		if err := t.post(ctx, p, kindFrame, strconv.Itoa(n), frame); err != nil {
			return err
		}
		p.mu.Lock()
		p.ring.stored(n, sum, time.Now())
		p.mu.Unlock()
		return nil
	})
}

// inTurn calls do, once at a time for each peer.
func (t *Transport) inTurn(ctx context.Context, p *peer, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// post seals a frame piece by piece and publishes it. The caller has the peer's turn.
func (t *Transport) post(ctx context.Context, p *peer, kind byte, place string, frame []byte) error {
	if _, err := t.link.ready(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	size := t.link.pieceSize()
	p.number++
	h := header{
		kind: kind, fleet: t.cfg.Fleet, process: t.process, number: p.number,
		total: max(1, (len(frame)+size-1)/size), length: len(frame),
	}
	if h.total > 1<<16-1 {
		return fmt.Errorf("a frame of %d bytes needs %d messages of %d bytes, which the broker takes, want at most %d",
			len(frame), h.total, t.link.conn.MaxPayload(), 1<<16-1)
	}
	p.mu.Lock()
	seals := p.seals
	p.mu.Unlock()
	where := subject(&p.out, place)
	for h.index = range h.total {
		from, to := h.piece()
		b, err := seal(&p.out, h, t.cfg.Key, seals, frame[from:to])
		if err != nil {
			return err
		}
		if err := t.link.publish(ctx, where, b); err != nil {
			return err
		}
		p.mu.Lock()
		p.status.Sent += int64(len(b))
		p.mu.Unlock()
	}
	return nil
}

// sendHellos sends a peer a hello each time that it needs one.
func (t *Transport) sendHellos(p *peer) {
	for {
		select {
		case <-p.hello:
		case <-t.ctx.Done():
			return
		}
		hello, err := t.hellos.For(p.name)
		if err == nil {
			err = t.inTurn(t.ctx, p, func() error { return t.post(t.ctx, p, kindHello, "hello", hello) })
		}
		if err != nil && t.ctx.Err() == nil {
			t.cfg.Logger.Warn("hello not sent", "peer", p.name, "reason", err)
		}
	}
}

// resendAll is called when the broker has lost what it stored.
func (t *Transport) resendAll() {
	for _, p := range t.sorted {
		p.mu.Lock()
		p.ring.expire()
		p.mu.Unlock()
		endpoint.Offer(p.hello, struct{}{})
		endpoint.Offer(t.opened, p.name)
	}
}

// Recv implements [transport.Transport].
func (t *Transport) Recv(ctx context.Context) (from string, frame []byte, err error) {
	it, err := t.inbox.Take(ctx, t.ctx.Done())
	if err != nil {
		return "", nil, fmt.Errorf("nats: receive: %w", err)
	}
	return it.From, it.Frame, nil
}

// Update replaces the keys of all peers, in any order, as they were given to [New]. Who the peers are cannot change:
// each must be there once, and no other. All faults are reported at once, and after an error nothing has changed. From
// then on nothing is taken that an older key has signed, and nothing sealed for one; what Recv has not taken yet it
// still hands out. The slices are copied.
func (t *Transport) Update(peers []Peer) error {
	faults := endpoint.Faults{Prefix: "nats: update: "}
	faults.CheckPeers(t.cfg.Name, t.cfg.Key.Public().(ed25519.PublicKey), peers, checkKey)
	faults.CheckSame(t.cfg.Name, slices.Sorted(maps.Keys(t.peers)), peers)
	if err := faults.Err(); err != nil {
		return err
	}
	t.updating.Lock()
	defer t.updating.Unlock()
	for _, c := range peers {
		p := t.peers[c.Name]
		p.mu.Lock()
		p.setKeys(c.Keys)
		p.ring.expire() // the peer may have no key any more for what was sealed before
		p.mu.Unlock()
	}
	return nil
}

// Close implements [transport.Transport]. The broker already has the frames for which Send has returned.
func (t *Transport) Close() error {
	t.close.Do(func() {
		t.cancel()
		t.wg.Wait()
		t.link.conn.Close()
	})
	return nil
}

// Peers returns the state of every peer, sorted by name.
func (t *Transport) Peers() []transport.PeerStatus {
	l := t.link.state()
	var all []transport.PeerStatus
	for _, p := range t.sorted {
		p.mu.Lock()
		s := p.status
		p.mu.Unlock()
		s.Connected, s.Since, s.Where, s.Proxy, s.Lost, s.LostBy = l.up, l.since, l.where, l.proxy, l.ended, l.lostBy
		if l.err != nil {
			s.Err = l.err
		}
		all = append(all, s)
	}
	return all
}

// refuse notes that a message in a peer's name was refused. The log has the first hundred as warnings, and then one
// each time that their number has doubled: a broker must not be able to fill the disk.
func (t *Transport) refuse(p *peer, err error) {
	p.mu.Lock()
	p.status.Refusals++
	n := p.status.Refusals
	p.status.Err = err
	p.mu.Unlock()
	level := endpoint.Level(n > 100 && n&(n-1) != 0)
	t.cfg.Logger.Log(context.Background(), level, "message refused", "from", p.name, "reason", err, "refused", n)
}
