package edge_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log"
	"os"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/edge"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// A node that can be stopped, killed and started again. A fleet with more members lists the key of each, and usually comes
// from a file: fleetfile.Read.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "edge") // on a device: a folder that stays
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	key, _, err := edge.Identity(dir, "lamp")
	if err != nil {
		log.Fatal(err)
	}
	fleet := &fleetfile.File{
		Fleet: &sdk.Fleet{Run: "evening", Dim: 1, Members: []string{"lamp"}, Privacy: sdk.Privacy{NonPrivate: true},
			Method: sdk.Method{Rounds: 100, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.1}, Mu: []float64{0.1}}},
		Members: []fleetfile.Member{{Name: "lamp", Keys: []ed25519.PublicKey{key}}},
	}
	loss := sdk.OracleFunc(func(_ context.Context, x []float32, _ int) (float64, error) {
		off := float64(x[0]) - 0.7 // the brightness that suits this room
		return off * off, nil
	})
	node, err := edge.Open(dir, fleet, "lamp", loss, edge.Options{Samples: 10})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	if err := node.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", node.Model())
	// Output: [0.7]
}
