// Command quickstart embeds two nodes in one program. A hall and a lab agree on a temperature that suits both, in
// degrees above 19, without revealing their own preferred temperatures to each other.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

func main() {
	fleet := &sdk.Fleet{
		Run: "setpoint", Dim: 1, Members: []string{"hall", "lab"}, Edges: [][2]string{{"hall", "lab"}},
		Method:  sdk.Method{Rounds: 200, Cooldown: 20, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{NonPrivate: true}, // or Clip, Sigma and Delta
	}
	wish := map[string]float64{"hall": -1, "lab": 2}
	net, wg := mem.New(fleet.Members...), sync.WaitGroup{}
	for _, name := range fleet.Members {
		tr, _ := net.Node(name)                                                // on devices: package transport/ws
		loss := func(_ context.Context, x []float32, _ int) (float64, error) { // your black box
			off := float64(x[0]) - wish[name]
			return off * off, nil
		}
		node, err := sdk.New(sdk.Config{Fleet: fleet, Name: name, Samples: 100, Oracle: sdk.OracleFunc(loss), Transport: tr})
		if err != nil {
			panic(err)
		}
		wg.Go(func() {
			err := node.Run(context.Background())
			fmt.Printf("%s: %.1f, error: %v\n", name, node.Model()[0], err)
		})
	}
	wg.Wait()
}
