package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
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
	retry     func() // called when there is a new connection

	asking requests

	mu      sync.Mutex // guards the fields below; held while looking for the stream
	stream  jetstream.Stream
	found   context.Context // ends with the connection over which the stream was found
	created time.Time       // of the stream
	piece   int             // bytes of a frame that fit into one message
	failed  error           // why the last look-up failed, or nil
	at      time.Time       // when the last look-up ended
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
		client.ReconnectErrHandler(func(_ *client.Conn, err error) { l.Failed(sealed.Connecting, l.dialer.explain(err)) }),
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
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
			if !l.asking.refuse(err) {
				l.cfg.Logger.Warn("broker", "reason", err)
			}
		}),
	}, l.cfg.Options...)
}

func (l *link) connected(c *client.Conn) {
	var where string
	if u, err := url.Parse(c.ConnectedUrl()); err == nil {
		u.User = nil
		where = u.String()
	}
	l.Connected(where, l.dialer.proxyName())
	l.retry()
}

// ready waits for a connection over which the run's stream can be used, and returns the stream. It fails only if ctx
// ends. As long as the broker is there and the stream cannot be used, ready records the reason.
func (l *link) ready(ctx context.Context) (jetstream.Stream, error) {
	for attempts := 0; ; {
		period, there := l.Period()
		if !there {
			select {
			case <-period.Done():
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		stream, err := l.find(ctx, period)
		switch {
		case err == nil:
			l.Worked(sealed.Looking)
			return stream, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, sealed.ErrEnded):
			l.Failed(sealed.Looking, err)
		}
		l.Pause(ctx, attempts, sealed.Retry)
		attempts++
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
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.piece, err
}

// pieceSize returns the number of bytes of a frame that fit into one message, where each limit is the length of the longest
// message that someone accepts.
func pieceSize(limits ...int) int { return max(1, min(sealed.MaxPiece, slices.Min(limits)-spare)) }

// fit returns the number of bytes of a frame that fit into one message to a server and a stream. It fails if the stream
// does not keep all messages of a long frame.
func (l *link) fit(payload int64, info *jetstream.StreamInfo) (piece int, err error) {
	piece = pieceSize(int(payload))
	if have := info.Config.MaxMsgSize; have > 0 {
		piece = pieceSize(int(payload), int(have))
	}
	want := int64(max(1, (l.cfg.MaxFrame+piece-1)/piece))
	if have := info.Config.MaxMsgsPerSubject; have > 0 && have < want {
		return 0, fmt.Errorf("nats: stream %s keeps %d messages per subject, want at least %d, because a message has at most %d bytes "+
			"of a frame (the server's max_payload is %d)", l.want.Name, have, want, piece, payload)
	}
	return piece, nil
}

// find returns the run's stream, which it looks up once per connection, and creates it if it does not exist. Soon after a
// failed look-up, it returns the same error again, so that goroutines that wait for the stream share their requests.
func (l *link) find(ctx, period context.Context) (jetstream.Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	soon := min(sealed.Retry, l.cfg.timing.backoffMax) / 2
	if l.found == period && (l.stream != nil || l.failed != nil && time.Since(l.at) < soon) {
		return l.stream, l.failed
	}
	stream, piece, err := l.look(ctx, period)
	l.stream, l.found, l.failed, l.at = stream, period, err, time.Now()
	if err != nil {
		return nil, err
	}
	created := stream.CachedInfo().Created
	lost := !l.created.IsZero() && !l.created.Equal(created)
	l.created, l.piece = created, piece
	if lost {
		l.cfg.Logger.Warn("the broker lost the messages stored for this run; the node sends its messages again")
		l.lost()
	}
	return stream, nil
}

// look asks the broker for the run's stream, and creates it if it does not exist.
func (l *link) look(ctx, period context.Context) (stream jetstream.Stream, piece int, err error) {
	inner, done := l.asking.begin(ctx, period, l.want.Name)
	want := l.want
	piece = pieceSize(int(l.conn.MaxPayload()))
	want.MaxMsgsPerSubject = int64(max(1, (l.cfg.MaxFrame+piece-1)/piece))
	want.MaxMsgSize = int32(piece + spare)
	stream, err = l.js.Stream(inner, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = l.js.CreateStream(inner, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another member created it first, with other limits
			stream, err = l.js.Stream(inner, want.Name)
		}
	}
	if err = done(err); err != nil {
		return nil, 0, fmt.Errorf("nats: stream %s: %w", want.Name, err)
	}
	if piece, err = l.fit(l.conn.MaxPayload(), stream.CachedInfo()); err != nil {
		l.renew()
		return nil, 0, err
	}
	return stream, piece, nil
}

// renew connects again if the server now accepts messages of another length: a server that reads its configuration again
// tells only new connections.
func (l *link) renew() {
	if other, err := client.Connect(strings.Join(l.cfg.URLs, ","), append(l.options("limits"), client.NoReconnect())...); err == nil {
		if other.MaxPayload() != l.conn.MaxPayload() {
			_ = l.conn.ForceReconnect()
		}
		other.Close()
	}
}

// forget makes the link look up the stream again before its next request.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = nil
}

// Publish implements [sealed.Line].
func (l *link) Publish(ctx context.Context, m sealed.Message) error {
	if _, err := l.ready(ctx); err != nil {
		return err
	}
	period, _ := l.Period()
	to := subject(l.run, m.From, m.To, m.Place)
	inner, done := l.asking.begin(ctx, period, to)
	_, err := l.js.Publish(inner, to, m.Data)
	err = done(err)
	switch {
	case err == nil || errors.Is(err, sealed.ErrEnded):
		return err
	case l.conn.Status() != client.CONNECTED:
		return fmt.Errorf("%w: %w", sealed.ErrEnded, err)
	case errors.Is(err, client.ErrMaxPayload):
		return fmt.Errorf("%w: %w", sealed.ErrTooLong, err)
	}
	l.forget()
	return l.cannotPublish(err)
}

func (l *link) cannotPublish(err error) error {
	return fmt.Errorf("cannot publish on %s: %w", Subjects(l.cfg.Run, l.cfg.Name), err)
}
