package nats

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// link is the connection with the broker, which is made again whenever it ends, and the stream of the run there.
type link struct {
	conn   *client.Conn
	js     jetstream.JetStream
	want   jetstream.StreamConfig // except for the limits of a subject, which depend on the server
	frames func(piece int) int64  // how many messages a subject has to hold
	dialer *dialer
	timing *timing
	log    *slog.Logger
	lost   func() // called when the stream is another one than before

	mu sync.Mutex // of what follows
	linkState
	now     context.Context // ends at the next change of up
	over    context.CancelFunc
	stream  jetstream.Stream
	created time.Time // of the stream

	making sync.Mutex // held while the stream is looked for
}

// linkState is how a connection is.
type linkState struct {
	up     bool
	since  time.Time // of the last change of up
	where  string    // the server, without credentials, if up
	proxy  string    // through which it was dialed, if up; empty for none
	ended  int       // how many connections have
	lostBy error     // why the last of them has
	err    error     // the last fault
}

// connect starts to connect. A server that cannot be reached is no error.
func (l *link) connect(cfg *Config, name string) error {
	l.now, l.over = context.WithCancel(context.Background())
	options := append(l.options(cfg, name),
		client.RetryOnFailedConnect(true),
		client.MaxReconnects(-1),
		client.IgnoreAuthErrorAbort(),
		client.IgnoreDiscoveredServers(),
		client.ReconnectBufSize(-1), // what cannot be sent is an error at once, and tried again here
		client.CustomReconnectDelay(func(attempts int) time.Duration { return backoff(l.timing, attempts) }),
		client.ConnectHandler(l.connected),
		client.ReconnectHandler(l.connected),
		client.DisconnectErrHandler(func(_ *client.Conn, err error) { l.disconnected(err) }),
		client.ReconnectErrHandler(func(_ *client.Conn, err error) { l.failed(l.dialer.explain(err)) }),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { l.failed(err) }),
	)
	for _, s := range cfg.URLs {
		if exposed(s) {
			l.log.Warn("the connection with the broker is not encrypted: frames are sealed, but who reads along "+
				"sees which members talk, and the credentials if there are any", "broker", redacted(s))
		}
	}
	var err error
	if l.conn, err = client.Connect(strings.Join(cfg.URLs, ","), options...); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	l.js, err = jetstream.New(l.conn)
	return err
}

// options are those of every connection with the broker.
func (l *link) options(cfg *Config, name string) []client.Option {
	return append([]client.Option{
		client.Name(name),
		client.Timeout(l.timing.connect),
		client.PingInterval(l.timing.ping),
		client.MaxPingsOutstanding(2),
		client.SetCustomDialer(l.dialer),
		client.SkipHostLookup(), // whoever dials looks names up: this host, or a proxy
		client.ProxyPath(cfg.path()),
	}, cfg.Options...)
}

// backoff returns how long to wait before another attempt: waits double.
func backoff(t *timing, attempts int) time.Duration {
	d := t.backoffMin << min(attempts, 20)
	if d > t.backoffMax || d <= 0 {
		d = t.backoffMax
	}
	return endpoint.Jitter(d)
}

func (l *link) connected(c *client.Conn) {
	var where string
	if u, err := url.Parse(c.ConnectedUrl()); err == nil {
		u.User = nil
		where = u.String()
	}
	l.change(linkState{up: true, where: where, proxy: l.dialer.proxyName()})
	l.log.Info("connected to the broker", "at", where+behind(l.dialer.proxyName()))
}

func (l *link) disconnected(err error) {
	if err == nil {
		err = errors.New("the broker has ended the connection")
	}
	l.change(linkState{lostBy: err, err: fmt.Errorf("nats: no connection with the broker: %w", err)})
	l.log.Info("disconnected from the broker", "reason", err)
}

// failed notes a fault that the client reports. The same one is a warning once, until a connection succeeds.
func (l *link) failed(err error) {
	l.mu.Lock()
	old := l.err
	l.err = fmt.Errorf("nats: broker: %w", err)
	same := old != nil && old.Error() == l.err.Error()
	l.mu.Unlock()
	l.log.Log(context.Background(), endpoint.Level(same), "broker", "reason", err)
}

// change takes a new state, to which it adds the time and what has ended before.
func (l *link) change(to linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to.since, to.ended = time.Now(), l.ended
	if l.up && !to.up {
		to.ended++
	} else {
		to.lostBy = l.lostBy
	}
	l.linkState = to
	l.stream = nil // it is looked for anew on every connection
	l.over()
	l.now, l.over = context.WithCancel(context.Background())
}

// period returns a context that ends when the connection comes or goes.
func (l *link) period() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// worked notes that the broker has done what it was asked.
func (l *link) worked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = nil
}

func (l *link) state() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.linkState
}

// ready waits for a connection, and returns the stream.
func (l *link) ready(ctx context.Context) (jetstream.Stream, error) {
	for {
		l.mu.Lock()
		up, period, stream := l.up, l.now, l.stream
		l.mu.Unlock()
		if stream != nil {
			return stream, nil
		}
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

// pieceSize returns how much of a frame fits into one message of the broker.
func (l *link) pieceSize() int { return max(1, min(maxPiece, int(l.conn.MaxPayload())-spare)) }

// find looks for the stream of the run, and makes it if it is not there.
func (l *link) find(ctx context.Context) (jetstream.Stream, error) {
	l.making.Lock()
	defer l.making.Unlock()
	l.mu.Lock()
	stream, period := l.stream, l.now
	l.mu.Unlock()
	if stream != nil {
		return stream, nil
	}
	ctx, cancel := l.request(ctx, period)
	defer cancel()
	want := l.want
	want.MaxMsgsPerSubject = l.frames(l.pieceSize())
	want.MaxMsgSize = int32(l.pieceSize() + spare)
	stream, err := l.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = l.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another member was faster, with other limits
			stream, err = l.js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("nats: stream %s: %w", want.Name, err)
	}
	info := stream.CachedInfo()
	if have := info.Config.MaxMsgsPerSubject; have > 0 && have < want.MaxMsgsPerSubject {
		return nil, fmt.Errorf("nats: stream %s keeps %d messages of a subject, want at least %d",
			want.Name, have, want.MaxMsgsPerSubject)
	}
	l.mu.Lock()
	lost := !l.created.IsZero() && !l.created.Equal(info.Created)
	l.created = info.Created
	if period == l.now {
		l.stream = stream
	}
	l.mu.Unlock()
	if lost {
		l.log.Warn("the broker has lost what it stored of the run; it is sent again")
		l.lost()
	}
	return stream, nil
}

// forget makes the next request look for the stream again.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = nil
}

// publish sends the broker a message until it confirms that it has stored it.
func (l *link) publish(ctx context.Context, subject string, data []byte) error {
	for attempts := 0; ; attempts++ {
		_, err := l.ready(ctx)
		if err == nil {
			err = l.publishOnce(ctx, subject, data)
		}
		switch {
		case err == nil:
			l.worked()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, client.ErrMaxPayload):
			return err
		}
		l.failed(err)
		l.forget()
		l.pause(ctx, attempts)
	}
}

func (l *link) publishOnce(ctx context.Context, subject string, data []byte) error {
	ctx, cancel := l.request(ctx, l.period())
	defer cancel()
	_, err := l.js.Publish(ctx, subject, data)
	return err
}

// request returns a context for a request to the broker. It ends with the connection, since no answer comes after that.
func (l *link) request(ctx, period context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, l.timing.answer)
	stop := context.AfterFunc(period, cancel)
	return ctx, func() { stop(); cancel() }
}

// pause waits before another attempt, but not longer than until the connection changes.
func (l *link) pause(ctx context.Context, attempts int) {
	select {
	case <-time.After(backoff(l.timing, attempts)):
	case <-l.period().Done():
	case <-ctx.Done():
	}
}

// hexTag is a tag as a subject has it.
func hexTag(b []byte) string { return hex.EncodeToString(b) }
