package mqtt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// link maintains a connection to the broker. When the connection ends, link opens a new one.
type link struct {
	*sealed.Watch
	cfg       *Config
	run, self string // tags
	dialer    *dialer
	take      func(from string, payload []byte)
	lost      func() // called when the broker no longer has this node's session
	retry     func() // called when there is a new connection

	mu     sync.Mutex // guards the fields below
	conn   *conn      // nil while the link is down
	piece  int        // bytes of a frame that fit into a message of the last connection
	served bool       // there has been a connection

	barred bool // the broker refuses messages of this node to itself; only listen uses it
}

// filter returns the topic filter for the messages to this node.
func (l *link) filter() string { return topic(l.run, "+", l.self) }

func topic(run, from, to string) string { return "spade/" + run + "/" + from + "/" + to }

// hello returns the fields of a CONNECT packet with the given client id.
func (l *link) hello(client string) (h hello, err error) {
	h = hello{client: client, expiry: uint32(l.cfg.MaxAge / time.Second), peers: len(l.cfg.Peers), maxPacket: sealed.MaxPiece +
		sealed.Overhead + maxHeader}
	if l.cfg.Login != nil {
		h.user, h.password, err = l.cfg.Login()
	}
	return h, err
}

func (l *link) work(ctx context.Context) {
	l.WarnIfExposed(l.cfg.URL)
	brief := 0 // consecutive connections that ended early
	for attempts := 0; ctx.Err() == nil; attempts++ {
		n, via, err := l.connect(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.Failed(sealed.Connecting, err)
			}
		} else {
			began := time.Now()
			l.enter(n, via)
			n.work.Go(func() { l.listen(n) })
			select {
			case <-n.over.Done():
			case <-ctx.Done():
				n.close()
			}
			n.work.Wait()
			why := n.why()
			if brief++; time.Since(began) >= l.cfg.timing.steady {
				attempts, brief = 0, 0
			}
			if brief > 1 && !errors.As(why, new(*refusal)) { // some brokers give no reason
				why = fmt.Errorf("%w, repeatedly and soon after this node connected: either another client, such as "+
					"a copy of this node, uses the client id %s, or the broker ends every connection", why, l.self)
			}
			l.leave(why)
		}
		if ctx.Err() == nil {
			l.Pause(ctx, attempts, l.cfg.timing.backoffMax)
		}
	}
}

// connect opens a connection to the broker and subscribes to the messages for this node.
func (l *link) connect(ctx context.Context) (n *conn, via string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.timing.connect)
	defer cancel()
	h, err := l.hello(l.self)
	if err != nil {
		return nil, "", err
	}
	c, via, err := l.dialer.dial(ctx)
	if err == nil {
		n, err = connect(ctx, c, h, &l.cfg.timing, l.receive)
	}
	if err == nil {
		if err = n.subscribe(ctx, l.filter()); err != nil {
			n.close()
		}
	}
	if err != nil {
		return nil, via, explain(err, via)
	}
	return n, via, nil
}

// explain adds the likely cause to an error and, if via is not empty, the name of the proxy.
func explain(err error, via string) error { return sealed.Explain(err, via, late(err)) }

// listen finds out why a node hears nobody: if no message has arrived some time after a connection began, the node
// publishes a message to itself, which only a broker that lets it read delivers. A broker that refuses this message
// shows nothing about reading.
func (l *link) listen(n *conn) {
	for tried := false; !l.barred; tried = true {
		select {
		case <-n.heard:
			l.Worked(sealed.Reading)
			return
		case <-n.over.Done():
			return
		case <-time.After(l.cfg.timing.answer):
		}
		if tried {
			l.Failed(sealed.Reading, l.undelivered())
		}
		if err := n.publish(context.Background(), topic(l.run, l.self, l.self), 60, []byte{0}); err != nil {
			l.barred = true // some brokers end the connection
		}
	}
}

func (l *link) undelivered() error {
	return fmt.Errorf("cannot read %s: the broker accepted the subscription, but did not deliver a test message: %w",
		l.filter(), &refusal{code: reasonNotAuthorized})
}

// receive passes on a message that arrived on the given topic. The topic names the sender, whose signature
// [sealed.End.Take] verifies.
func (l *link) receive(at string, payload []byte) {
	parts := strings.Split(at, "/")
	if len(parts) == 4 && at == topic(l.run, parts[2], l.self) {
		l.take(parts[2], payload)
	}
}

func (l *link) enter(n *conn, via string) {
	l.mu.Lock()
	lost := l.served && !n.session
	l.conn, l.served, l.piece = n, true, pieceSize(n.maxPacket)
	l.mu.Unlock()
	l.Connected(l.cfg.URL, via)
	l.retry()
	if lost {
		l.cfg.Logger.Warn("the broker lost the messages stored for this node; the node asks for them again")
		l.lost()
	}
}

func (l *link) leave(why error) {
	l.mu.Lock()
	l.conn = nil
	l.mu.Unlock()
	if !errors.Is(why, errLeft) {
		l.Disconnected(why)
	}
}

// pieceSize returns the number of bytes of a frame that fit into a packet with the given number of bytes.
func pieceSize(packet int) int { return min(sealed.MaxPiece, packet-sealed.Overhead-maxHeader) }

func (l *link) await(ctx context.Context) (*conn, error) {
	for {
		period, _ := l.Period()
		l.mu.Lock()
		n := l.conn
		l.mu.Unlock()
		if n != nil {
			return n, nil
		}
		select {
		case <-period.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Ready implements [sealed.Line].
func (l *link) Ready(ctx context.Context) (int, error) {
	_, err := l.await(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.piece, err
}

// Publish implements [sealed.Line].
func (l *link) Publish(ctx context.Context, m sealed.Message) error {
	expiry := l.cfg.MaxAge
	if m.Again > 0 {
		// Let each message expire when the next repeat may be sent. A sleeping device then finds two copies of a frame
		// instead of one copy per repeat.
		expiry = min(expiry, max(10*l.cfg.timing.repeatMin, 2*m.Again))
	}
	n, err := l.await(ctx)
	if err != nil {
		return err
	}
	err = n.publish(ctx, topic(l.run, m.From, m.To), uint32(math.Ceil(expiry.Seconds())), m.Data)
	var no *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no) && no.code == reasonTooLarge:
		return fmt.Errorf("%w: %w", sealed.ErrTooLong, err)
	case n.over.Err() != nil:
		return fmt.Errorf("%w: %w", sealed.ErrEnded, err)
	}
	return fmt.Errorf("cannot publish on %s: %w", topic(l.run, l.self, "+"), err)
}
