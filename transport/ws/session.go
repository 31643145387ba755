package ws

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

var errReplaced = errors.New("replaced by a newer connection of the same peer")

// peer is what the transport knows of a neighbor, connected or not.
type peer struct {
	name string
	dial bool // it is on us to dial

	out  chan []byte   // from Send to the session that has credit
	kick chan struct{} // a token tells the dialler that there are other addresses

	count tally // of all connections

	mu        sync.Mutex
	keys      []ed25519.PublicKey // the slice is not changed any more, nor is the next
	addresses []address
	session   *session // the one that may read and write frames, or nil
	held      int      // frames received that Recv has not handed out
	status    PeerStatus
	reported  map[string]bool // failures already logged as warnings

	// The rest belongs to the current session's writer.
	frame []byte // the one being sent
	again bool   // the last connection broke while it was being sent
}

// grantAt is from how many frames on the peer is told at once that there is room for them. Fewer go along with the next frame
// or sign of life.
const grantAt = window / 2

// took notes that Recv has handed out a frame, and lets the peer send another.
func (p *peer) took() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held--
	if s := p.session; s != nil {
		if s.grant++; s.grant >= grantAt {
			s.nudge()
		}
	}
}

// A session is one connection with a peer, from the hello on. Frames flow by credit: an end sends no more than the other
// end has room for. So the reader never waits for Recv, notices at once when the connection ends, and always sees the
// peer's signs of life.
type session struct {
	t    *Transport
	p    *peer
	c    *conn
	wake chan struct{} // a token tells the writer that grant or credit has changed
	over chan struct{} // closed when the session no longer touches the peer

	// Guarded by peer.mu.
	grant  int   // frames we can take beyond those already allowed
	credit int   // frames the peer lets us send
	cause  error // why it ends
}

func (s *session) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// begin makes c the connection of p. An older one is ended first. Pins may have changed since the handshake, which is the
// error: from here on [Transport.Update] finds the session.
func (t *Transport) begin(p *peer, c *conn) (*session, error) {
	s := &session{t: t, p: p, c: c, wake: make(chan struct{}, 1), over: make(chan struct{})}
	for {
		p.mu.Lock()
		if !hasKey(p.keys, c.key) {
			p.mu.Unlock()
			return nil, refusal{errUnpinned}
		}
		old := p.session
		if old == nil {
			p.session = s
			s.grant = window - p.held
			p.mu.Unlock()
			return s, nil
		}
		p.mu.Unlock()
		old.blame(errReplaced)
		old.c.tcp.Close()
		<-old.over
	}
}

// finish gives the peer free for the next session.
func (s *session) finish() {
	s.c.kill()
	s.p.mu.Lock()
	s.p.session = nil
	s.p.mu.Unlock()
	close(s.over)
}

// serve runs an authenticated connection from the hello to its end. It returns for how long frames could flow, 0 if not at
// all, and why that is over. settled is called when they can.
func (t *Transport) serve(p *peer, c *conn, where string, settled func()) (lasted time.Duration, err error) {
	defer c.kill()
	// The dialler speaks first: if both ends wrote first, both could wait for ever for the other to read.
	if p.dial {
		err = t.sendHello(p, c)
	}
	if err == nil {
		err = t.receiveHello(p, c)
	}
	if err != nil {
		c.stop(err, t.timing.linger)
		return 0, err
	}
	s, err := t.begin(p, c)
	if err != nil {
		c.stop(err, t.timing.linger)
		return 0, err
	}
	defer s.finish()
	if err := s.settle(); err != nil {
		s.blame(err)
		c.stop(err, t.timing.linger)
		return 0, s.why()
	}
	settled()
	c.tcp.pace(t.timing.silence)
	t.connected(p, where)
	start := time.Now()
	s.run()
	t.disconnected(p, s.why())
	return max(time.Since(start), 1), s.why()
}

// settle finishes the exchange of hellos. The first credit says that the hello was accepted. From the dialler's hello to the
// listener's credit the ends take turns.
func (s *session) settle() error {
	if s.p.dial {
		if err := s.c.write(kindCredit, s.takeGrant(), nil); err != nil {
			return err
		}
		return s.firstCredit()
	}
	if err := s.t.sendHello(s.p, s.c); err != nil {
		return err
	}
	if err := s.firstCredit(); err != nil {
		return err
	}
	return s.c.write(kindCredit, s.takeGrant(), nil)
}

func (s *session) firstCredit() error {
	k, n, r, err := s.c.next()
	if err != nil {
		return err
	}
	if k != kindCredit {
		return refusal{fmt.Errorf("a message of kind %q after the hello, want %q", k, kindCredit)}
	}
	s.addCredit(n)
	return s.c.readBody(r, nil)
}

func (t *Transport) sendHello(p *peer, c *conn) error {
	var hello []byte
	if t.hello != nil {
		hello = t.hello(p.name)
	}
	if len(hello) > maxHello {
		return fmt.Errorf("our hello has %d bytes, want at most %d", len(hello), maxHello)
	}
	return c.write(kindHello, len(hello), hello)
}

func (t *Transport) receiveHello(p *peer, c *conn) error {
	k, n, r, err := c.next()
	if err != nil {
		return err
	}
	if k != kindHello {
		return refusal{fmt.Errorf("the first message is of kind %q, want %q", k, kindHello)}
	}
	hello := make([]byte, n)
	if err := c.readBody(r, hello); err != nil {
		return err
	}
	if t.checkHello == nil {
		return nil
	}
	if err := t.checkHello(p.name, hello); err != nil {
		return refusal{fmt.Errorf("%w: %w", errHello, err)}
	}
	return nil
}

// run moves frames both ways until the connection ends.
func (s *session) run() {
	readOver, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		err := s.read()
		s.blame(err)
		close(readOver)
		s.c.stop(err, s.t.timing.linger) // and with it a write that may be waiting
	}()
	err := s.write(readOver)
	if err != nil {
		s.blame(err)
	}
	select {
	case <-readOver:
	default:
		if errors.Is(err, transport.ErrClosed) {
			s.c.leave(s.t.timing.linger)
		}
		s.c.tcp.Close()
	}
	<-stopped
}

// read takes in messages.
func (s *session) read() error {
	for {
		k, n, r, err := s.c.next()
		if err != nil {
			return err
		}
		switch k {
		case kindCredit:
			if err := s.c.readBody(r, nil); err != nil {
				return err
			}
			s.addCredit(n)
		case kindFrame:
			if err := s.hold(); err != nil {
				return err
			}
			frame := s.t.shelf.take(n)
			if err := s.c.readBody(r, frame); err != nil {
				s.t.shelf.put(frame)
				s.release()
				return err
			}
			s.t.inbox <- item{s.p, frame} // never waits: it has room for window frames of every peer
		default:
			return refusal{errors.New("a second hello")}
		}
	}
}

// write sends frames, grants and signs of life until the connection fails, readOver is closed or the transport is. The error
// is nil if it is for the reader to say what happened.
func (s *session) write(readOver <-chan struct{}) error {
	beat := time.NewTicker(s.t.timing.beat)
	defer beat.Stop()
	for {
		var out <-chan []byte
		if s.hasCredit() {
			if s.p.again {
				s.t.log.Debug("sending a frame again", "peer", s.p.name, "bytes", len(s.p.frame))
				s.p.again = false
				if err := s.writeFrame(); err != nil {
					s.t.log.Warn("frame lost", "peer", s.p.name, "bytes", len(s.p.frame))
					return err
				}
				continue
			}
			out = s.p.out
		}
		select {
		case s.p.frame = <-out:
			if err := s.writeFrame(); err != nil {
				s.p.again = true
				return err
			}
		case <-s.wake:
			if n := s.takeGrantFrom(grantAt); n > 0 {
				if err := s.c.write(kindCredit, n, nil); err != nil {
					return err
				}
			}
		case <-beat.C:
			if err := s.c.write(kindCredit, s.takeGrant(), nil); err != nil {
				return err
			}
		case <-readOver:
			return nil
		case <-s.t.ctx.Done():
			return transport.ErrClosed
		}
	}
}

func (s *session) writeFrame() error {
	s.p.mu.Lock()
	s.credit--
	s.p.mu.Unlock()
	err := s.c.writeFrame(s.takeGrant(), s.p.frame)
	if err == nil {
		s.p.frame = nil
	}
	return err
}

func (s *session) hasCredit() bool {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.credit > 0
}

func (s *session) addCredit(n int) {
	s.p.mu.Lock()
	s.credit = min(s.credit+n, largestMaxFrame)
	s.p.mu.Unlock()
	s.nudge()
}

func (s *session) takeGrant() int { return s.takeGrantFrom(0) }

// takeGrantFrom returns the room that the peer has not been told of, or 0 if that is less than least.
func (s *session) takeGrantFrom(least int) int {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.grant < least {
		return 0
	}
	n := s.grant
	s.grant = 0
	return n
}

// hold reserves room for a frame.
func (s *session) hold() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.held == window {
		return refusal{fmt.Errorf("a frame beyond the %d there is room for", window)}
	}
	s.p.held++
	return nil
}

func (s *session) release() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.held--
}

// blame notes why the session ends, if it is err. What one of the ends has decided, or said, explains more than the
// broken pipe it left; beyond that the first reason counts.
func (s *session) blame(err error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.cause == nil || deliberate(err) && !deliberate(s.cause) {
		s.cause = err
	}
}

func deliberate(err error) bool {
	return errors.Is(err, transport.ErrClosed) || errors.Is(err, errReplaced) || errors.Is(err, errUnpinned) ||
		errors.As(err, new(closedError)) || errors.As(err, new(refusal))
}

// why returns the reason noted.
func (s *session) why() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.cause
}
