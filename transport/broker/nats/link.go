package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// link maintains the connection to the broker and the run's stream at the broker. It restores the connection whenever
// the connection ends.
type link struct {
	*sealed.Watch
	cfg       *Config
	run, self string // tags
	conn      *client.Conn
	js        jetstream.JetStream
	want      jetstream.StreamConfig // without the limits of a subject, which depend on the server
	dialer    *dialer
	lost      func() // called when the broker has a new stream in place of the previous stream

	mu      sync.Mutex // guards the fields below; held while looking for the stream
	stream  jetstream.Stream
	found   context.Context // ends with the connection over which the stream was found
	created time.Time       // of the stream
}

// connect starts connecting in the background. An unreachable server is not an error.
func (l *link) connect() error {
	options := append(l.options(l.self),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.IgnoreAuthErrorAbort(),
		client.IgnoreDiscoveredServers(),
		client.ReconnectBufSize(-1), // no buffer: fail at once, and link retries
		client.CustomReconnectDelay(l.Backoff),
		client.ConnectHandler(l.connected),
		client.ReconnectHandler(l.connected),
		client.DisconnectErrHandler(func(_ *client.Conn, err error) { l.Disconnected(err) }),
		client.ReconnectErrHandler(func(_ *client.Conn, err error) { l.Failed(l.dialer.explain(err)) }),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { l.Failed(err) }),
	)
	for _, s := range l.cfg.URLs {
		l.WarnIfExposed(s)
	}
	var err error
	if l.conn, err = client.Connect(strings.Join(l.cfg.URLs, ","), options...); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	l.js, err = jetstream.New(l.conn)
	return err
}

func (l *link) options(name string) []client.Option {
	return append([]client.Option{
		client.Name(name),
		client.Timeout(l.cfg.timing.connect),
		client.PingInterval(l.cfg.timing.ping),
		client.MaxPingsOutstanding(2),
		client.SetCustomDialer(l.dialer),
		client.SkipHostLookup(), // the dialer or a proxy resolves names
		client.ProxyPath(l.cfg.path()),
	}, l.cfg.Options...)
}

func (l *link) connected(c *client.Conn) {
	var where string
	if u, err := url.Parse(c.ConnectedUrl()); err == nil {
		u.User = nil
		where = u.String()
	}
	l.Connected(where, l.dialer.proxyName())
}

func (l *link) ready(ctx context.Context) (jetstream.Stream, error) {
	for {
		period, up := l.Period()
		if up {
			return l.find(ctx)
		}
		select {
		case <-period.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// from returns the subject for one place of the edge from a peer.
func (l *link) from(peer, place string) string {
	_, tag := sealed.Tags(l.cfg.Run, peer)
	return subject(l.run, tag, l.self, place)
}

// Ready implements [sealed.Line].
func (l *link) Ready(ctx context.Context) (piece int, err error) {
	_, err = l.ready(ctx)
	return l.pieceSize(), err
}

// pieceSize returns the number of bytes of a frame that fit into one message.
func (l *link) pieceSize() int { return max(1, min(sealed.MaxPiece, int(l.conn.MaxPayload())-spare)) }

// find returns the run's stream, which it looks up once per connection, and creates it if it does not exist.
func (l *link) find(ctx context.Context) (jetstream.Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	period, _ := l.Period()
	if l.stream != nil && l.found == period {
		return l.stream, nil
	}
	ctx, cancel := l.request(ctx, period)
	defer cancel()
	want, piece := l.want, l.pieceSize()
	want.MaxMsgsPerSubject = int64(max(1, (l.cfg.MaxFrame+piece-1)/piece))
	want.MaxMsgSize = int32(piece + spare)
	stream, err := l.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = l.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another member created it first, with other limits
			stream, err = l.js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("nats: stream %s: %w", want.Name, err)
	}
	info := stream.CachedInfo()
	if have := info.Config.MaxMsgsPerSubject; have > 0 && have < want.MaxMsgsPerSubject {
		return nil, fmt.Errorf("nats: stream %s keeps %d messages per subject, want at least %d",
			want.Name, have, want.MaxMsgsPerSubject)
	}
	lost := !l.created.IsZero() && !l.created.Equal(info.Created)
	l.stream, l.found, l.created = stream, period, info.Created
	if lost {
		l.cfg.Logger.Warn("the broker lost the messages stored for this run; the node sends its messages again")
		l.lost()
	}
	return stream, nil
}

// forget makes the link look up the stream again before its next request.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = nil
}

// Publish implements [sealed.Line]. It sends a message repeatedly until the broker confirms that it has stored the
// message.
func (l *link) Publish(ctx context.Context, m sealed.Message) error {
	to := subject(l.run, m.From, m.To, m.Place)
	for attempts := 0; ; attempts++ {
		_, err := l.ready(ctx)
		if err == nil {
			err = l.publishOnce(ctx, to, m.Data)
		}
		switch {
		case err == nil:
			l.Worked()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, client.ErrMaxPayload):
			return err
		}
		l.Failed(err)
		l.forget()
		l.Pause(ctx, attempts)
	}
}

func (l *link) publishOnce(ctx context.Context, subject string, data []byte) error {
	period, _ := l.Period()
	ctx, cancel := l.request(ctx, period)
	defer cancel()
	_, err := l.js.Publish(ctx, subject, data)
	return err
}

// request returns a context for a request to the broker. The context also ends when the connection ends, because no
// answer can arrive after that.
func (l *link) request(ctx, period context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.timing.answer)
	stop := context.AfterFunc(period, cancel)
	return ctx, func() { stop(); cancel() }
}
