// Command browser is member a of a test fleet, for WebAssembly: browser URL RUN. It prints its model.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

func main() {
	n := brokertest.Ring(os.Args[2], 5, true, 4)
	s := n.Setup("a")
	tr, err := mqtt.New(mqtt.Config{Name: s.Name, Key: s.Secret(), Peers: s.Neighbors(), Run: s.Run, URL: os.Args[1], Fleet: s.Fleet,
		Hello: s.Hello, CheckHello: s.CheckHello, MaxFrame: s.MaxFrame})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	node, err := n.Node(0, sdk.Config{Transport: tr, Events: sdk.Events{Released: func(round int, x []float32) {
		if round == n.Fleet.Method.Last() {
			fmt.Println(x)
			cancel()
		}
	}}})
	if err == nil {
		err = node.Run(ctx)
	}
	if !errors.Is(err, context.Canceled) {
		panic(err)
	}
	_ = tr.Close()
}
