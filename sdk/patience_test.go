package sdk_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// dumb is a transport that counts the frames that a node sends. It drops all frames while lose is true, and otherwise
// every fifth frame.
type dumb struct {
	transport.Transport
	frames atomic.Int64
	lose   atomic.Bool
}

func (d *dumb) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return nil
	}
	if n := d.frames.Add(1); d.lose.Load() || n%5 == 0 {
		return nil
	}
	return d.Transport.Send(ctx, to, frame)
}

// TestRepeatsGetRarer checks that nodes without progress resend less and less often: in an hour about as often as in
// four minutes at the initial rate. Once they make progress again, they must react to a lost frame as fast as before.
func TestRepeatsGetRarer(t *testing.T) {
	const resend, hour = 2 * time.Second, time.Hour
	const low, high = 220, 250 // frames per neighbor in an hour: 3600/32 repeats, as many answers, and a few more while the rate falls
	synctest.Test(t, func(t *testing.T) {
		f := ring()
		f.Members, f.Edges = []string{"a", "b"}, [][2]string{{"a", "b"}}
		trs := inMemory(t, f)
		b := &dumb{Transport: trs[1]}
		b.lose.Store(true)
		all := nodes(t, f, []transport.Transport{trs[0], b}, func(_ int, cfg *sdk.Config) {
			cfg.ResendAfter, cfg.Linger = resend, time.Minute
		})
		go func() {
			time.Sleep(hour)
			if n := b.frames.Load(); n < low || n > high {
				t.Errorf("%d frames in an hour, want %d to %d", n, low, high)
			}
			b.lose.Store(false)
		}()
		began := time.Now()
		if err := errors.Join(runAll(t.Context(), all)...); err != nil {
			t.Fatal(err)
		}
		// After the hour, a node retries within half a minute, and again within half a minute if that frame is also
		// lost. Each later lost frame costs two ticks.
		if took := time.Since(began); took < hour || took > hour+(16+16+2*8)*resend {
			t.Errorf("the run took %v", took)
		}
	})
}
