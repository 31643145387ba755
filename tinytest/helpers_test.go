package tinytest_test

import (
	"io"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// kite is a network of six clients: a ring with a chord. Degrees are 2 and 3.
var kite = [][]int{{1, 3, 5}, {0, 2}, {1, 3}, {0, 2, 4}, {3, 5}, {0, 4}}

// seeded returns the noise source of a simulated client.
func seeded(client int) io.Reader {
	s := rng.New(77, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
	return &s
}

func private(i int, c *admm.Config) {
	c.NonPrivate, c.Privacy, c.Noise = false, dpmech.Gaussian{Clip: 0.3, Sigma: 0.05}, seeded(i)
}

// clientsOf returns one client with a bounded nonconvex loss for each node of a graph. If change is not nil, it adjusts
// each configuration.
func clientsOf(links [][]int, dim int, change func(i int, c *admm.Config)) []sim.Client {
	clients, schedule := make([]sim.Client, len(links)), scheduleOf(links)
	for i, neighbors := range links {
		cfg := admm.Config{
			Estimator: zoest.Config{Dim: dim, Samples: 4 + i%3, Batch: 3, Seed: 11, Client: uint32(i)},
			Neighbors: neighbors, Consensus: schedule,
			Rounds: 6, Cooldown: 2, Tau: 2,
			Rho: 1, Beta: 1.5, Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3},
			NonPrivate: true,
		}
		if change != nil {
			change(i, &cfg)
		}
		clients[i] = sim.Client{Config: cfg, Oracle: tinytest.BoundedNonconvex(5, i, dim, cfg.Estimator.Samples)}
	}
	return clients
}

// scheduleOf returns the steps of mixing and cool-down for a connected graph, or nil for a single client.
func scheduleOf(links [][]int) admm.Consensus {
	var edges [][2]int
	for i, neighbors := range links {
		for _, j := range neighbors {
			if i < j {
				edges = append(edges, [2]int{i, j})
			}
		}
	}
	if len(edges) == 0 {
		return nil
	}
	g, err := graph.New(len(links), edges)
	if err != nil {
		panic(err)
	}
	return g.Chebyshev()
}
