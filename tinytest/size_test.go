package tinytest_test

import (
	"github.com/spade-dfl/spade-edge/zoest"
	"runtime"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestManyClients checks that a run with 1,000 clients and a run with 10,000 clients each fit into 2 GiB of memory. It
// logs the running times without checking them.
func TestManyClients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct{ clients, rounds, tau int }{{1000, 50, 8}, {10_000, 2, 8}} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		clients := clientsOf(ringOf(c.clients), 10, func(i int, cfg *admm.Config) {
			cfg.Estimator.Samples, cfg.Estimator.Batch, cfg.Estimator.Kind = 20, 5, zoest.Paper
			cfg.Rounds, cfg.Cooldown, cfg.Tau, cfg.Beta = c.rounds, 0, c.tau, 0.5
		})
		for i := range clients {
			clients[i].Oracle = tinytest.SquaredProbability(1, i, 10, 20)
		}
		network, err := sim.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		if err := network.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		seconds := time.Since(start).Seconds()
		runtime.GC()
		runtime.ReadMemStats(&after)
		asked, _ := network.Queries()
		t.Logf("%d clients on a ring, d = 10, tau = %d, m = 20, b = 5: %d rounds, %d losses in %.2f s with %d processors; "+
			"%d MiB held, %d MiB taken from the system",
			c.clients, c.tau, c.rounds, asked, seconds, runtime.GOMAXPROCS(0),
			(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))>>20, after.Sys>>20)
		if after.Sys > 2<<30 {
			t.Errorf("%d clients took %d MiB from the system, want at most 2048", c.clients, after.Sys>>20)
		}
		runtime.KeepAlive(network)
	}
}
