package nats

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
)

// dialer connects the broker's client, directly or through a proxy. With TLS, the encrypted connection ends at the
// broker.
type dialer struct {
	*proxy.Dialer
	ctx     context.Context // ends an attempt
	timeout time.Duration   // of an attempt, until the broker has admitted this node
	via     atomic.Value    // the last proxy, a string without credentials; empty for none
}

func newDialer(ctx context.Context, cfg *Config) *dialer {
	d := &dialer{Dialer: proxy.New(cfg.Proxy, nil), ctx: ctx, timeout: cfg.timing.connect}
	d.via.Store("")
	if u, web, _ := sealed.Split(cfg.URLs[0]); !web || u.Scheme != "wss" {
		// Ignore HTTPS_PROXY for schemes other than wss: a proxy for HTTPS rarely allows other ports.
		d.Environment = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	return d
}

// Dial implements [client.CustomDialer].
func (d *dialer) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.timeout)
	defer cancel()
	conn, via, err := d.Dialer.Dial(ctx, network, addr)
	d.via.Store(via)
	if err != nil {
		return nil, err
	}
	// Without a deadline, the client could wait indefinitely for TLS below a websocket. The client removes the deadline
	// when the broker has admitted it.
	return &doorstep{Conn: conn}, conn.SetDeadline(time.Now().Add(d.timeout))
}

// doorstep is a connection that the broker may not have admitted yet. In TLS 1.3 a broker refuses a certificate only
// after the client has finished its handshake, and then closes the connection. The client would give up when its next
// write fails, although the reason waits to be read. So doorstep hides the error of a write; the client then reads, and
// that fails with the reason.
type doorstep struct {
	net.Conn
	in atomic.Bool
}

func (c *doorstep) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	var late net.Error
	if err == nil || c.in.Load() || errors.Is(err, net.ErrClosed) || errors.As(err, &late) && late.Timeout() {
		return n, err
	}
	return len(b), nil // the next read reports the end of the connection, or the deadline of Dial
}

// SetDeadline notes the client's signal that the broker has admitted it: a call with a zero time.
func (c *doorstep) SetDeadline(t time.Time) error {
	c.in.Store(t.IsZero())
	return c.Conn.SetDeadline(t)
}

// proxyName returns the proxy of the last attempt, or "" if there was none.
func (d *dialer) proxyName() string { return d.via.Load().(string) }

// explain adds to an attempt's error its likely cause and the proxy, if there was one.
func (d *dialer) explain(err error) error {
	return proxy.Explain(err, d.proxyName(), errors.Is(err, client.ErrTimeout))
}
