//go:build without

package main

import (
	"context"
	"crypto/ed25519"

	"nhooyr.io/websocket"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// open returns a transport that uses only TLS and websockets, which the program that uses a broker also contains.
func open(file *fleetfile.Node, fleet *fleetfile.File, key ed25519.PrivateKey) (transport.Transport, error) {
	c, _, err := websocket.Dial(context.Background(), "wss://"+file.Name, nil)
	if err != nil {
		return nil, err
	}
	websocket.NetConn(context.Background(), c, websocket.MessageBinary)
	return mem.New(fleet.Fleet.Members...).Node(file.Name)
}
