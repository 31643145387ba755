package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
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
	if u, web, _ := split(cfg.URLs[0]); !web || u.Scheme != "wss" {
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
	return conn, conn.SetDeadline(time.Now().Add(d.timeout))
}

// proxyName is the proxy of the last attempt, empty if there was none.
func (d *dialer) proxyName() string { return d.via.Load().(string) }

// explain adds to a fault of an attempt what it may come from, and the proxy if there is one.
func (d *dialer) explain(err error) error {
	via, hint := d.proxyName(), ""
	if strings.HasPrefix(err.Error(), "proxy ") {
		return err // its own fault, and it is named
	}
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var late net.Error
	switch {
	case errors.As(err, &untrusted) && via != "":
		hint = "; the proxy " + via + " may open TLS, and has to pass it on as it is"
		via = ""
	case errors.As(err, &noTLS):
		hint = ": what answers speaks no TLS"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		hint = ": the connection ended before the broker had let this node in"
	case errors.Is(err, client.ErrTimeout) || errors.As(err, &late) && late.Timeout():
		hint = ": the broker has not answered"
	}
	return fmt.Errorf("%w%s%s", err, hint, behind(via))
}

// behind says which proxy comes first, if there is one.
func behind(via string) string {
	if via == "" {
		return ""
	}
	return ", behind the proxy " + via
}
