package sdk_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/spade-dfl/spade-edge/sdk"
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
	f := only(2, privateRing())
	f.Dim, f.Method.Rounds = 100, 2000
	var all []*sdk.Node
	synctest.Test(t, func(t *testing.T) {
		all = nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
			c.Key, c.Keys = nil, nil
			c.Oracle = sdk.OracleFunc(func(ctx context.Context, _ []float32, _ int) (float64, error) {
				if i == 1 && all[1].Status().Round == rounds {
					<-ctx.Done()
				}
				return 0.5, nil
			})
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait() // until one node is stuck and the other waits
			cancel()
		}()
		runAll(ctx, all)
		for _, n := range all {
			if made := n.Status().Round; made < rounds || made > rounds+1 {
				t.Errorf("%d releases, want %d", made, rounds)
			}
		}
	})
	held := heapInUse() - before
	runtime.KeepAlive(all)
	return held
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
