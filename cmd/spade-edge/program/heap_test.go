package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// standstill is a fleet of nodes in this process. The last member falls silent in the midst of its round hold+1; the others
// then wait for it.
type standstill struct {
	fleet   *sdk.Fleet
	samples int
	seeded  bool
	dir     string // of the stores; empty for none
	hold    int    // rounds that all members make first

	released func() // called after every release, by several goroutines; may be nil
}

// look runs the fleet until all but the last member wait for it, ends the runs, with which frames on their way are gone, and calls
// see while the nodes are still there.
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
			Fleet: w.fleet, Name: name, Samples: w.samples, Transport: link, SeededTable: w.seeded, ResendAfter: 20 * time.Millisecond,
			Oracle: zoest.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0.5, nil }),
		}
		if !w.fleet.Privacy.NonPrivate {
			noise := rng.New(1, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
			cfg.Noise = &noise
		}
		if w.dir != "" {
			store, err := state.Open(fmt.Sprintf("%s/%s", w.dir, name), w.fleet.StateSize(name, w.samples))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			cfg.Store = store
		}
		made := 0
		cfg.Observer.Released = func(round int, _ []float32) {
			made = round
			if w.released != nil {
				w.released()
			}
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

// heapInUse returns the bytes that are in use.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// wholeFleet is so many members, each the neighbor of all others, private on a grid, or not private.
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

// The memory that plan states is what a node with its state on disk holds in the midst of a run, to 10 %. Only the scratch of
// decoding, one vector, has gone with the runs when the nodes are looked at.
func TestMemoryFormula(t *testing.T) {
	onlyLong(t)
	arithmetic(t)
	for _, c := range []struct{ dim, samples, members int }{{1e3, 300, 5}, {1e5, 20, 2}, {1e6, 3, 2}} {
		for _, seeded := range []bool{false, true} {
			for _, private := range []bool{true, false} {
				if c.dim > 1e5 && (!long || testing.Short() || !private) {
					continue
				}
				f := wholeFleet(c.dim, c.members, private)
				cfgs, err := f.Machines(slices.Repeat([]int{c.samples}, c.members), func(int) io.Reader { return bytes.NewReader(nil) })
				if err != nil {
					t.Fatal(err)
				}
				cfg := cfgs[0]
				cfg.Estimator.Seeded = seeded
				want := setup.NewMemory(cfg, setup.NewState(cfg)) - 4*int64(c.dim)
				before := heapInUse()
				var each int64
				standstill{fleet: f, samples: c.samples, seeded: seeded, dir: t.TempDir(), hold: 2}.look(t, func() { each = (heapInUse() - before) / int64(c.members) })
				off := float64(each)/float64(want) - 1
				t.Logf("d = %d, seeded %t, private %t: %d bytes held, %d by the formula (%+.1f %%)", c.dim, seeded, private, each, want, 100*off)
				if math.Abs(off) > 0.1 {
					t.Errorf("d = %d, seeded %t, private %t: %d bytes held, %d by the formula", c.dim, seeded, private, each, want)
				}
			}
		}
	}
}

// A thousand rounds leave the heap where it was after a few.
func TestRoundsLeaveNothing(t *testing.T) {
	held := func(rounds int) (bytes int64) {
		before := heapInUse()
		standstill{fleet: wholeFleet(1000, 2, true), samples: 10, hold: rounds}.look(t, func() { bytes = heapInUse() - before })
		return bytes
	}
	few, many := held(20), held(1020)
	t.Logf("two nodes hold %d bytes after 20 rounds, and %d after 1,020", few, many)
	if many > few+10_000 { // one number of eight bytes for each round and node would be more
		t.Errorf("two nodes hold %d bytes after 20 rounds, and %d after 1,020", few, many)
	}
}

// Nodes at a million parameters live under a limit (GOMEMLIMIT sets the same) that leaves a fifth beside what the formula says;
// without one, Go lets garbage grow to the size of what is in use.
func TestMemoryLimit(t *testing.T) {
	onlyLong(t)
	if testing.Short() {
		t.Skip("a million parameters")
	}
	f := wholeFleet(1e6, 2, true)
	cfgs, err := f.Machines([]int{3, 3}, func(int) io.Reader { return bytes.NewReader(nil) })
	if err != nil {
		t.Fatal(err)
	}
	cfgs[0].Estimator.Seeded = true
	debug.FreeOSMemory()
	taken := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys - m.HeapReleased) // what the limit is about
	}
	total := setup.NewMemory(cfgs[0], setup.NewState(cfgs[0]))
	limit := taken() + 2*total*6/5
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	var most atomic.Int64
	standstill{fleet: f, samples: 3, seeded: true, dir: t.TempDir(), hold: 4, released: func() {
		if n := taken(); n > most.Load() {
			most.Store(n)
		}
	}}.look(t, func() {})
	t.Logf("%d bytes taken at most, limit %d, and the two nodes hold %d", most.Load(), limit, 2*total)
	if most.Load() > limit+limit/20 || most.Load() < 2*total { // the limit is one that Go aims at
		t.Errorf("%d bytes are taken, want more than the %d that two nodes hold, and about %d at most", most.Load(), 2*total, limit)
	}
}
