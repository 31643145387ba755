package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
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
		getenv := d.Getenv // HTTPS_PROXY speaks of HTTPS: a proxy seldom lets other ports through
		d.Getenv = func(name string) string {
			if strings.EqualFold(name, "HTTPS_PROXY") {
				return ""
			}
			return getenv(name)
		}
	}
	return d
}

// Dial implements [client.CustomDialer].
func (d *dialer) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.timeout)
	defer cancel()
	via := ""
	if u, _ := d.For(addr); u != nil {
		via = proxy.Name(u)
	}
	d.via.Store(via)
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	// The client sets no deadline for TLS below a websocket. It ends this one when the broker has let it in.
	return conn, conn.SetDeadline(time.Now().Add(d.timeout))
}

// proxyName is the proxy of the last attempt, empty if there was none.
func (d *dialer) proxyName() string { return d.via.Load().(string) }

// explain adds to a fault of the connection what it may come from.
func (d *dialer) explain(err error) error {
	via := d.proxyName()
	var untrusted *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var timeout net.Error
	switch named := via != "" && !strings.HasPrefix(err.Error(), "proxy "); {
	case errors.As(err, &untrusted) && named:
		return fmt.Errorf("%w; the proxy %s may open TLS: it has to pass it on to the broker as it is", err, via)
	case errors.As(err, &noTLS):
		return fmt.Errorf("%w: what answers speaks no TLS%s", err, behind(via))
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the connection ended before the broker had let this node in%s", err, behind(via))
	case errors.Is(err, client.ErrTimeout) || errors.As(err, &timeout) && timeout.Timeout() && named:
		return fmt.Errorf("%w: the broker has not answered%s", err, behind(via))
	}
	return err
}

func behind(via string) string {
	if via == "" {
		return ""
	}
	return ", behind the proxy " + via
}
