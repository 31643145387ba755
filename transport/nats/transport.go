package nats

import (
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport"
)

// Transport is a node's end of its edges. It implements [transport.Transport].
type Transport struct {
	name       string
	key        ed25519.PrivateKey
	exchange   *ecdh.PrivateKey // the same key on the other form of the curve
	run        string
	fleet      [32]byte
	life       uint64
	maxFrame   int
	hello      func(peer string) []byte
	checkHello func(peer string, hello []byte) error
	log        *slog.Logger
	timing     timing

	peers    map[string]*peer
	byTag    map[string]*peer // by the tag in a subject
	sorted   []*peer          // by name
	updating sync.Mutex       // held by Update

	link   link
	inbox  inbox
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
	turn    chan struct{} // holds a token while somebody sends to this peer
	number  uint64        // of the last frame sent; belongs to whoever has the turn

	greeting chan struct{} // holds a token while the peer has to be told who we are

	// These belong to the reader.
	window   replays
	arriving assembly
	greeted  uint64 // the last life that was told again who we are

	mu     sync.Mutex // of what follows
	pins   []ed25519.PublicKey
	seals  []*ecdh.PublicKey // the pins on the other form of the curve
	ring   ring
	status PeerStatus
}

// New checks the whole configuration, reporting all faults at once, and starts to connect; the broker need not be there yet. The
// slices in cfg are copied.
func New(cfg Config) (*Transport, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	exchange, err := exchangePrivate(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	var life [8]byte
	if _, err := rand.Read(life[:]); err != nil { // never, see crypto/rand
		return nil, fmt.Errorf("nats: %w", err)
	}
	t := &Transport{
		name: cfg.Name, key: slices.Clone(cfg.Key), exchange: exchange, run: cfg.Run, fleet: cfg.Fleet, life: binary.BigEndian.Uint64(life[:]),
		maxFrame: cfg.MaxFrame, hello: cfg.Hello, checkHello: cfg.CheckHello, log: cfg.Logger, timing: cfg.timing,
		peers: make(map[string]*peer), byTag: make(map[string]*peer), opened: make(chan string, 4*len(cfg.Peers)),
		inbox: inbox{ready: make(chan struct{}, 1)},
	}
	if t.maxFrame == 0 {
		t.maxFrame = DefaultMaxFrame
	}
	if t.timing == (timing{}) {
		t.timing = defaultTiming
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	for _, c := range cfg.Peers {
		p := &peer{
			name: c.Name, out: newEdge(t.run, t.name, c.Name), in: newEdge(t.run, c.Name, t.name),
			turn: make(chan struct{}, 1), greeting: make(chan struct{}, 1), ring: ring{timing: &t.timing}, status: PeerStatus{Name: c.Name},
		}
		p.setKeys(c.Keys)
		t.peers[c.Name], t.byTag[hexTag(p.in.fromTag)] = p, p
		t.sorted = append(t.sorted, p)
	}
	slices.SortFunc(t.sorted, func(a, b *peer) int { return strings.Compare(a.name, b.name) })
	t.ctx, t.cancel = context.WithCancel(context.Background())
	runTag := hexTag(tag(16, t.run))
	t.link.timing, t.link.log, t.link.wiped = &t.timing, t.log, t.wiped
	t.link.frames = func(piece int) int64 { return int64(max(1, (t.maxFrame+piece-1)/piece)) }
	t.link.want = jetstream.StreamConfig{
		Name: Stream(t.run), Subjects: []string{"spade." + runTag + ".*.*.*"}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxAge: cfg.MaxAge, MaxBytes: cfg.MaxBytes,
	}
	if cfg.MaxAge == 0 {
		t.link.want.MaxAge = DefaultMaxAge
	}
	if cfg.MaxBytes == 0 {
		t.link.want.MaxBytes = -1
	}
	if err := t.link.connect(&cfg, hexTag(tag(8, t.run, t.name))); err != nil {
		t.cancel()
		return nil, err
	}
	if len(t.sorted) > 0 {
		t.wg.Go(t.receiveAll)
	}
	for _, p := range t.sorted {
		t.wg.Go(func() { t.greetAll(p) })
		p.greet()
	}
	return t, nil
}

// Stream returns the name of a run's stream at the broker.
func Stream(run string) string { return "SPADE-" + hexTag(tag(16, run)) }

// Subjects returns the pattern of the subjects on which a member of a run publishes, and which nobody else needs to.
func Subjects(run, member string) string {
	return "spade." + hexTag(tag(16, run)) + "." + hexTag(tag(8, run, member)) + ".*.*"
}

// subject is where the messages of an edge lie. What place tells apart are the frames that wait side by side.
func subject(e *edge, place string) string {
	return "spade." + hexTag(e.runTag) + "." + hexTag(e.fromTag) + "." + hexTag(e.toTag) + "." + place
}

// setKeys pins keys that are known to be good.
func (p *peer) setKeys(keys []ed25519.PublicKey) {
	p.pins, p.seals = nil, nil
	for _, k := range keys {
		public, _ := exchangePublic(k)
		p.pins, p.seals = append(p.pins, slices.Clone(k)), append(p.seals, public)
	}
}

// Opened implements [transport.Notifier]. A name comes when a process of that member says that it has started, and when the broker
// has lost what lay there.
func (t *Transport) Opened() <-chan string { return t.opened }

// MaxFrame implements [transport.Transport].
func (t *Transport) MaxFrame() int { return t.maxFrame }

// Send implements [transport.Transport]. A nil error means that the broker has said to keep the frame, and until then Send waits: for a
// connection as well. A frame that the broker has is not given to it again for a while, which gets longer, up to a
// minute, as long as nothing is heard of the peer.
func (t *Transport) Send(ctx context.Context, to string, frame []byte) error {
	p := t.peers[to]
	switch {
	case t.ctx.Err() != nil:
		return fmt.Errorf("nats: send to %q: %w", to, transport.ErrClosed)
	case p == nil:
		return fmt.Errorf("nats: send to %q: not a neighbor of %q", to, t.name)
	case len(frame) > t.maxFrame:
		return fmt.Errorf("nats: send to %q: frame of %d bytes, want at most %d", to, len(frame), t.maxFrame)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	if err := t.lay(inner, p, frame); err != nil {
		switch {
		case t.ctx.Err() != nil:
			err = transport.ErrClosed
		case ctx.Err() != nil:
			err = ctx.Err()
			if up, _, _, cause := t.link.state(); !up && cause != nil {
				err = fmt.Errorf("%w (%w)", err, cause)
			}
		}
		return fmt.Errorf("nats: send to %q: %w", to, err)
	}
	return nil
}

// lay gives the broker a frame for a peer, unless it has it.
func (t *Transport) lay(ctx context.Context, p *peer, frame []byte) error {
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
		p.ring.lay(n, sum, time.Now())
		p.mu.Unlock()
		return nil
	})
}

// inTurn does something that nobody else may do for the same peer meanwhile.
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
	h := header{kind: kind, fleet: t.fleet, life: t.life, number: p.number, total: max(1, (len(frame)+size-1)/size), length: len(frame)}
	if h.total > 1<<16-1 {
		return fmt.Errorf("a frame of %d bytes in messages of at most %d, which the broker takes, would be too many", len(frame), t.link.conn.MaxPayload())
	}
	p.mu.Lock()
	seals := p.seals
	p.mu.Unlock()
	where := subject(&p.out, place)
	for h.index = range h.total {
		from, to := h.piece()
		b, err := seal(&p.out, h, t.key, seals, frame[from:to])
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

// greet has a peer told who we are.
func (p *peer) greet() {
	select {
	case p.greeting <- struct{}{}:
	default:
	}
}

// greetAll tells a peer who we are each time that it has to be told.
func (t *Transport) greetAll(p *peer) {
	for {
		select {
		case <-p.greeting:
		case <-t.ctx.Done():
			return
		}
		var hello []byte
		if t.hello != nil {
			hello = t.hello(p.name)
		}
		var err error
		if len(hello) > maxHello {
			err = fmt.Errorf("it has %d bytes, want at most %d", len(hello), maxHello)
		} else {
			err = t.inTurn(t.ctx, p, func() error { return t.post(t.ctx, p, kindHello, "hello", hello) })
		}
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("hello not sent", "peer", p.name, "reason", err)
		}
	}
}

// wiped says that the broker has lost what was laid.
func (t *Transport) wiped() {
	for _, p := range t.sorted {
		p.mu.Lock()
		p.ring.doubt()
		p.mu.Unlock()
		p.greet()
		select {
		case t.opened <- p.name:
		default:
		}
	}
}

// Recv implements [transport.Transport].
func (t *Transport) Recv(ctx context.Context) (from string, frame []byte, err error) {
	for {
		if t.ctx.Err() != nil {
			return "", nil, fmt.Errorf("nats: receive: %w", transport.ErrClosed)
		}
		if err := ctx.Err(); err != nil {
			return "", nil, fmt.Errorf("nats: receive: %w", err)
		}
		if it, ok := t.inbox.take(); ok {
			return it.from, it.frame, nil
		}
		select {
		case <-t.inbox.ready:
		case <-ctx.Done():
		case <-t.ctx.Done():
		}
	}
}

// Update replaces the keys of all peers, in any order, as they were given to [New]. Who the peers are cannot change: each must be
// there once, and no other. All faults are reported at once, and after an error nothing has changed. From then on nothing is taken
// that an older key has signed, and nothing sealed for one; what Recv has not taken yet it still hands out. The slices are
// copied.
func (t *Transport) Update(peers []Peer) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("nats: update: "+format, args...)) }
	checkPeers(t.name, t.key.Public().(ed25519.PublicKey), peers, fault)
	given := make(map[string]bool)
	for _, c := range peers {
		given[c.Name] = true
		if t.peers[c.Name] == nil && c.Name != "" && c.Name != t.name {
			fault("%q is no peer of %q: who the peers are cannot change", c.Name, t.name)
		}
	}
	for _, p := range t.sorted {
		if !given[p.name] {
			fault("peer %q is missing: who the peers are cannot change", p.name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	t.updating.Lock()
	defer t.updating.Unlock()
	for _, c := range peers {
		p := t.peers[c.Name]
		p.mu.Lock()
		p.setKeys(c.Keys)
		p.ring.doubt() // what was sealed for a key before may not be opened any more
		p.mu.Unlock()
	}
	return nil
}

// Close implements [transport.Transport]. What Send has returned for is at the broker already.
func (t *Transport) Close() error {
	t.close.Do(func() {
		t.cancel()
		t.wg.Wait()
		t.link.conn.Close()
	})
	return nil
}
