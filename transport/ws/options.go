//go:build !js

package ws

//lint:file-ignore SA1019 as in conn.go

import (
	"net/http"

	"nhooyr.io/websocket"
)

const inBrowser = false

func dialOptions(c *conn) *websocket.DialOptions {
	return &websocket.DialOptions{HTTPClient: &http.Client{Transport: c}, Subprotocols: []string{subprotocol},
		CompressionMode: websocket.CompressionDisabled}
}
