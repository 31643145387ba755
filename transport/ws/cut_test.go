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

// flow makes two nodes send numbered frames to each other. Frames must arrive unchanged and in order, each once. If
// connections break meanwhile, a frame may be lost or arrive twice. The returned function waits for further frames in both
// directions and then ends the flow.
func flow(t *testing.T, a, b node, breaks bool) (end func(further int64)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	var wg sync.WaitGroup
	var arrived [2]atomic.Int64
	for k, way := range []struct{ from, to node }{{a, b}, {b, a}} {
		wg.Go(func() {
			for i := uint64(1); way.from.Send(ctx, way.to.cfg.Name, numbered(i)) == nil; i++ {
			}
		})
		wg.Go(func() {
			last, times := uint64(0), 0
			for {
				_, frame, err := way.to.Recv(ctx)
				if err != nil {
					break
				}
				i := binary.BigEndian.Uint64(frame)
				if times++; i != last {
					times = 1
				}
				if !bytes.Equal(frame, numbered(i)) || i < last || times > 2 || !breaks && i != last+1 {
					t.Errorf("to %s: frame %d of %d bytes after frame %d, for the time %d", way.to.cfg.Name, i, len(frame), last, times)
				}
				last = i
				arrived[k].Add(1)
			}
			t.Logf("to %s: %d frames of %d, some perhaps twice", way.to.cfg.Name, arrived[k].Load(), last)
		})
	}
	return func(further int64) {
		t.Helper()
		for k := range arrived {
			for least := arrived[k].Load() + further; arrived[k].Load() < least && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
		}
		if ctx.Err() != nil {
			t.Errorf("%d and %d frames have arrived, want %d more", arrived[0].Load(), arrived[1].Load(), further)
		}
		cancel()
		wg.Wait()
	}
}

func TestFramesStayInOrder(t *testing.T) {
	a, b := pair(t, nil, nil)
	flow(t, a, b, false)(80)
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

	end := flow(t, a, b, true)
	for done.Load() < cuts && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	end(5)
}

func quick(c *Config) {
	c.timing = fast
	c.timing.backoffMax = time.Millisecond
}
