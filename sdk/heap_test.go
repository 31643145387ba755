package sdk_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestRoundsLeaveNothing checks that the heap is about as large after 1,020 rounds as after 20 rounds.
func TestRoundsLeaveNothing(t *testing.T) {
	few, many := heldAfter(t, 20), heldAfter(t, 1020)
	t.Logf("two nodes hold %d bytes after 20 rounds, and %d after 1,020", few, many)
	if many > few+10_000 { // one eight-byte number per round and node would exceed this
		t.Errorf("two nodes hold %d bytes after 20 rounds, and %d after 1,020", few, many)
	}
}

// heldAfter returns how many bytes the heap grows while two private nodes run the given number of rounds. After the
// last round, one node's oracle blocks while the other node waits. heldAfter then ends both runs and measures the heap,
// so that frames in transit are not included.
func heldAfter(t *testing.T, rounds int) int64 {
	t.Helper()
	before := heapInUse()
	f := &sdk.Fleet{
		Run: "heap", Dim: 100, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 2000, Tau: 1, Batch: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5},
	}
	ctx, cancel := context.WithCancel(t.Context())
	net := mem.New(f.Members...)
	stuck, waiting := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	var nodes []*sdk.Node
	for i, name := range f.Members {
		link, err := net.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		noise, made := rng.New(1, rng.Address{Purpose: rng.Noise, Client: uint32(i)}), 0
		held, waits := sync.OnceFunc(func() { close(stuck) }), sync.OnceFunc(func() { close(waiting) })
		cfg := sdk.Config{Fleet: f, Name: name, Samples: 10, Transport: link, ResendAfter: 20 * time.Millisecond, Noise: &noise}
		cfg.Events.Released = func(round int, _ []float32) { made = round }
		cfg.Oracle = zoest.OracleFunc(func(ctx context.Context, _ []float32, _ int) (float64, error) {
			if name == "b" && made == rounds {
				held()
				<-ctx.Done()
			}
			return 0.5, nil
		})
		if name == "a" {
			cfg.Events.Waiting = func(round int, _ []string) {
				if round == rounds+1 {
					waits()
				}
			}
		}
		node, err := sdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
		all.Go(func() { _ = node.Run(ctx) }) // ends with ctx
	}
	<-stuck
	<-waiting
	cancel()
	all.Wait()
	held := heapInUse() - before
	runtime.KeepAlive(nodes)
	return held
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
