package sim_test

import (
	"context"
	"math"
	"runtime"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// everybody returns n clients on a complete graph; change may alter each configuration.
func everybody(n int, change func(c *admm.Config)) []sim.Client {
	var clients []sim.Client
	for i := range n {
		cfg := admm.Config{
			Estimator: zoest.Config{Dim: 3, Samples: 4, Seed: 3, Client: uint32(i)},
			Rounds:    12, Tau: 2,
			Rho: 1, Beta: 0.2, Eta: admm.Schedule{0.1}, Mu: admm.Schedule{0.3},
			NonPrivate: true, Consensus: graph.Chebyshev{High: float64(n), Low: float64(n), Floor: float64(n)},
		}
		for j := range n {
			if j != i {
				cfg.Neighbors = append(cfg.Neighbors, j)
			}
		}
		if change != nil {
			change(&cfg)
		}
		clients = append(clients, sim.Client{Config: cfg, Oracle: zoest.OracleFunc(
			func(_ context.Context, x []float32, s int) (float64, error) {
				a := float64(x[0]) - float64(i+s)
				return a * a / (1 + a*a), nil
			})})
	}
	return clients
}

// private makes a configuration private, with releases on a grid.
func private(c *admm.Config) {
	noise := rng.New(4, rng.Address{Purpose: rng.Noise, Client: c.Estimator.Client})
	c.NonPrivate, c.Privacy, c.Noise = false, dpmech.Gaussian{Clip: 0.1, Sigma: 0.05}, &noise
	c.GridStep = 0.01
}

var kinds = map[string]func(c *admm.Config){
	"vectors":           nil,
	"grid and cooldown": func(c *admm.Config) { private(c); c.Cooldown = 3 },
	"noisy vectors":     func(c *admm.Config) { private(c); c.GridStep = 0 },
	"probes":            func(c *admm.Config) { c.Probe = true },
}

// scale returns a function that measures a message by its kind and its number of coordinates.
func scale() func(m *admm.Message) (int, error) {
	return func(m *admm.Message) (int, error) {
		return 1000*int(m.Kind) + 10*len(m.Vector) + len(m.Grid), nil
	}
}

// TestBothWaysOfMessages checks that results do not depend on whether receivers read messages from the sender's memory
// or receive copies. The transcript and the measured size of all messages must be the same, on one core and on several.
func TestBothWaysOfMessages(t *testing.T) {
	for name, change := range kinds {
		forged := 0
		run := func(set func(*sim.Sim)) (transcript string, weight int64) {
			network := newSim(t, everybody(7, change))
			network.Meter = scale
			set(network)
			if err := network.Run(t.Context(), nil); err != nil {
				t.Fatal(name, err)
			}
			return network.Transcript(), network.Weight()
		}
		transcript, weight := run(func(*sim.Sim) {})
		for way, set := range map[string]func(*sim.Sim){
			"copies": func(s *sim.Sim) { s.Forge = func(m admm.Message) admm.Message { forged++; return m } },
			"cores":  func(*sim.Sim) { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 3) },
		} {
			cores := runtime.GOMAXPROCS(0)
			again, too := run(set)
			runtime.GOMAXPROCS(cores)
			if again != transcript || too != weight {
				t.Errorf("%s, %s: transcript %.8s, weight %d, want %.8s, %d", name, way, again, too, transcript, weight)
			}
		}
		if forged < 7*6*12 {
			t.Errorf("%s: %d releases", name, forged)
		}
	}
}

// TestWarmTickAllocates checks that, after warm-up, the allocations of a tick do not depend on the number of messages
// or clients.
func TestWarmTickAllocates(t *testing.T) {
	for name, change := range kinds {
		const n = 40
		network := newSim(t, everybody(n, change))
		network.Meter = scale
		var before, after runtime.MemStats
		least := uint64(math.MaxUint64)
		err := network.Run(t.Context(), func(round int) error {
			runtime.ReadMemStats(&after)
			if round > 4 && round < 12 {
				least = min(least, after.Mallocs-before.Mallocs)
			}
			before = after
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if t.Logf("%s: %d allocations in a tick", name, least); least > n/2 {
			t.Errorf("%s: %d allocations in a tick of %d clients and %d messages", name, least, n, n*(n-1))
		}
	}
}
