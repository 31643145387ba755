package ws

import (
	"log/slog"
	"math"
	"runtime"
	"testing"
)

func nodeName(i int) string { return string(rune('a' + i)) }

// memory returns the number of bytes in use on the heap and on goroutine stacks. It empties all pools, and returns the least
// of several measurements, because what runs meanwhile leaves garbage.
func memory() int64 {
	least := int64(math.MaxInt64)
	for range 4 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc+m.StackInuse))
	}
	return least
}

// TestMemoryOfIdleEdges checks that an idle connection uses no more memory at each end than the documentation of
// Transport states, both before and after a large frame.
func TestMemoryOfIdleEdges(t *testing.T) {
	const (
		nodes = 7
		ends  = nodes * (nodes - 1)
	)
	ctx := patient(t)
	var all []node
	for i := range nodes {
		var peers []Peer
		for j := range nodes {
			if j != i {
				peers = append(peers, peerOf(nodeName(j)))
			}
		}
		all = append(all, start(t, nodeName(i), func(c *Config) {
			c.timing = defaultTiming
			c.Logger = slog.New(slog.DiscardHandler)
		}, peers...))
	}
	alone := memory()
	for i, n := range all {
		for j := i + 1; j < nodes; j++ {
			n.reach(t, nodeName(j), all[j].Addr())
		}
	}
	for _, c := range []struct {
		frame int
		limit int64
	}{{1, 30 << 10}, {40_000, 75 << 10}, {200_000, 75 << 10}} {
		frame := make([]byte, c.frame)
		for i, n := range all {
			for j := range nodes {
				if j != i {
					if err := n.Send(ctx, nodeName(j), frame); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, n := range all {
			for range nodes - 1 {
				if _, _, err := n.Recv(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		each := (memory() - alone) / ends
		t.Logf("after a frame of %7d bytes: %d bytes for each end of an edge", c.frame, each)
		if each > c.limit {
			t.Errorf("after a frame of %d bytes each end of an edge holds %d bytes, want at most %d", c.frame, each,
				c.limit)
		}
	}
}
