package program

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

// standstill is a fleet of nodes in this process. The last member stops sending in the middle of its round hold+1, and
// the others wait for it.
type standstill struct {
	fleet   *sdk.Fleet
	samples int
	hold    int // rounds that all members complete
}

// look runs the fleet until all other members wait for the last one. It ends the runs, which drops frames in transit,
// and calls see while the nodes still exist.
func (w standstill) look(t *testing.T, see func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	net := mem.New(w.fleet.Members...)
	waiting := make(chan struct{}, 1000)
	var all sync.WaitGroup
	last := w.fleet.Members[len(w.fleet.Members)-1]
	stuck := make(chan struct{})
	var nodes []*sdk.Node
	for i, name := range w.fleet.Members {
		link, err := net.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		cfg := sdk.Config{
			Fleet: w.fleet, Name: name, Samples: w.samples, Transport: link, ResendAfter: 20 * time.Millisecond,
			Oracle: zoest.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0.5, nil }),
		}
		if !w.fleet.Privacy.NonPrivate {
			noise := rng.New(1, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
			cfg.Noise = &noise
		}
		made := 0
		cfg.Observer.Released = func(round int, _ []float32) {
			made = round
		}
		if name == last {
			held := sync.OnceFunc(func() { close(stuck) })
			cfg.Oracle = zoest.OracleFunc(func(ctx context.Context, _ []float32, _ int) (float64, error) {
				if made == w.hold {
					held()
					<-ctx.Done()
				}
				return 0.5, nil
			})
		} else {
			cfg.Observer.Waiting = func(round int, _ []string) {
				if round == w.hold+1 {
					waiting <- struct{}{}
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
	for range len(w.fleet.Members) - 1 {
		<-waiting
	}
	cancel()
	all.Wait()
	see()
	runtime.KeepAlive(nodes)
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// wholeFleet is a complete graph of so many members, private on a grid, or not private.
func wholeFleet(dim, members int, private bool) *sdk.Fleet {
	f := &sdk.Fleet{
		Run: "heap", Dim: dim,
		Method:  sdk.Method{Rounds: 2000, Tau: 1, Batch: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	if private {
		f.Privacy = sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5}
	}
	for i := range members {
		for _, other := range f.Members {
			f.Edges = append(f.Edges, [2]string{other, string(rune('a' + i))})
		}
		f.Members = append(f.Members, string(rune('a'+i)))
	}
	return f
}

// After a thousand rounds the heap is as large as after a few.
func TestRoundsLeaveNothing(t *testing.T) {
	held := func(rounds int) (bytes int64) {
		before := heapInUse()
		standstill{fleet: wholeFleet(1000, 2, true), samples: 10, hold: rounds}.look(t, func() { bytes = heapInUse() - before })
		return bytes
	}
	few, many := held(20), held(1020)
	t.Logf("two nodes hold %d bytes after 20 rounds, and %d after 1,020", few, many)
	if many > few+10_000 { // one eight-byte number per round and node would exceed this
		t.Errorf("two nodes hold %d bytes after 20 rounds, and %d after 1,020", few, many)
	}
}
