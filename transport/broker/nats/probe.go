package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// Answer is the result of [Probe].
type Answer struct {
	Where  string // the server that answered
	Proxy  string // the proxy that was used, without credentials; empty if none
	Took   time.Duration
	Stream bool // the run has a stream, so a member has connected before
	Pieces int  // messages for a frame of the maximum length
	Peers  []PeerAnswer

	// Err is the reason why the node could not use the broker, or nil if it could. Refused is true if waiting cannot
	// help: the broker does not admit this node, or the server at the URL is not the expected broker.
	Err     error
	Refused bool
}

// PeerAnswer describes what [Probe] learned about a peer from the messages that the broker stores.
type PeerAnswer struct {
	Name    string
	Here    time.Time // when the last process of the peer started; zero if none did
	Refused error     // why the peer's hello is refused; nil if it is accepted
}

// Probe connects once to the broker and reports what it finds. It does not disturb a running node: it uses its own
// connection. To test permissions and limits, it publishes a message with the length of a piece, on a subject of this node
// that nobody reads. If the run has a stream, the broker stores the message, and Probe deletes it if the broker permits
// that; otherwise it stays like a frame, at most as often as there are pieces in a frame. Probe returns an error only if
// cfg is invalid. If the broker does not answer within 15 s, or before ctx ends, Answer.Err is not nil.
func Probe(ctx context.Context, cfg Config) (*Answer, error) {
	cfg.Hello = nil
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	defer context.AfterFunc(ctx, func() { _ = t.Close() })()
	began, a := time.Now(), &Answer{}
	err = t.ask(ctx, a)
	if a.Took = time.Since(began); err != nil {
		a.Err = t.link.dialer.explain(err)
		var told *net.OpError // such as the alert of a server that requires a certificate
		a.Refused = errors.Is(err, client.ErrAuthorization) || errors.Is(err, client.ErrTLS) ||
			errors.Is(err, client.ErrPermissionViolation) || errors.Is(err, client.ErrNoResponders) || errors.Is(err, errLimit) || errors.As(err, new(jetstream.JetStreamError)) ||
			errors.As(err, &told) && told.Op == "remote error" ||
			errors.Is(err, client.ErrSecureConnWanted) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
			errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
	}
	a.Proxy = t.link.dialer.proxyName()
	return a, nil
}

var errLimit = errors.New("the broker's limits are too low")

func (t *Transport) ask(ctx context.Context, a *Answer) (err error) {
	l := &t.link
	conn, err := client.Connect(strings.Join(t.cfg.URLs, ","), append(l.options("check"), client.NoReconnect())...)
	if err != nil {
		return err
	}
	defer conn.Close()
	a.Where = sealed.Redacted(conn.ConnectedUrl())
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	late := fmt.Errorf("the broker did not answer within %v", t.cfg.timing.answer)
	ctx, cancel := context.WithTimeoutCause(ctx, t.cfg.timing.answer, late)
	defer func() {
		if err != nil && context.Cause(ctx) == late {
			err = fmt.Errorf("%w: %w", late, err)
		}
		cancel()
	}()
	inner, done := l.asking.begin(ctx, context.Background(), l.want.Name)
	stream, err := js.Stream(inner, l.want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = nil, nil
	}
	if err = done(err); err != nil {
		return fmt.Errorf("stream %s: %w", l.want.Name, err)
	}
	a.Stream = stream != nil
	if err := t.tryPublish(ctx, conn, js, stream, a); err != nil {
		return err
	}
	for i, p := range t.Peers() {
		answer := PeerAnswer{Name: p.Name}
		if stream != nil {
			if answer.Here, err = t.readHello(ctx, stream, i, p.Name); err != nil {
				return fmt.Errorf("hello from %q: %w", p.Name, err)
			}
			answer.Refused = t.Peers()[i].Refused
		}
		a.Peers = append(a.Peers, answer)
	}
	return nil
}

// tryPublish publishes a message of the length of a piece, on a subject of this node that nobody reads. If stream is
// nil, because it does not exist yet, the broker only shows whether it permits the message.
func (t *Transport) tryPublish(ctx context.Context, conn *client.Conn, js jetstream.JetStream, stream jetstream.Stream, a *Answer) error {
	l, info := &t.link, new(jetstream.StreamInfo)
	if stream != nil {
		info = stream.CachedInfo()
	}
	piece, err := l.fit(conn.MaxPayload(), info)
	if err == nil {
		a.Pieces, err = sealed.Pieces(t.MaxFrame(), piece)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	to, trial := subject(l.run, l.self, l.self, "check"), make([]byte, min(piece, t.MaxFrame())+sealed.Overhead)
	if stream == nil {
		if err = conn.Publish(to, trial); err == nil {
			err = conn.FlushWithContext(ctx)
		}
		if told := conn.LastError(); errors.Is(told, client.ErrPermissionViolation) {
			err = told
		}
	} else {
		inner, done := l.asking.begin(ctx, context.Background(), to)
		stored, failed := js.Publish(inner, to, trial)
		if err = done(failed); err == nil {
			inner, done := l.asking.begin(ctx, context.Background(), l.want.Name)
			_ = done(stream.DeleteMsg(inner, stored.Sequence)) // the broker need not permit it
		}
	}
	if err != nil {
		return l.cannotPublish(err)
	}
	return nil
}

// readHello checks the latest hello of a peer and returns the time when the broker stored it. i is the peer's index in
// Peers.
func (t *Transport) readHello(ctx context.Context, stream jetstream.Stream, i int, peer string) (at time.Time, err error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute, FilterSubjects: []string{t.link.from(peer, "hello")},
	})
	if err != nil {
		return at, err
	}
	for range consumer.CachedInfo().NumPending {
		m, err := consumer.Next(jetstream.FetchContext(ctx))
		if err != nil {
			return at, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return at, err
		}
		if t.take(m, true); !t.Peers()[i].Heard.IsZero() { // Heard is set only for an authentic message
			at = meta.Timestamp
		}
	}
	return at, nil
}
