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

// dialer makes the client's connections, through a proxy where there is one. TLS begins above it, at the broker.
type dialer struct {
	*proxy.Dialer
	ctx     context.Context // ends an attempt
	timeout time.Duration   // of an attempt, until the broker has let this node in
	via     atomic.Value    // the last proxy, a string without credentials; empty for none
}

func newDialer(ctx context.Context, cfg *Config) *dialer {
	d := &dialer{Dialer: proxy.New(cfg.Proxy, nil), ctx: ctx, timeout: cfg.timing.connect}
	d.via.Store("")
	if u, web, _ := sealed.Split(cfg.URLs[0]); !web || u.Scheme != "wss" {
		// HTTPS_PROXY speaks of HTTPS: a proxy seldom lets other ports through.
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
	// The client sets no deadline for TLS below a websocket. It ends this one when the broker has let it in.
	return &doorstep{Conn: conn}, conn.SetDeadline(time.Now().Add(d.timeout))
}

// doorstep is a connection until the broker has let this node in. One that refuses a certificate in TLS 1.3 says so when, for
// the client, TLS has begun, and closes: what the client writes next may fail, although the reason waits to be read. So a
// fault of a write, with which the client would give up, is left for the read that follows it.
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

// SetDeadline without one is the client's word that the broker has let it in.
func (c *doorstep) SetDeadline(t time.Time) error {
	c.in.Store(t.IsZero())
	return c.Conn.SetDeadline(t)
}

// proxyName is the proxy of the last attempt, empty if there was none.
func (d *dialer) proxyName() string { return d.via.Load().(string) }

// explain adds to a fault of an attempt what it may come from, and the proxy if there is one.
func (d *dialer) explain(err error) error {
	return proxy.Explain(err, d.proxyName(), errors.Is(err, client.ErrTimeout))
}
