// Command embedws is a small program that embeds a node. As on a real device, the node uses websockets with TLS and
// keeps its state on disk.
package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the node "a", whose neighbor "b" listens at address. The keys are constants, because only the program's size
// matters.
func run(address, dir string) error {
	fleet := &sdk.Fleet{
		Run: "embed", Dim: 4, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 5, Cooldown: 5, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5},
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	tr, err := ws.New(ws.Config{
		Name: "a", Key: key, Hello: fleet.Hello("a"), CheckHello: fleet.CheckHello("a"),
		Peers: []ws.Peer{{Name: "b", Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)},
			Addresses: []string{address}}},
	})
	if err != nil {
		return err
	}
	defer tr.Close()
	store, err := state.Open(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	node, err := sdk.New(sdk.Config{Fleet: fleet, Name: "a", Samples: 10, Oracle: sdk.OracleFunc(loss), Transport: tr,
		Store: store})
	if err != nil {
		return err
	}
	return node.Run(context.Background())
}

func loss(_ context.Context, x []float32, _ int) (float64, error) {
	return float64(x[0]) * float64(x[0]), nil
}
