package tinytest_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// two returns a network of two clients with known losses.
func two() []sim.Client {
	clients := make([]sim.Client, 2)
	for i := range clients {
		clients[i] = sim.Client{
			Config: admm.Config{
				Estimator: zoest.Config{Dim: 2, Samples: 20, Batch: 5, Seed: 3, Client: uint32(i)},
				Neighbors: []int{1 - i}, Consensus: graph.Chebyshev{High: 2, Low: 2, Floor: 2},
				Rounds: 5, Cooldown: 2, Tau: 2,
				Rho: 1, Beta: 2, Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3},
				NonPrivate: true,
			},
			Oracle: tinytest.SquaredProbability(1, i, 2, 20),
		}
	}
	return clients
}

// A network of two clients runs in virtual time.
func ExampleSim() {
	network, err := sim.New(two())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := network.Run(context.Background(), nil); err != nil {
		fmt.Println(err)
		return
	}
	asked, _ := network.Queries()
	fmt.Printf("%d rounds, %d losses, %d models\n", network.Round(), asked, len(network.Models()))
	// Output: 7 rounds, 300 losses, 2 models
}
