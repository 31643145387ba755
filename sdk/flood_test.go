package sdk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
)

// TestFlood checks that a neighbor cannot stop a node's work by sending constantly, because the node takes only one
// frame between two queries.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := path(false)
		trs := inMemory(t, f)
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
				for range 3 {
					go func() { _ = trs[2].Send(ctx, "victim", []byte("flood")) }()
				}
				time.Sleep(time.Microsecond) // until these frames wait for the node
				return oracle(1)(ctx, x, sample)
			})
		})
		victim = all[1]
		mustRun(t, all)
		if most != 1 {
			t.Errorf("%d frames were taken in between two queries, want 1", most)
		}
		sameModels(t, all, simulated(t, f))
	})
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
			ok(t, trs[2].Send(ctx, "victim", []byte("flood")))
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
