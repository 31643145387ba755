//go:build !js

package ws

//lint:file-ignore SA1019 as in conn.go

import (
	"net/http"

	"nhooyr.io/websocket"
)

const inBrowser = false

func dialOptions(l link) *websocket.DialOptions {
	return &websocket.DialOptions{HTTPClient: &http.Client{Transport: upgrade{l.secure}}, Subprotocols: []string{subprotocol},
		CompressionMode: websocket.CompressionDisabled}
}
