package sim_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Two clients that prefer different points agree on a point between them.
func Example() {
	var clients []sim.Client
	for i, wish := range []float64{-1, 2} {
		clients = append(clients, sim.Client{
			Config: admm.Config{
				Estimator: zoest.Config{Dim: 1, Samples: 100, Batch: 100, Client: uint32(i)},
				Neighbors: []int{1 - i}, Consensus: graph.Chebyshev{High: 2, Low: 2, Floor: 2}, Rounds: 200, Cooldown: 20, Tau: 2,
				Rho: 1, Beta: 20, Eta: admm.Schedule{0.05}, Mu: admm.Schedule{0.2}, NonPrivate: true,
			},
			Oracle: zoest.OracleFunc(func(_ context.Context, x []float32, _ int) (float64, error) {
				off := float64(x[0]) - wish
				return off * off, nil
			}),
		})
	}
	network, err := sim.New(clients)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := network.Run(context.Background(), nil); err != nil {
		fmt.Println(err)
		return
	}
	models := network.Models()
	fmt.Printf("%.1f %.1f after %d rounds\n", models[0][0], models[1][0], network.Round())
	// Output: 0.5 0.5 after 220 rounds
}
