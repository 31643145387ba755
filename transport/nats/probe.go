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

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
)

// Answer is the answer of a broker, see [Probe].
type Answer struct {
	Where  string // the server of the connection
	Proxy  string // the proxy, without credentials; empty if none
	Took   time.Duration
	Stream bool // the run has a stream: a member has connected before
	Peers  []PeerAnswer

	// Err is the reason why the broker could not be asked. Refused means that waiting does not help: the broker does
	// not admit this node, or is not the one that the URL names.
	Err     error
	Refused bool
}

// PeerAnswer is what a broker stores of a peer.
type PeerAnswer struct {
	Name    string
	Here    time.Time // when the last process of the peer started; zero if none did
	Refused error     // why the peer and this node do not match; nil if they do
}

// Probe asks the broker once, on its own connection, and changes nothing there: it does not disturb a running node. The
// error concerns cfg alone. A broker that does not answer within 15 s, or until ctx ends, counts as absent.
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
		var told *net.OpError // as when TLS requires a certificate
		a.Refused = errors.Is(err, client.ErrAuthorization) || errors.Is(err, client.ErrTLS) ||
			errors.As(err, &told) && told.Op == "remote error" ||
			errors.Is(err, client.ErrSecureConnWanted) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
			errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
	}
	a.Proxy = t.link.dialer.proxyName()
	return a, nil
}

func (t *Transport) ask(ctx context.Context, a *Answer) error {
	l := &t.link
	conn, err := client.Connect(strings.Join(t.cfg.URLs, ","), append(l.options(&t.cfg, "check"), client.NoReconnect())...)
	if err != nil {
		return err
	}
	defer conn.Close()
	a.Where = sealed.Redacted(conn.ConnectedUrl())
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.timing.answer)
	defer cancel()
	stream, err := js.Stream(ctx, l.want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.want.Name, err)
	}
	a.Stream = stream != nil
	for _, p := range t.Peers() {
		answer := PeerAnswer{Name: p.Name}
		if stream != nil {
			if answer.Here, err = t.readHello(ctx, stream, p.Name); err != nil {
				return fmt.Errorf("hello of %q: %w", p.Name, err)
			}
			answer.Refused = t.peer(p.Name).Refused
		}
		a.Peers = append(a.Peers, answer)
	}
	return nil
}

// readHello reads the last hello of a peer, and returns when it was stored.
func (t *Transport) readHello(ctx context.Context, stream jetstream.Stream, peer string) (at time.Time, err error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute, FilterSubjects: []string{subject(t.cfg.Run, peer, t.cfg.Name, "hello")},
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
		if t.take(m, true); !t.peer(peer).Heard.IsZero() { // it is authentic
			at = meta.Timestamp
		}
	}
	return at, nil
}

func (t *Transport) peer(name string) (s transport.PeerStatus) {
	for _, s = range t.Peers() {
		if s.Name == name {
			break
		}
	}
	return s
}
