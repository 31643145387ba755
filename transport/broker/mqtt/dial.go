package mqtt

//lint:file-ignore SA1019 as in transport/ws: the successor of this library has the same API under another path

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

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
		return d.upgrade(ctx, u, secure)
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

// upgrade connects to the broker over a websocket (MQTT 5, section 6).
func (d *dialer) upgrade(ctx context.Context, u *url.URL, secure *tls.Config) (conn net.Conn, via string, err error) {
	to := *u
	var proxied atomic.Value // the dial that sets it may outlast the request
	proxied.Store("")
	defer func() { via = proxied.Load().(string) }()
	to.Scheme = map[string]string{"wss": "https", "ws": "http"}[u.Scheme]
	way := &http.Transport{
		TLSClientConfig: secure,
		IdleConnTimeout: time.Second, // closes a connection that was made too late for its request
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, through, err := d.Dial(ctx, network, address)
			proxied.Store(through)
			return conn, err
		},
	}
	defer way.CloseIdleConnections()
	ws, resp, err := websocket.Dial(ctx, to.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: way, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirection could lead to a URL without TLS
		}}, Subprotocols: []string{"mqtt"}, CompressionMode: websocket.CompressionDisabled,
	})
	var outer *url.Error
	switch {
	case errors.As(err, &outer) && outer.Err != nil: // without the URL, which the outer error repeats
		err = outer.Err
	case err != nil && resp != nil:
		err = fmt.Errorf("the broker answered %s instead of opening a websocket", resp.Status)
	}
	if err != nil {
		return nil, "", err
	}
	if ws.Subprotocol() != "mqtt" {
		_ = ws.CloseNow()
		return nil, "", errors.New("the broker did not accept the websocket subprotocol mqtt")
	}
	ws.SetReadLimit(-1) // no limit, because readPacket has its own
	return websocket.NetConn(context.Background(), ws, websocket.MessageBinary), "", nil
}

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errSilent)
}
