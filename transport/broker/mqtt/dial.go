package mqtt

//lint:file-ignore SA1019 as in transport/ws: the successor of this library has the same API under another path

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"

	"nhooyr.io/websocket"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
)

// dialer connects to the broker, directly or through a proxy. With TLS, the connection is encrypted all the way to the
// broker.
type dialer struct {
	*proxy.Dialer
	cfg *Config
}

func newDialer(cfg *Config) *dialer {
	d := &dialer{Dialer: proxy.New(cfg.Proxy, cfg.direct), cfg: cfg}
	if u, _, _ := sealed.Split(cfg.URL); u.Scheme != "wss" {
		// Ignore HTTPS_PROXY unless the scheme is wss: an HTTPS proxy rarely allows ports other than 443.
		d.Environment = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	return d
}

const subprotocol = "mqtt" // of a websocket

// dial connects to the broker. via names the proxy that it used, without credentials, or is empty.
func (d *dialer) dial(ctx context.Context) (conn net.Conn, via string, err error) {
	u, web, _ := sealed.Split(d.cfg.URL)
	secure := new(tls.Config)
	if sealed.Secure(d.cfg.URL) && d.cfg.TLS != nil {
		if secure, err = d.cfg.TLS(); err != nil {
			return nil, "", err
		}
		secure = secure.Clone()
	}
	secure.ServerName = cmp.Or(secure.ServerName, u.Hostname())
	secure.MinVersion = max(secure.MinVersion, tls.VersionTLS12)
	if web {
		ws, via, err := d.upgrade(ctx, u, secure)
		if err != nil {
			return nil, via, err
		}
		if ws.Subprotocol() != subprotocol {
			_ = ws.CloseNow()
			return nil, via, errors.New("the broker did not accept the websocket subprotocol " + subprotocol)
		}
		// NetConn has no read limit, because readPacket has its own.
		return websocket.NetConn(context.Background(), ws, websocket.MessageBinary), via, nil
	}
	port := map[string]string{"tls": "8883", "mqtt": "1883"}[u.Scheme]
	conn, via, err = d.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	if err != nil || u.Scheme == "mqtt" {
		return conn, via, err
	}
	over := tls.Client(conn, secure)
	if err := over.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, via, err
	}
	return over, via, nil
}

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errSilent)
}
