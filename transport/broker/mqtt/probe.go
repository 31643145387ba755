package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// Answer is the result of [Probe].
type Answer struct {
	Proxy  string // the proxy that was used, without credentials; empty if none
	Took   time.Duration
	Packet int // bytes of the longest packet that the broker accepts
	Pieces int // messages for a frame of the maximum length

	// Err is the reason why the node could not use the broker, or nil if it could. Refused is true if waiting cannot
	// help: the broker does not admit this node, or the server at the URL is not the expected broker.
	Err     error
	Refused bool
}

// Probe connects once to the broker and reports what the broker allows. It does not disturb a running node: it uses its
// own connection and its own client id, and leaves nothing at the broker. To test access lists and limits, it publishes
// a message with the length of a piece, on a topic that only this node reads, and reads the message back. If the
// broker's access list is based on client ids rather than users, it must include the probe's id, which is the node's id
// followed by "check".
//
// Probe returns an error only if cfg is invalid. If the broker does not answer within 20 s, or before ctx ends,
// Answer.Err is not nil.
func Probe(ctx context.Context, cfg Config) (*Answer, error) {
	cfg.Hello = nil
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	ctx, cancel := context.WithTimeout(ctx, t.cfg.timing.connect)
	defer cancel()
	began, a := time.Now(), &Answer{}
	err = t.ask(ctx, a)
	if a.Took = time.Since(began); err != nil {
		a.Err = explain(err, a.Proxy)
		var told *net.OpError // such as the alert of a server that requires a certificate
		var untrusted *tls.CertificateVerificationError
		var noTLS tls.RecordHeaderError
		a.Refused = errors.As(err, new(*refusal)) || errors.As(err, &told) && told.Op == "remote error" ||
			errors.As(err, &untrusted) || errors.As(err, &noTLS) || errors.Is(err, errLimit)
	}
	return a, nil
}

var errLimit = errors.New("the broker's limits are too low")

func (t *Transport) ask(ctx context.Context, a *Answer) error {
	l := &t.link
	h, err := l.hello(l.self + "check")
	if err != nil {
		return err
	}
	h.clean, h.expiry = true, 0
	c, via, err := l.dialer.dial(ctx)
	a.Proxy = via
	if err != nil {
		return err
	}
	n, err := connect(ctx, c, h, &t.cfg.timing, func(string, []byte) {})
	if err != nil {
		return err
	}
	defer n.close()
	a.Packet = n.maxPacket
	piece := pieceSize(n.maxPacket)
	if a.Pieces, err = sealed.Pieces(t.MaxFrame(), piece); err != nil {
		return fmt.Errorf("%w: the broker accepts packets of at most %d bytes: %w", errLimit, n.maxPacket, err)
	}
	if err := n.subscribe(ctx, l.filter()); err != nil {
		return err
	}
	trial := make([]byte, min(piece, t.MaxFrame())+sealed.Overhead)
	if err := n.publish(ctx, topic(l.run, l.self, l.self), 60, trial); err != nil {
		var no *refusal
		if errors.As(err, &no) && no.code == reasonTooLarge {
			return fmt.Errorf("%w: a frame of %d bytes needs messages of up to %d bytes, but the broker refuses a "+
				"message of that size: %w", errLimit, t.MaxFrame(), len(trial), err)
		}
		return fmt.Errorf("cannot publish on %s: %w", topic(l.run, l.self, "+"), err)
	}
	select {
	case <-n.heard:
		return nil
	case <-n.over.Done():
		return n.why()
	case <-time.After(t.cfg.timing.answer / 4):
	case <-ctx.Done():
	}
	return l.undelivered()
}
