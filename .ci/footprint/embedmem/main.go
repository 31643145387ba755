// Command embedmem is a small program that runs two neighboring nodes in one process.
package main

import (
	"context"
	"os"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

func main() {
	fleet := &sdk.Fleet{
		Run: "embed", Dim: 4, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 5, Cooldown: 5, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5},
	}
	net, wg := mem.New(fleet.Members...), sync.WaitGroup{}
	for _, name := range fleet.Members {
		tr, err := net.Node(name)
		if err != nil {
			os.Exit(1)
		}
		node, err := sdk.New(sdk.Config{Fleet: fleet, Name: name, Samples: 10, Oracle: sdk.OracleFunc(loss), Transport: tr})
		if err != nil {
			os.Exit(1)
		}
		wg.Go(func() {
			if node.Run(context.Background()) != nil {
				os.Exit(1)
			}
		})
	}
	wg.Wait()
}

func loss(_ context.Context, x []float32, _ int) (float64, error) {
	return float64(x[0]) * float64(x[0]), nil
}
