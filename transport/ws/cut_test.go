package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// numbered returns the frame with number i. The number determines the whole content, so that a test can verify the
// frame.
func numbered(i uint64) []byte {
	draw := rand.NewPCG(i, 7)
	b := binary.BigEndian.AppendUint64(nil, i)
	for n := draw.Uint64() % 4000 * (draw.Uint64() % 8); n > 0; n-- {
		b = binary.BigEndian.AppendUint64(b, draw.Uint64())
	}
	return b
}

// cutter is a connection that breaks after a given total number of bytes in both directions.
type cutter struct {
	net.Conn
	left *atomic.Int64
	cuts *atomic.Int64
}

func (c cutter) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left.Add(-int64(n)) >= 0 || n == 0 {
		return n, err
	}
	over := int(-c.left.Load())
	c.Conn.Close()
	c.cuts.Add(1)
	return max(0, n-over), net.ErrClosed
}

// TestCutsAnywhere repeatedly cuts the connection while frames flow in both directions. It cuts at random points: in
// handshakes, between frames and inside frames. A frame may be lost or arrive twice, but no frame may arrive three
// times, out of order or modified.
func TestCutsAnywhere(t *testing.T) {
	cuts := int64(50)
	if long {
		cuts = 300
	}
	b := start(t, "b", quick, peerOf("a"))
	var done atomic.Int64
	var mu sync.Mutex
	draw := rand.New(rand.NewPCG(3, 4))
	at := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
		mu.Lock()
		n := draw.Int64N(1 << (8 + draw.IntN(14))) // from a few bytes to 2 MiB
		mu.Unlock()
		if done.Load() >= cuts {
			n = 1 << 60
		}
		var left atomic.Int64
		left.Store(n)
		far, err = net.Dial("tcp", b.listener.Addr().String())
		return cutter{in, &left, &done}, cutter{far, &left, &done}, err
	})
	a := start(t, "a", quick, peerOf("b"))
	a.reach(t, "b", "wss://"+at+"/")

	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	var wg, both sync.WaitGroup
	both.Add(2)
	for _, way := range []struct{ from, to node }{{a, b}, {b, a}} {
		wg.Go(func() {
			for i := uint64(0); ; i++ {
				if way.from.Send(ctx, way.to.cfg.Name, numbered(i)) != nil {
					return
				}
			}
		})
		wg.Go(func() {
			var last uint64
			var sure int
			times := 1 // how often the last number was received; number 0 counts as received
			twice, received := 0, 0
			for {
				_, frame, err := way.to.Recv(ctx)
				if err != nil {
					if sure < 5 {
						t.Errorf("to %s: %v", way.to.cfg.Name, err)
						both.Done()
					}
					break
				}
				i := binary.BigEndian.Uint64(frame)
				switch {
				case !bytes.Equal(frame, numbered(i)):
					t.Errorf("to %s: frame %d is not what was sent", way.to.cfg.Name, i)
				case received == 0 && i == 0:
				case i > last:
					times = 1
				case i < last:
					t.Errorf("to %s: frame %d after %d", way.to.cfg.Name, i, last)
				default:
					twice++
					if times++; times > 2 {
						t.Errorf("to %s: frame %d for the time %d", way.to.cfg.Name, i, times)
					}
				}
				last = i
				received++
				if done.Load() >= cuts {
					if sure++; sure == 5 {
						both.Done()
					}
				}
			}
			t.Logf("to %s: %d frames of %d, %d of them twice", way.to.cfg.Name, received-twice, last+1, twice)
		})
	}
	both.Wait()
	cancel()
	wg.Wait()
}

func quick(c *Config) {
	c.timing = fast
	c.timing.backoffMax = time.Millisecond
}
