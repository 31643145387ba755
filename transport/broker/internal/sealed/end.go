package sealed

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

const (
	// MaxPiece is the maximum length, in bytes, of the piece of a frame that one message carries.
	MaxPiece = 256 << 10

	// Overhead is an upper bound on the bytes that a message adds to its piece.
	Overhead = overhead

	maxPieces = 1<<16 - 1 // of one frame

	window = endpoint.Window
)

// Config contains the settings that all broker transports share. The Config type of each transport documents the
// fields.
type Config struct {
	Prefix     string // prefix of errors, such as "nats"
	Name       string
	Key        ed25519.PrivateKey
	Peers      []transport.Peer
	Run        string
	Fleet      [32]byte
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error
	MaxFrame   int
	Logger     *slog.Logger

	// RepeatMin is how long to wait before repeating a frame that the broker already stores. The time doubles with each
	// repeat, up to RepeatMax. It starts at RepeatMin again when a message arrives from the peer.
	RepeatMin, RepeatMax time.Duration
}

// Check adds all errors in the configuration to faults.
func (c *Config) Check(faults *endpoint.Faults) {
	own := faults.CheckNode(c.Name, c.Key, c.MaxFrame)
	if c.Run == "" {
		faults.Add("Run is empty")
	}
	faults.CheckPeers(c.Name, own, c.Peers)
}

// End is a node's end of the connections to all its peers. It implements [transport.Transport] and
// [transport.Notifier].
type End struct {
	cfg      Config           // including defaults
	exchange *ecdh.PrivateKey // cfg.Key as an X25519 key
	process  uint64           // random, drawn at start
	line     Line

	peers    map[string]*peer
	byTag    map[string]*peer
	sorted   []*peer    // by name
	updating sync.Mutex // held by Update

	inbox  *endpoint.Inbox // for each peer its latest frames, at most window
	opened chan string

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
	finish func()
}

type peer struct {
	name    string
	out, in edge
	turn    chan struct{} // holds a token while a goroutine sends to this peer
	number  uint64        // number of the last frame sent; only the holder of turn may use it

	hello chan struct{} // holds a token while a hello is due

	// The next three fields are used only by the goroutine that calls Take.
	window   replays
	arriving assembly
	greeted  uint64 // the peer's process to which the hello was last sent again

	mu     sync.Mutex // guards the fields below
	pins   []ed25519.PublicKey
	seals  []*ecdh.PublicKey // the pinned keys as X25519 keys
	ring   ring
	status transport.PeerStatus
	store  storing
}

// NewEnd returns an [End] for a configuration that has passed [Config.Check]. The End does nothing until [End.Start] is
// called. NewEnd copies the slices in cfg.
func NewEnd(cfg Config, line Line) *End {
	var process [8]byte
	_, _ = rand.Read(process[:]) // never fails
	cfg.Key = slices.Clone(cfg.Key)
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, endpoint.DefaultMaxFrame)
	cfg.Logger = transport.Limited(cfg.Logger)
	if cfg.CheckHello == nil {
		cfg.CheckHello = endpoint.AnyHello
	}
	e := &End{
		cfg: cfg, exchange: endpoint.ExchangePrivate(cfg.Key), line: line, process: binary.BigEndian.Uint64(process[:]),
		peers: make(map[string]*peer), byTag: make(map[string]*peer),
		inbox: endpoint.NewInbox(), opened: make(chan string, 4*len(cfg.Peers)), finish: func() {},
	}
	for _, c := range cfg.Peers {
		p := &peer{name: c.Name, out: newEdge(cfg.Run, cfg.Name, c.Name), in: newEdge(cfg.Run, c.Name, cfg.Name),
			turn: make(chan struct{}, 1), hello: make(chan struct{}, 1), status: transport.PeerStatus{Name: c.Name, Broker: true},
			ring: ring{repeatMin: cfg.RepeatMin, repeatMax: cfg.RepeatMax}}
		p.setKeys(c.Keys)
		e.peers[c.Name], e.byTag[hex.EncodeToString(p.in.fromTag[:])] = p, p
		e.sorted = append(e.sorted, p)
	}
	slices.SortFunc(e.sorted, func(a, b *peer) int { return strings.Compare(a.name, b.name) })
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Start sends a hello to every peer in the background. If there are any peers, it also runs receive in a new goroutine.
// The function receive must return when the context from [End.Context] ends. [End.Close] waits for it to return and
// then calls finish.
func (e *End) Start(receive func(), finish func()) {
	e.finish = finish
	if len(e.sorted) > 0 {
		e.wg.Go(receive)
	}
	for _, p := range e.sorted {
		e.wg.Go(func() { e.sendHellos(p) })
		endpoint.Offer(p.hello, struct{}{})
	}
}

// Context returns a context that ends when [End.Close] is called.
func (e *End) Context() context.Context { return e.ctx }

// Log returns the end's logger.
func (e *End) Log() *slog.Logger { return e.cfg.Logger }

// Tags returns the tags of a run and of a member in that run, as hexadecimal text. Tags are hashes: the broker sees
// them instead of the names.
func Tags(run, member string) (ofRun, ofMember string) {
	return hex.EncodeToString(tag(16, run)), hex.EncodeToString(tag(8, run, member))
}

func (p *peer) setKeys(keys []ed25519.PublicKey) {
	p.pins, p.seals = nil, nil
	for _, k := range keys {
		public, _ := endpoint.ExchangePublic(k)
		p.pins, p.seals = append(p.pins, slices.Clone(k)), append(p.seals, public)
	}
}

// Opened implements [transport.Notifier]. The channel receives a peer's name when a hello from that peer arrives, and
// the names of all peers after the broker has lost stored messages.
func (e *End) Opened() <-chan string { return e.opened }

// MaxFrame implements [transport.Transport].
func (e *End) MaxFrame() int { return e.cfg.MaxFrame }

// Send implements [transport.Transport]. It waits until the broker confirms that it has stored the frame. If the broker
// already stores the frame and no repeat is due, Send returns nil immediately. The intervals between repeats grow while
// no message arrives from the peer.
func (e *End) Send(ctx context.Context, to string, frame []byte) error {
	p := e.peers[to]
	switch {
	case e.ctx.Err() != nil:
		return fmt.Errorf("%s: send to %q: %w", e.cfg.Prefix, to, transport.ErrClosed)
	case p == nil:
		return fmt.Errorf("%s: send to %q: not a neighbor of %q", e.cfg.Prefix, to, e.cfg.Name)
	case len(frame) > e.cfg.MaxFrame:
		return fmt.Errorf("%s: send to %q: frame of %d bytes, want at most %d", e.cfg.Prefix, to, len(frame), e.cfg.MaxFrame)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	if err := e.store(inner, p, frame); err != nil {
		switch {
		case e.ctx.Err() != nil:
			err = transport.ErrClosed
		case ctx.Err() != nil:
			err = ctx.Err()
			if why := e.obstacle(p); why != nil {
				err = fmt.Errorf("%w (%w)", err, why)
			}
		}
		return fmt.Errorf("%s: send to %q: %w", e.cfg.Prefix, to, err)
	}
	return nil
}

// store publishes a frame for a peer. It does nothing if the broker already stores the frame and no repeat is due.
func (e *End) store(ctx context.Context, p *peer, frame []byte) error {
	return e.inTurn(ctx, p, func() error {
		sum := sha256.Sum256(frame)
		p.mu.Lock()
		n, due := p.ring.find(sum, time.Now())
		again := p.ring.again(n, sum)
		p.mu.Unlock()
		if !due {
			return nil
		}
		if err := e.post(ctx, p, kindFrame, Message{Place: strconv.Itoa(n), Again: again}, frame); err != nil {
			return err
		}
		p.mu.Lock()
		p.ring.stored(n, sum, time.Now())
		p.mu.Unlock()
		return nil
	})
}

// inTurn calls do and returns its error. Calls for the same peer run one at a time.
func (e *End) inTurn(ctx context.Context, p *peer, do func() error) error {
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

// Pieces returns the number of pieces, each of at most size bytes, that a frame of the given length needs. It fails if
// this number is too large for the two-byte field in an envelope.
func Pieces(length, size int) (int, error) {
	if size < 1 {
		return 0, errors.New("a message of the broker's limit has no room for any byte of a frame")
	}
	if max(0, length-1)/size >= maxPieces { // not size*maxPieces, which could overflow a 32-bit int
		return 0, fmt.Errorf("a frame of %d bytes needs more than %d messages: the broker's message limit leaves "+
			"room for only %d bytes of the frame in each", length, maxPieces, size)
	}
	return max(1, (length+size-1)/size), nil
}

func (e *End) sendHellos(p *peer) {
	for {
		select {
		case <-p.hello:
		case <-e.ctx.Done():
			return
		}
		hello, err := endpoint.Hello(e.cfg.Hello, p.name)
		if err == nil {
			err = e.inTurn(e.ctx, p, func() error { return e.post(e.ctx, p, kindHello, Message{Place: "hello"}, hello) })
		}
		if err != nil && e.ctx.Err() == nil {
			e.cfg.Logger.Warn("hello not sent", "peer", p.name, "reason", err)
		}
	}
}

// ResendAll must be called after the broker has lost stored messages. It sends all hellos again, allows all frames to
// be repeated immediately, and sends the names of all peers to the channel that [End.Opened] returns.
func (e *End) ResendAll() {
	for _, p := range e.sorted {
		p.mu.Lock()
		p.ring.expire()
		p.mu.Unlock()
		endpoint.Offer(p.hello, struct{}{})
		endpoint.Offer(e.opened, p.name)
	}
}

// Recv implements [transport.Transport].
func (e *End) Recv(ctx context.Context) (from string, frame []byte, err error) {
	it, err := e.inbox.Take(ctx, e.ctx.Done())
	if err != nil {
		return "", nil, fmt.Errorf("%s: receive: %w", e.cfg.Prefix, err)
	}
	return it.From, it.Frame, nil
}

// Update replaces the keys of all peers. peers must contain exactly the peers passed to [NewEnd], in any order. If
// peers contains errors, Update returns all errors and changes nothing. After Update, replaced keys are used neither to
// accept messages nor to encrypt messages. Recv still returns frames that were accepted before. Update copies the
// slices.
func (e *End) Update(peers []transport.Peer) error {
	faults := endpoint.Faults{Prefix: e.cfg.Prefix + ": update: "}
	faults.CheckPeers(e.cfg.Name, e.cfg.Key.Public().(ed25519.PublicKey), peers)
	faults.CheckSame(slices.Sorted(maps.Keys(e.peers)), peers)
	if err := faults.Err(); err != nil {
		return err
	}
	e.updating.Lock()
	defer e.updating.Unlock()
	for _, c := range peers {
		p := e.peers[c.Name]
		p.mu.Lock()
		p.setKeys(c.Keys)
		p.ring.expire() // make all repeats due: the peer may lack the key for which the stored frames were encrypted
		p.mu.Unlock()
	}
	return nil
}

// Close implements [transport.Transport]. It need not wait for frames to be sent: once Send has returned, the broker
// has the frame.
func (e *End) Close() error {
	e.once.Do(func() {
		e.cancel()
		e.wg.Wait()
		e.finish()
	})
	return nil
}

// Peers returns the status of every peer, sorted by name.
func (e *End) Peers() []transport.PeerStatus {
	l := e.line.State()
	var all []transport.PeerStatus
	for _, p := range e.sorted {
		p.mu.Lock()
		s, store := p.status, p.store
		p.mu.Unlock()
		s.Connected, s.Since, s.Lost, s.LostBy = l.Up && store.err == nil, l.Since, l.Ended, l.LostBy
		if l.Up && store.since.After(l.Since) {
			s.Since = store.since
		}
		if s.Connected {
			s.Where, s.Proxy = l.Where, l.Proxy
		} else if err := cmp.Or(l.Err, store.err); err != nil {
			s.Err = err
		}
		all = append(all, s)
	}
	return all
}

// refuse counts a refused message that claims to come from p. It logs a warning for each of the first hundred refusals
// and then each time the count is a power of two, so that a broker cannot fill the disk.
func (e *End) refuse(p *peer, reason error) {
	err := fmt.Errorf("%s: %w", e.cfg.Prefix, reason)
	p.mu.Lock()
	p.status.Refusals++
	n := p.status.Refusals
	p.status.Err = err
	p.mu.Unlock()
	level := endpoint.Level(n > 100 && n&(n-1) != 0)
	e.cfg.Logger.Log(context.Background(), level, "message refused", "from", p.name, "reason", err, "refused", n)
}
