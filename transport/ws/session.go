package ws

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

var (
	// errHello is the error for a refused hello. The end that sent the hello recognizes the refusal by this text.
	errHello = errors.New("hello refused")

	errReplaced = errors.New("replaced by a newer connection of the same peer")
	errUnpinned = errors.New("the key of this connection is no longer pinned")
	errMoved    = errors.New("the peer's address has changed")

	// errCrossed is the error for closing one of two connections that were made at the same time. The other end
	// recognizes this error by its text.
	errCrossed = errors.New("another connection between the two exists")
)

// These constants determine when the writer grants the peer room for more frames: with the next frame that it sends if
// there is room for at least grantWith frames, immediately if there is room for at least grantAt frames, and otherwise
// with the next keepalive.
const (
	grantWith = window / 2
	grantAt   = window - 1
)

// session is one connection to a peer. Each end may send only as many frames as the other end has granted (its credit).
// So the reader never has to wait for Recv: it always receives keepalives, and it detects the end of the connection
// immediately.
type session struct {
	t      *Transport
	p      *peer
	c      *conn
	grant  atomic.Int64  // frames that this end has room for and has not yet granted
	credit atomic.Int64  // frames that this end may still send
	wake   chan struct{} // a token tells the writer that grant or credit changed
	over   chan struct{} // closed when the session has released the peer
	sent   int64         // number of frames written; guarded by peer.writing
	long   int64         // number of the last frame written that was not short; guarded by peer.writing
	turns  bool          // whether the session holds the peer's turn, see open
	cause  error         // why the session ends; guarded by peer.mu
}

// serve runs an authenticated connection, from the hello until the connection ends. It calls settled when frames can
// flow. It returns how long frames could flow (0 if never) and why the connection ended.
func (t *Transport) serve(p *peer, c *conn, where string, settled func()) (lasted time.Duration, err error) {
	s := &session{t: t, p: p, c: c, wake: make(chan struct{}, 1), over: make(chan struct{})}
	defer s.detach()
	defer s.yield()
	if err := s.open(); err != nil {
		s.noteCause(err)
		c.stop(err, nil)
		return 0, s.reason()
	}
	s.yield()
	settled()
	c.tcp.keepAlive(t.cfg.timing.idle)
	t.connected(p, c, where)
	start := time.Now()
	s.run()
	t.disconnected(p, s.reason())
	return max(time.Since(start), 1), s.reason()
}

func (s *session) sendHello() error {
	hello, err := endpoint.Hello(s.t.cfg.Hello, s.p.name)
	if err != nil {
		return err
	}
	return s.c.write(0, message{kindHello, len(hello), hello})
}

func (s *session) receiveHello() error {
	n, err := s.expect("the first message", kindHello)
	if err != nil {
		return err
	}
	hello := make([]byte, n)
	if err := s.c.readBody(hello); err != nil {
		return err
	}
	if err := s.t.cfg.CheckHello(s.p.name, hello); err != nil {
		return refusal{fmt.Errorf("%w: %w", errHello, err)}
	}
	if !s.p.pins(s.c.key) {
		return refusal{errUnpinned}
	}
	return nil
}

// open performs the steps that open a session, in order. The two ends take turns writing: if both wrote at the same
// time, each could wait indefinitely for the other to read. The first credit confirms that the hello was accepted.
//
// Both ends may dial, so two connections can be opened at the same time. Only the end whose name sorts lower (the lower
// end) decides which connection to use, and it begins one connection at a time. The higher end learns of the decision
// from the first credit. If the lower end dialed, it closes the new connection if another connection has begun in the
// meantime. If the higher end dialed, the lower end sends its hello only when no other connection is about to begin.
// The higher end then confirms that it still has no session, because the two ends may detect the loss of their old
// connection at different times. So a connection on which frames flow is replaced only if one of its ends has lost it.
func (s *session) open() error {
	lower, dialed := s.t.cfg.Name < s.p.name, s.c.dialed != ""
	for _, step := range []struct {
		taken bool
		do    func() error
	}{
		{dialed, s.sendHello},
		{true, s.receiveHello},
		{lower, s.turn},
		{dialed, s.confirm},
		{!dialed, s.sendHello},
		{dialed && !lower, func() error { return s.c.write(0, message{kindCredit, 0, nil}) }}, // the hello was accepted
		{!dialed || !lower, s.firstCredit},
		{true, s.begin},
		{true, s.sendCredit},
		{dialed && lower, s.firstCredit},
	} {
		if step.taken {
			if err := step.do(); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn waits until no other connection to the peer is about to begin.
func (s *session) turn() error {
	late := time.NewTimer(s.t.cfg.timing.handshake)
	defer late.Stop()
	select {
	case s.p.turn <- struct{}{}:
		s.turns = true
		return nil
	case <-late.C:
		return errors.New("another connection to this peer is stuck while opening")
	case <-s.t.ctx.Done():
		return transport.ErrClosed
	}
}

func (s *session) yield() {
	if s.turns {
		s.turns = false
		<-s.p.turn
	}
}

// confirm refuses the connection with an error if the peer already has a session.
func (s *session) confirm() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.session != nil {
		return refusal{errCrossed}
	}
	return nil
}

// begin ends the peer's previous session, if any, and makes s the current session. It fails if the key of this
// connection is no longer pinned. After begin has returned, [Transport.Update] can end the session.
func (s *session) begin() error {
	for {
		s.p.mu.Lock()
		old, pinned := s.p.session, s.p.pins(s.c.key)
		if pinned && old == nil {
			s.p.session = s
			s.grant.Store(int64(window - s.p.queued))
		}
		s.p.mu.Unlock()
		if !pinned {
			return refusal{errUnpinned}
		}
		if old == nil {
			return nil
		}
		old.end(errReplaced)
		<-old.over
	}
}

// detach ends the connection and allows another session with the peer to begin.
func (s *session) detach() {
	s.c.tcp.Close()
	s.p.mu.Lock()
	if s.p.session == s {
		s.p.session = nil
	}
	s.p.mu.Unlock()
	close(s.over)
}

func (s *session) firstCredit() error {
	n, err := s.expect("the message after the hello", kindCredit)
	if err != nil {
		return err
	}
	return s.takeCredit(n)
}

// expect reads the header of the next message while the session is being opened. It fails unless the message has the
// given kind.
func (s *session) expect(which string, want kind) (number int, err error) {
	k, number, err := s.c.next()
	if err == nil && k != want {
		err = refusal{fmt.Errorf("%s has kind %q, want %q", which, k, want)}
	}
	return number, err
}

// sendCredit grants the peer as many further frames as there is new room for. A grant of 0 serves as a keepalive.
func (s *session) sendCredit() error {
	s.p.writing.Lock()
	defer s.p.writing.Unlock()
	return s.c.write(0, message{kindCredit, int(s.grant.Swap(0)), nil})
}

func (s *session) run() {
	readOver, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		err := s.read()
		s.noteCause(err)
		close(readOver)
		s.c.stop(err, nil) // also ends a write that is waiting
	}()
	err := s.write(readOver)
	if err != nil {
		s.noteCause(err)
	}
	select {
	case <-readOver:
	default:
		s.c.stop(err, readOver)
	}
	<-stopped
}

func (s *session) read() error {
	for {
		k, n, err := s.c.next()
		switch {
		case err != nil:
		case k == kindCredit:
			err = s.takeCredit(n)
		case k == kindFrame:
			err = s.takeFrame(n)
		default:
			err = refusal{errors.New("received a second hello")}
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) takeCredit(n int) error {
	if err := s.c.readBody(nil); err != nil {
		return err
	}
	if s.credit.Add(int64(n)) == int64(n) {
		endpoint.Offer(s.wake, struct{}{}) // the writer may wait for credit
	}
	return nil
}

func (s *session) takeFrame(n int) error {
	if !s.p.enqueue() {
		return refusal{fmt.Errorf("received more frames than the %d that the receiver has room for", window)}
	}
	frame := s.t.newFrame(n)
	if err := s.c.readBody(frame); err != nil {
		s.p.dequeue(false)
		return err
	}
	s.c.tcp.meter.count(-perFrame)
	s.t.inbox.Put(s.p.name, frame)
	return nil
}

// write sends frames, credits and keepalives until the connection ends. It returns nil if the reader reports the error.
// Meanwhile [peer.sendNow] may also write.
func (s *session) write(readOver <-chan struct{}) (err error) {
	keepalive := time.NewTicker(s.t.cfg.timing.keepalive)
	defer keepalive.Stop()
	s.p.setWriter(s)
	defer s.p.setWriter(nil)
	for err == nil {
		var out <-chan []byte
		if s.credit.Load() > 0 {
			var again bool
			if again, err = s.resend(); again {
				continue
			}
			out = s.p.out
		}
		select {
		case frame := <-out:
			s.p.writing.Lock()
			err = s.writeFrame(frame, 0)
			s.p.writing.Unlock()
			s.p.passed.Add(-1)
		case <-s.wake:
			if s.grant.Load() >= grantAt {
				err = s.sendCredit()
			}
		case <-keepalive.C:
			err = s.sendCredit()
		case <-readOver:
			return nil
		case <-s.t.ctx.Done():
			err = transport.ErrClosed
		}
	}
	return err
}

// resend writes the frame, if any, during which the last connection broke. The frame is lost if that fails.
func (s *session) resend() (again bool, err error) {
	s.p.writing.Lock()
	defer s.p.writing.Unlock()
	if !s.p.resend {
		return false, nil
	}
	frame := s.p.frame
	s.t.cfg.Logger.Debug("sending a frame again", "peer", s.p.name, "bytes", len(frame))
	if err = s.writeFrame(frame, 0); err != nil {
		s.t.cfg.Logger.Warn("frame lost", "peer", s.p.name, "bytes", len(frame))
	}
	s.p.frame, s.p.resend = nil, false
	return true, err
}

// writeFrame sends a frame, and keeps it for the next connection if that fails. If there is room for at least grantWith
// more frames from the peer, it also grants this room. limit is as for conn.write. The caller must hold peer.writing.
func (s *session) writeFrame(frame []byte, limit time.Duration) error {
	s.credit.Add(-1)
	s.sent++
	if len(frame) > short {
		s.long = s.sent
	}
	messages := []message{{kindCredit, 0, nil}, {kindFrame, len(frame), frame}}
	if s.grant.Load() < grantWith {
		messages = messages[1:]
	} else {
		messages[0].number = int(s.grant.Swap(0))
	}
	err := s.c.write(limit, messages...)
	s.c.tcp.meter.count(-perFrame) // allows for the peer's credit message
	if s.p.resend = err != nil; err != nil {
		s.p.frame = frame
	}
	return err
}

func (s *session) end(cause error) {
	s.noteCause(cause)
	s.c.tcp.Close()
}

// noteCause records why the session ends. It keeps the first cause, except that a deliberate decision of either end
// replaces an error such as a broken connection, which may only be a consequence of that decision.
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

func (s *session) reason() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.cause
}
