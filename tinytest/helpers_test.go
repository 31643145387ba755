package tinytest_test

import (
	"io"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// kite is a graph of six clients: a ring with a chord. Degrees are 2 and 3.
var kite = [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}, {0, 3}}

// seeded returns the noise source of a simulated client.
func seeded(client int) io.Reader {
	s := rng.New(77, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
	return &s
}

func private(i int, c *admm.Config) {
	c.NonPrivate, c.Privacy, c.Noise = false, dpmech.Gaussian{Clip: 0.3, Sigma: 0.05}, seeded(i)
}

// clientsOf returns one client with the loss of the paper for each node of a graph. If change is not nil, it adjusts each
// configuration.
func clientsOf(t *testing.T, edges [][2]int, n, dim int, change func(i int, c *admm.Config)) []sim.Client {
	t.Helper()
	g, err := graph.New(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	clients := make([]sim.Client, n)
	for i := range clients {
		cfg := admm.Config{
			Estimator: zoest.Config{Dim: dim, Samples: 4 + i%3, Batch: 3, Seed: 11, Client: uint32(i)},
			Neighbors: g.Neighbors(i), Consensus: g.Chebyshev(),
			Rounds: 6, Cooldown: 2, Tau: 2,
			Rho: 1, Beta: 1.5, Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3},
			NonPrivate: true,
		}
		if change != nil {
			change(i, &cfg)
		}
		clients[i] = sim.Client{Config: cfg, Oracle: tinytest.SquaredProbability(5, i, dim, cfg.Estimator.Samples)}
	}
	return clients
}
