package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// TestBombs checks that a frame of a few bytes may decode to a vector of zeros, but only up to the run's dimension. Two
// hundred such frames, 80 MB when decoded, must not need more memory than a single frame.
func TestBombs(t *testing.T) {
	f := path(true)
	f.Dim, f.Method.Rounds, f.Method.Cooldown = 100_000, 2, 1
	zeros := bytes.Repeat([]byte{1, 0}, 8) // blocks of one repeated byte: 16 bytes for up to 131,072 numbers
	bomb := append([]byte{0xa4, 1, 1, 2, byte(admm.Release), 3, 1, 5, 0x50}, zeros...)
	var heap, sys uint64
	trs := inMemory(t, f)
	evil := newVillain(t, f, func(v *villain, _ *admm.Message) [][]byte {
		if v.round < 1 || sys > 0 {
			return nil
		}
		heap, sys = memory()
		return slices.Repeat([][]byte{bomb}, 200)
	})
	trs[2] = linked(f, trs, 2, evil.link)
	var out admm.Message
	if err := evil.codec.Decode(bomb, &out); err != nil || len(out.Vector) != f.Dim || len(bomb) > 30 {
		t.Fatalf("a bomb of %d bytes for %d numbers: %v", len(bomb), len(out.Vector), err)
	}
	all := nodes(t, f, trs, func(_ int, c *sdk.Config) { c.ResendAfter = time.Minute })
	mustRun(t, all)
	heapAfter, sysAfter := memory()
	t.Logf("heap %+d bytes, system %+d bytes", int64(heapAfter-heap), int64(sysAfter-sys))
	if heapAfter > heap+16<<20 || sysAfter > sys+32<<20 {
		t.Errorf("memory has grown by %d and %d bytes", int64(heapAfter-heap), int64(sysAfter-sys))
	}
	sameModels(t, all, simulated(t, f))
}

// TestFlood checks that a neighbor cannot stop a node's work by sending constantly, because the node takes only one
// frame between two queries.
func TestFlood(t *testing.T) {
	f := path(false)
	trs := inMemory(t, f)
	over := make(chan struct{})
	var flood sync.WaitGroup
	away := trs[2]
	start := sync.OnceFunc(func() {
		flood.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_ = away.Send(t.Context(), "victim", []byte("flood"))
				}
			}
		})
	})
	trs[2] = linked(f, trs, 2, newVillain(t, f, func(*villain, *admm.Message) [][]byte { start(); return nil }).link)
	var victim *sdk.Node
	round, refused, most := -1, int64(0), int64(0)
	all := nodes(t, f, trs, func(i int, c *sdk.Config) {
		if i != 1 {
			return
		}
		c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
			st := victim.Status()
			if st.Round == round {
				most = max(most, st.Refused-refused)
			}
			round, refused = st.Round, st.Refused
			time.Sleep(100 * time.Microsecond) // while many frames arrive
			return oracle(1)(ctx, x, sample)
		})
	})
	victim = all[1]
	mustRun(t, all)
	close(over)
	_ = trs[1].Close() // nobody receives the flood any longer
	flood.Wait()
	if most != 1 {
		t.Errorf("%d frames were taken in between two queries, want 1", most)
	}
	sameModels(t, all, simulated(t, f))
}

// TestFloodOfWaitingNode checks that a waiting node that is flooded with frames leaves the processor to other work,
// because it pauses after each frame.
func TestFloodOfWaitingNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const junk = 5000
		f := path(false)
		trs := inMemory(t, f)
		var victim *sdk.Node
		all := nodes(t, f, trs, func(i int, c *sdk.Config) { c.ResendAfter = time.Hour })
		victim = all[1]
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- victim.Run(ctx) }()
		synctest.Wait() // the node has queried its oracle and waits for the neighbors
		begin := time.Now()
		for range junk {
			if err := trs[2].Send(ctx, "victim", []byte("flood")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// Expect a pause of a millisecond after each frame, except the first thousand, which the node takes without
		// pausing, and the last few, which may still be waiting for Recv.
		took := time.Since(begin)
		if least, most := (junk-1100)*time.Millisecond, junk*time.Millisecond; took < least || took > most {
			t.Errorf("%d frames taken in %v, want between %v and %v", junk, took, least, most)
		}
	})
}
