package ws

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// peer is the transport's state for one neighbor, whether connected or not.
type peer struct {
	name    string
	own     ed25519.PrivateKey         // this node's key
	config  atomic.Pointer[settings]   // replaced, never modified
	met     atomic.Pointer[netip.Addr] // from where the peer last completed an opening; nil if never, or if behind a proxy
	out     chan []byte                // passes frames from Send to a session that has credit
	redial  chan struct{}              // a token ends the wait before the next dial
	turn    chan struct{}              // holds a token while a connection is about to begin, see session.open
	traffic traffic                    // bytes over all connections
	meter   meter                      // data outside of frames over all connections

	mu       sync.Mutex
	session  *session // the session that may read and write frames, or nil
	queued   int      // received frames that Recv has not returned yet
	status   transport.PeerStatus
	reported map[string]bool // errors already logged as warnings

	passed  atomic.Int32 // frames that Send passes to the channel out and that are not written yet
	writing sync.Mutex   // guards the fields below; held during a write
	writer  *session     // the session that may write frames, or nil
	frame   []byte       // the frame during which the last connection broke, if resend
	resend  bool
}

type settings struct {
	Peer
	secrets [][]byte     // one per pinned key, for pre-authentication tokens; nil for an unsuitable key
	sources []netip.Addr // of the addresses that are IP addresses
}

// configure replaces a peer's keys and addresses, which must be valid. It reports whether they changed, and returns the
// current session or nil.
func (p *peer) configure(c Peer) (changed bool, s *session) {
	next := &settings{Peer: c}
	next.Keys, next.Addresses = slices.Clone(c.Keys), slices.Clone(c.Addresses)
	for i, k := range c.Keys {
		next.Keys[i] = slices.Clone(k)
		next.secrets = append(next.secrets, tokenSecret(p.own, k))
	}
	for _, a := range c.Addresses {
		host, _, _ := transport.ParseAddress(a)
		if ip, err := netip.ParseAddr(host); err == nil {
			next.sources = append(next.sources, sourceOf(ip))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.config.Swap(next)
	same := old != nil && slices.Equal(old.Addresses, c.Addresses) &&
		slices.EqualFunc(old.Keys, c.Keys, func(a, b ed25519.PublicKey) bool { return a.Equal(b) })
	return !same, p.session
}

func (p *peer) pins(key ed25519.PublicKey) bool {
	return slices.ContainsFunc(p.config.Load().Keys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

// current returns the current session, or nil if there is none.
func (p *peer) current() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// enqueue reserves a place in the inbox for a frame from the peer. It returns false if no place is left.
func (p *peer) enqueue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queued == window {
		return false
	}
	p.queued++
	return true
}

// dequeue frees the place of a frame in the inbox. handedOut reports whether Recv returned the frame; if so, the peer
// gets credit for another frame.
func (p *peer) dequeue(handedOut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued--
	if s := p.session; handedOut && s != nil && s.grant.Add(1) >= grantAt {
		endpoint.Offer(s.wake, struct{}{})
	}
}

// setWriter makes s the session whose goroutine may write frames.
func (p *peer) setWriter(s *session) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.writer = s
}

// short is the maximum length, in bytes, of a frame that Send writes itself.
const short = 4 << 10

// sendNow writes a short frame in the goroutine of the caller, which spares it waking another one, and reports whether it
// did. It does not overtake a frame. It leaves one frame of the credit to the session's own goroutine, which may already
// wait for a frame.
//
// The write does not wait: sendNow does nothing if the peer may not have received a long frame or three frames yet, so
// the system has room. A peer that grants credit without receiving can make the write wait, but only until the linger
// timeout, which ends the connection.
func (p *peer) sendNow(frame []byte) bool {
	if len(frame) > short || !p.writing.TryLock() {
		return false
	}
	defer p.writing.Unlock()
	s := p.writer
	if s == nil || p.resend || p.passed.Load() > 0 {
		return false
	}
	if credit := s.credit.Load(); credit < 2 || credit > window || s.long > s.sent+credit-window {
		return false
	}
	if err := s.writeFrame(frame, s.c.linger); err != nil {
		s.end(err)
	}
	return true
}

// Peers returns the status of every peer, sorted by name.
func (t *Transport) Peers() []transport.PeerStatus {
	var all []transport.PeerStatus
	for _, p := range t.sorted {
		all = append(all, p.now())
	}
	return all
}

var errNoAddress = errors.New("the peer has no address and has not connected to this node")

func (p *peer) now() transport.PeerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	if !s.Connected && s.Err == nil && len(p.config.Load().Addresses) == 0 {
		s.Err = errNoAddress
	}
	s.Sent, s.Received = p.traffic.sent.Load(), p.traffic.received.Load()
	return s
}

func (p *peer) state() string {
	s := p.now()
	return s.State()
}

// connected records that frames can now flow on a connection.
func (t *Transport) connected(p *peer, c *conn, where string) {
	how := "accepted"
	if c.dialed != "" {
		how = "dialed"
	}
	if from := remoteSource(c.tcp); c.via == "" && from.IsValid() {
		p.met.Store(&from)
	}
	p.mu.Lock()
	p.status.Connected, p.status.Since, p.status.Where, p.status.Refused = true, time.Now(), where, nil
	p.status.How, p.status.Proxy = how, c.via
	p.reported = nil
	p.mu.Unlock()
	t.cfg.Logger.Info("connected", "peer", p.name, how, where)
	endpoint.Offer(t.opened, p.name)
}

// disconnected records the end of a connection on which frames could flow.
func (t *Transport) disconnected(p *peer, err error) {
	p.mu.Lock()
	p.status.Connected, p.status.Since, p.status.Where, p.status.Err = false, time.Now(), "", err
	p.status.How, p.status.Proxy = "", ""
	p.status.Lost++
	p.status.LostBy = err
	p.mu.Unlock()
	t.cfg.Logger.Info("disconnected", "peer", p.name, "reason", err)
}

// brief shortens the text of an error that may quote data from a peer, so that a peer cannot fill the log or the
// status.
type brief struct{ error }

func (b brief) Error() string { return shorten(b.error.Error(), 1000) }

func (b brief) Unwrap() error { return b.error }

// failed records a failed attempt to connect, unless another connection exists by now. Between two successful
// connections, it logs each reason as a warning only once.
func (t *Transport) failed(p *peer, where string, err error) {
	if t.ctx.Err() != nil {
		return
	}
	err = brief{err}
	text := err.Error()
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		text = op.Err.Error() // omits port numbers, which differ at each attempt
	}
	p.mu.Lock()
	if p.session != nil || errors.Is(err, errCrossed) {
		p.mu.Unlock()
		t.cfg.Logger.Debug("gave up a second connection", "peer", p.name, "at", where, "reason", err)
		return
	}
	p.status.Err = fmt.Errorf("%s: %w", where, err)
	if errors.Is(err, errHello) {
		p.status.Refused = p.status.Err
	}
	repeated := p.reported[text]
	if p.reported == nil || len(p.reported) > 16 {
		p.reported = make(map[string]bool)
	}
	p.reported[text] = true
	p.mu.Unlock()
	level := endpoint.Level(repeated)
	t.cfg.Logger.Log(context.Background(), level, "no connection", "peer", p.name, "at", where, "reason", err)
}
