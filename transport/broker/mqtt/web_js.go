package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"

	"nhooyr.io/websocket"
)

// upgrade connects to the broker over a websocket of the browser, which checks the broker's certificate itself and uses
// its own proxy.
func (d *dialer) upgrade(ctx context.Context, u *url.URL, _ *tls.Config) (conn net.Conn, via string, err error) {
	if d.cfg.TLS != nil || d.cfg.Proxy != nil {
		return nil, "", fmt.Errorf("TLS or Proxy is set, but on js the browser decides both: %w", errors.ErrUnsupported)
	}
	ws, _, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{Subprotocols: []string{"mqtt"}})
	if err != nil {
		return nil, "", err
	}
	if ws.Subprotocol() != "mqtt" {
		_ = ws.CloseNow()
		return nil, "", errors.New("the broker did not accept the websocket subprotocol mqtt")
	}
	return websocket.NetConn(context.Background(), ws, websocket.MessageBinary), "", nil
}
