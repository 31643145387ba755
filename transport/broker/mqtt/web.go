//go:build !js

package mqtt

//lint:file-ignore SA1019 as in transport/ws: the successor of this library has the same API under another path

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"nhooyr.io/websocket"
)

// upgrade connects to the broker over a websocket (MQTT 5, section 6).
func (d *dialer) upgrade(ctx context.Context, u *url.URL, secure *tls.Config) (ws *websocket.Conn, via string, err error) {
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
		}}, Subprotocols: []string{subprotocol}, CompressionMode: websocket.CompressionDisabled,
	})
	var outer *url.Error
	switch {
	case errors.As(err, &outer) && outer.Err != nil: // without the URL, which the outer error repeats
		err = outer.Err
	case err != nil && resp != nil:
		err = fmt.Errorf("the broker answered %s instead of opening a websocket", resp.Status)
	}
	return ws, "", err
}
