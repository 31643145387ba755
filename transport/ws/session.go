package ws

import (
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

var errReplaced = errors.New("replaced by a newer connection of the same peer")

// grantAt is from how many frames on the peer is told at once that there is room for them. Fewer are announced with the
// next frame or keepalive.
const grantAt = window / 2

// A session is one connection with a peer, from the hello on. Frames flow by credit: an end sends no more than the
// other end has room for. So the reader never waits for Recv, notices at once when the connection ends, and always sees
// the peer's keepalives.
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

// begin makes c the connection of p and ends an older one first. Pins may have changed since the handshake, which is
// the error: from here on [Transport.Update] finds the session.
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
			s.grant = window - p.queued
			p.mu.Unlock()
			return s, nil
		}
		p.mu.Unlock()
		old.end(errReplaced)
		<-old.over
	}
}

// detach lets the next session of the peer begin.
func (s *session) detach() {
	s.c.abort()
	s.p.mu.Lock()
	s.p.session = nil
	s.p.mu.Unlock()
	close(s.over)
}

// serve runs an authenticated connection from the hello to its end. It returns for how long frames could flow, 0 if not
// at all, and why that is over. settled is called when they can.
func (t *Transport) serve(p *peer, c *conn, where string, settled func()) (lasted time.Duration, err error) {
	defer c.abort()
	// The dialing end writes first: if both did, each could wait for ever for the other to read.
	if p.dial {
		err = t.sendHello(p, c)
	}
	if err == nil {
		err = t.receiveHello(p, c)
	}
	var s *session
	if err == nil {
		s, err = t.begin(p, c)
	}
	if err != nil {
		c.stop(err, t.timing.linger)
		return 0, err
	}
	defer s.detach()
	if err := s.settle(); err != nil {
		s.noteCause(err)
		c.stop(err, t.timing.linger)
		return 0, s.reason()
	}
	settled()
	c.tcp.keepAlive(t.timing.idle)
	t.connected(p, where)
	start := time.Now()
	s.run()
	t.disconnected(p, s.reason())
	return max(time.Since(start), 1), s.reason()
}

// settle finishes the exchange of hellos. The first credit says that the hello was accepted. From the hello of the
// dialing end to the credit of the other the ends take turns.
func (s *session) settle() error {
	if s.p.dial {
		if err := s.writeCredit(0); err != nil {
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
	return s.writeCredit(0)
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
	hello, err := t.hellos.For(p.name)
	if err != nil {
		return err
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
	if err := t.hellos.Check(p.name, hello); err != nil {
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
		s.noteCause(err)
		close(readOver)
		s.c.stop(err, s.t.timing.linger) // and with it a write that may be waiting
	}()
	err := s.write(readOver)
	if err != nil {
		s.noteCause(err)
	}
	select {
	case <-readOver:
	default:
		if errors.Is(err, transport.ErrClosed) {
			s.c.finish(s.t.timing.linger)
		}
		s.c.tcp.Close()
	}
	<-stopped
}

// read receives messages.
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
			if !s.p.enqueue() {
				return refusal{fmt.Errorf("a frame beyond the %d there is room for", window)}
			}
			frame := s.t.pool.take(n)
			if err := s.c.readBody(r, frame); err != nil {
				s.t.pool.put(frame)
				s.p.dequeue()
				return err
			}
			s.t.inbox.Put(s.p.name, frame)
		default:
			return refusal{errors.New("a second hello")}
		}
	}
}

// write sends frames, grants and keepalives until the connection fails, readOver is closed or the transport is. The
// error is nil if the reader knows what happened.
func (s *session) write(readOver <-chan struct{}) error {
	keepalive := time.NewTicker(s.t.timing.keepalive)
	defer keepalive.Stop()
	for {
		var out <-chan []byte
		if s.hasCredit() {
			if s.p.resend {
				s.t.log.Debug("sending a frame again", "peer", s.p.name, "bytes", len(s.p.frame))
				s.p.resend = false
				if err := s.writeFrame(); err != nil {
					s.t.log.Warn("frame lost", "peer", s.p.name, "bytes", len(s.p.frame))
					return err
				}
				continue
			}
			out = s.p.out
		}
		var err error
		select {
		case s.p.frame = <-out:
			err = s.writeFrame()
			s.p.resend = err != nil
		case <-s.wake:
			err = s.writeCredit(grantAt)
		case <-keepalive.C:
			err = s.writeCredit(0)
		case <-readOver:
			return nil
		case <-s.t.ctx.Done():
			err = transport.ErrClosed
		}
		if err != nil {
			return err
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

// writeCredit tells the peer how many more frames there is room for, if it is at least least.
func (s *session) writeCredit(least int) error {
	s.p.mu.Lock()
	enough := s.grant >= least
	s.p.mu.Unlock()
	if !enough {
		return nil
	}
	return s.c.write(kindCredit, s.takeGrant(), nil)
}

// takeGrant returns the room that the peer has not been told of.
func (s *session) takeGrant() (n int) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	n, s.grant = s.grant, 0
	return n
}

func (s *session) hasCredit() bool {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.credit > 0
}

func (s *session) addCredit(n int) {
	s.p.mu.Lock()
	s.credit = min(s.credit+n, endpoint.LargestMaxFrame)
	s.p.mu.Unlock()
	endpoint.Offer(s.wake, struct{}{})
}

// end ends the session for a reason.
func (s *session) end(cause error) {
	s.noteCause(cause)
	s.c.tcp.Close()
}

// noteCause notes why the session ends, if it is err. A decision of one of the ends explains more than the broken pipe
// that follows from it; apart from that the first reason counts.
func (s *session) noteCause(err error) {
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

// reason returns the cause noted.
func (s *session) reason() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.cause
}
