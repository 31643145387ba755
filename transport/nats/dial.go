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

// dialer makes the client's connections, directly or through a proxy. TLS runs above it, to the broker.
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
		// HTTPS_PROXY is meant for HTTPS: a proxy rarely allows other ports.
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
	// The client sets no deadline for TLS below a websocket. It removes this deadline when the broker has admitted it.
	return &doorstep{Conn: conn}, conn.SetDeadline(time.Now().Add(d.timeout))
}

// doorstep is a connection that the broker may not have admitted yet. A broker that refuses a certificate in TLS 1.3
// reports this after the client's handshake, and closes. The client would give up when its next write fails, although
// the reason is waiting to be read. So doorstep hides the error of a write, and the following read fails.
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
	return len(b), nil // the read ends with the connection, or at the deadline of Dial
}

// SetDeadline with a zero time is the client's signal that the broker has admitted it.
func (c *doorstep) SetDeadline(t time.Time) error {
	c.in.Store(t.IsZero())
	return c.Conn.SetDeadline(t)
}

// proxyName returns the proxy of the last attempt, empty if none.
func (d *dialer) proxyName() string { return d.via.Load().(string) }

// explain adds the likely cause to the error of an attempt, and the proxy if there is one.
func (d *dialer) explain(err error) error {
	return proxy.Explain(err, d.proxyName(), errors.Is(err, client.ErrTimeout))
}
