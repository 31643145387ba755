package sdk_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestRepeatsGetRarer checks that nodes without progress resend less and less often: in an hour about as often as in
// four minutes at the initial rate. Once they make progress again, they must react to a lost frame as fast as before.
func TestRepeatsGetRarer(t *testing.T) {
	const resend, hour = 2 * time.Second, time.Hour
	const low, high = 220, 250 // frames per neighbor in an hour: 3600/32 repeats, as many answers, and a few more while the rate falls
	synctest.Test(t, func(t *testing.T) {
		f := only(2, ring())
		trs := inMemory(t, f)
		var frames atomic.Int64
		began := time.Now()
		trs[1] = linked(f, trs, 1, func(p tinytest.Packet) []tinytest.Packet { // every fifth frame is lost, and in the first hour all
			if wire.IsHeartbeat(p.Frame) || frames.Add(1)%5 == 0 || time.Since(began) < hour {
				return nil
			}
			return []tinytest.Packet{p}
		})
		all := nodes(t, f, trs, func(_ int, cfg *sdk.Config) { cfg.ResendAfter, cfg.Linger = resend, time.Minute })
		go func() {
			time.Sleep(hour)
			if n := frames.Load(); n < low || n > high {
				t.Errorf("%d frames in an hour, want %d to %d", n, low, high)
			}
		}()
		ok(t, runAll(t.Context(), all)...)
		// After the hour, a node retries within half a minute, and again within half a minute if that frame is also
		// lost. Each later lost frame costs two ticks.
		if took := time.Since(began); took < hour || took > hour+(16+16+2*8)*resend {
			t.Errorf("the run took %v", took)
		}
	})
}
