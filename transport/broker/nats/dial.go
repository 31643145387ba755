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

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
)

// dialer opens connections for the NATS client, directly or through a proxy. With TLS, the connection is encrypted all
// the way to the broker.
type dialer struct {
	*proxy.Dialer
	ctx     context.Context       // ends an attempt
	timeout time.Duration         // of an attempt, until the broker has admitted this node
	via     atomic.Value          // the last proxy, a string without credentials; empty for none
	refused atomic.Pointer[error] // of the last attempt that failed; the client hides a refused connection
}

func newDialer(ctx context.Context, cfg *Config) *dialer {
	d := &dialer{Dialer: proxy.New(cfg.Proxy, nil), ctx: ctx, timeout: cfg.timing.connect}
	d.via.Store("")
	if u, _, _ := sealed.Split(cfg.URLs[0]); u.Scheme != "wss" {
		// Ignore HTTPS_PROXY unless the scheme is wss: an HTTPS proxy rarely allows ports other than 443.
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
		d.refused.Store(&err)
		return nil, err
	}
	// Without a deadline, the client could wait indefinitely for the TLS handshake of a websocket. The client removes
	// the deadline once the broker has admitted the client.
	return &doorstep{Conn: conn}, conn.SetDeadline(time.Now().Add(d.timeout))
}

// doorstep is a connection on which the broker may not have admitted the client yet. In TLS 1.3, a broker refuses a
// certificate only after the client has finished its handshake, and then closes the connection. The client's next write
// then fails, and the client would give up without reading the reason. So doorstep hides write errors: the client goes
// on to read, and the read returns the reason.
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

// SetDeadline sets the deadlines of the connection. The client sets a zero deadline once the broker has admitted it, so
// SetDeadline also records whether t is zero.
func (c *doorstep) SetDeadline(t time.Time) error {
	c.in.Store(t.IsZero())
	return c.Conn.SetDeadline(t)
}

// proxyName returns the name of the proxy used in the last attempt, or "" for none.
func (d *dialer) proxyName() string { return d.via.Load().(string) }

// explain adds the likely cause to the error of an attempt to connect, and the name of the proxy if there was one.
func (d *dialer) explain(err error) error {
	if last := d.refused.Load(); last != nil && errors.Is(err, client.ErrNoServers) {
		err = *last
	}
	return sealed.Explain(err, d.proxyName(), errors.Is(err, client.ErrTimeout))
}
