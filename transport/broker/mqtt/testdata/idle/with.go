//go:build !without

package main

import (
	"crypto/ed25519"

	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

func open(file *fleetfile.Node, fleet *fleetfile.File, key ed25519.PrivateKey) (transport.Transport, error) {
	f, at := fleet.Fleet, file.Transport.(*broker.MQTT)
	return mqtt.New(mqtt.Config{
		Name: file.Name, Key: key, Peers: fleet.Peers(file.Name), Run: f.Run, Fleet: f.Hash(), URL: at.URL, TLS: at.Config,
		MaxFrame: wire.MaxFrame(f.Dim), Hello: f.Hello(file.Name), CheckHello: f.CheckHello(file.Name),
	})
}
