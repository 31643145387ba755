package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"nhooyr.io/websocket"
)

// upgrade connects to the broker over a websocket of the browser, which checks the broker's certificate itself and uses
// its own proxy.
func (d *dialer) upgrade(ctx context.Context, u *url.URL, _ *tls.Config) (ws *websocket.Conn, via string, err error) {
	if d.cfg.TLS != nil || d.cfg.Proxy != nil {
		return nil, "", fmt.Errorf("TLS or Proxy is set, but on js the browser decides both: %w", errors.ErrUnsupported)
	}
	ws, _, err = websocket.Dial(ctx, u.String(), &websocket.DialOptions{Subprotocols: []string{subprotocol}})
	return ws, "", err
}
