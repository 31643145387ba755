package ws

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// sink is a connection that records the bytes written to it. If limit is not 0, it fails after limit bytes.
type sink struct {
	net.Conn
	writes [][]byte
	total  int
	limit  int
}

var errFull = errors.New("sink is full")

func (s *sink) Write(p []byte) (int, error) {
	if s.limit > 0 && s.total+len(p) > s.limit {
		return 0, errFull
	}
	s.total += len(p)
	s.writes = append(s.writes, bytes.Clone(p))
	return len(p), nil
}

// TestCoalescerKeepsEverything checks that a coalescer passes on all data in order, whatever the sizes of the writes
// and whether or not it collects them. A coalescer that collects writes must pass data on in full blocks, except for
// the last block.
func TestCoalescerKeepsEverything(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var below sink
	tcp := newTCP(&below)
	g := &coalescer{Conn: tcp}
	var want []byte
	next := byte(0)
	piece := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = next
			next = next*5 + 1
		}
		want = append(want, p...)
		return p
	}
	for range 100 {
		held := draw.IntN(3) > 0
		if held {
			g.hold()
		}
		before := len(below.writes)
		for range draw.IntN(6) {
			p := piece([]int{draw.IntN(10), draw.IntN(5000), draw.IntN(chunk), 16 << 10, chunk}[draw.IntN(5)])
			if n, err := g.Write(p); n != len(p) || err != nil {
				t.Fatalf("wrote %d of %d bytes, error %v", n, len(p), err)
			}
		}
		if !held {
			continue
		}
		if err := g.release(); err != nil {
			t.Fatal(err)
		}
		if g.buf != nil {
			t.Fatal("a buffer is kept after the end")
		}
		for i, p := range below.writes[before:] {
			if len(p) != chunk && i < len(below.writes)-before-1 {
				t.Fatalf("block %d has %d bytes, want all but the last full", i, len(p))
			}
		}
	}
	if got := bytes.Join(below.writes, nil); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes written, %d arrived, not the same", len(want), len(got))
	}
	if got := tcp.traffic.sent.Load(); got != int64(len(want)) {
		t.Errorf("%d bytes counted, want %d", got, len(want))
	}
}

// TestCoalescerReportsErrors checks that the error of a deferred write is returned at the end of the message and by
// every later write.
func TestCoalescerReportsErrors(t *testing.T) {
	for _, size := range []int{1, 20_000, 3 * chunk} {
		below := &sink{limit: size, total: 1} // fails one byte before the end
		g := &coalescer{Conn: newTCP(below)}
		g.hold()
		_, err := g.Write(make([]byte, size))
		if failed := g.release(); err == nil {
			err = failed
		}
		if !errors.Is(err, errFull) {
			t.Errorf("%d bytes: error %v, want %v", size, err, errFull)
		}
		below.limit = 0
		if _, err := g.Write([]byte("x")); !errors.Is(err, errFull) {
			t.Errorf("%d bytes: a later write gives %v, want the first error again", size, err)
		}
		g.hold()
		if err := g.release(); !errors.Is(err, errFull) {
			t.Errorf("%d bytes: a later message gives %v, want the first error again", size, err)
		}
		if g.buf != nil {
			t.Errorf("%d bytes: a buffer is kept after an error", size)
		}
	}
}

// TestPingsBetweenFrames checks that frames stay intact when one goroutine sends a frame in several writes while the
// websocket library, in the reading goroutine, answers pings.
func TestPingsBetweenFrames(t *testing.T) {
	const frames = 30
	b := start(t, "b", nil, peerOf("a"))
	r := settledRaw(t, b, "a")
	frame := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		for range frames {
			if err := b.Send(patient(t), "a", frame); err != nil {
				t.Error(err)
			}
		}
	})
	pings := 0
	wg.Go(func() {
		//lint:ignore SA1019 see conn.go
		for r.ws.Ping(ctx) == nil {
			pings++
		}
	})
	for got := 0; got < frames; {
		k, n, body, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, n)
		if k == kindCredit {
			p = nil
		}
		if err := r.readBody(body, p); err != nil {
			t.Fatal(err)
		}
		if k != kindFrame {
			continue
		}
		if !bytes.Equal(p, frame) {
			t.Fatalf("frame %d is not what was sent", got)
		}
		got++
		r.put(t, kindCredit, 1, nil)
	}
	cancel()
	wg.Wait()
	if pings == 0 {
		t.Error("no ping was answered")
	}
}

// TestBytesAreCounted checks that both ends count the same number of bytes, only slightly more than the length of the
// frame.
func TestBytesAreCounted(t *testing.T) {
	slow := func(c *Config) { c.timing = defaultTiming } // so slow that no keepalive is sent in the meantime
	a, b := pair(t, slow, slow)
	frame := make([]byte, 40_000)
	a.send(t, "b", frame)
	b.expect(t, "a", frame)
	b.send(t, "a", nil)
	a.expect(t, "b", nil)
	deadline := time.Now().Add(patience)
	for {
		at, bt := a.Peers()[0], b.Peers()[0]
		if at.Sent == bt.Received && at.Received == bt.Sent {
			if rest := at.Sent - int64(len(frame)); rest < 1000 || rest > 4000 {
				t.Errorf("%d bytes beyond the frame, want those of a handshake", rest)
			}
			return
		}
		if time.Now().After(deadline) { // wait, because bytes are counted only after they are written
			t.Fatalf("a counts %d sent and %d received, b %d received and %d sent", at.Sent, at.Received, bt.Received,
				bt.Sent)
		}
		time.Sleep(time.Millisecond)
	}
}
