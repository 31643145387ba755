package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

func TestBothWays(t *testing.T) {
	a, b := pair(t, nil, nil)
	for _, text := range []string{"one", "", "three"} {
		a.send(t, "b", []byte(text))
		b.expect(t, "a", []byte(text))
		b.send(t, "a", []byte(text))
		a.expect(t, "b", []byte(text))
	}
	a.log.await(t, "INFO", "connected", "peer=b", b.Addr())
	b.log.await(t, "INFO", "connected", "peer=a")
	for _, s := range [][]transport.PeerStatus{a.Peers(), b.Peers()} {
		if len(s) != 1 || !s[0].Connected || s[0].Err != nil || s[0].Since.IsZero() || s[0].Where == "" {
			t.Errorf("status %+v, want one peer, connected", s)
		}
	}
}

// TestBigFrame checks that both ends can send frames at the same time even if the frames are too large for the socket
// buffers between them.
func TestBigFrame(t *testing.T) {
	a, b := pair(t, nil, nil)
	big := make([]byte, 8<<20)
	var seed [32]byte
	rand.NewChaCha8(seed).Read(big)
	var wg sync.WaitGroup
	for _, way := range []struct {
		n  node
		to string
	}{{a, "b"}, {b, "a"}} {
		wg.Go(func() {
			if err := way.n.Send(patient(t), way.to, big); err != nil {
				t.Error(err)
			}
		})
	}
	a.expect(t, "b", big)
	b.expect(t, "a", big)
	wg.Wait()
}

func TestFramesStayInOrder(t *testing.T) {
	const each = 500
	names := []string{"a", "b", "c"}
	nodes := make(map[string]node)
	for _, name := range names {
		var peers []Peer
		for _, o := range names {
			if o != name {
				peers = append(peers, peerOf(o))
			}
		}
		nodes[name] = start(t, name, nil, peers...)
	}
	for _, name := range names {
		for _, o := range names {
			if name < o {
				nodes[name].reach(t, o, nodes[o].Addr())
			}
		}
	}
	ctx := patient(t)
	var wg sync.WaitGroup
	for _, name := range names {
		for _, to := range names {
			if to == name {
				continue
			}
			wg.Go(func() {
				for i := range each {
					frame := binary.AppendUvarint([]byte(name+to), uint64(i))
					if i%5 == 0 {
						frame = append(frame, make([]byte, 20*short)...) // which short frames must not overtake
					}
					if err := nodes[name].Send(ctx, to, frame); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Go(func() {
			next := make(map[string]uint64)
			for range 2 * each {
				from, frame, err := nodes[name].Recv(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				i, _ := binary.Uvarint(frame[2:])
				if string(frame[:2]) != from+name || i != next[from] {
					t.Errorf("%s received frame %q number %d from %s, want number %d", name, frame[:2], i, from,
						next[from])
					return
				}
				next[from]++
			}
		})
	}
	wg.Wait()
}

func TestSendErrors(t *testing.T) {
	a, _ := pair(t, func(c *Config) { c.MaxFrame = 4 }, nil)
	if got := a.MaxFrame(); got != 4 {
		t.Errorf("MaxFrame() = %d, want 4", got)
	}
	for _, c := range []struct{ to, frame, want string }{
		{"b", "fives", `"b": frame of 5 bytes, want at most 4`},
		{"a", "x", `"a": not a neighbor of "a"`},
		{"z", "x", `"z": not a neighbor of "a"`},
	} {
		if err := a.Send(patient(t), c.to, []byte(c.frame)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Send(%q, %q) = %v, want %q", c.to, c.frame, err, c.want)
		}
	}
}

// TestBackPressureIsPerPeer checks that if a receiver does not call Recv, only the members that send to it wait, and
// the receiver's connections stay open.
func TestBackPressureIsPerPeer(t *testing.T) {
	slow := start(t, "b", nil, peerOf("a"))
	c := start(t, "c", nil, peerOf("a"))
	a := start(t, "a", nil, peerOf("b"), peerOf("c"))
	a.reach(t, "b", slow.Addr())
	a.reach(t, "c", c.Addr())

	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	sent := make(chan int, 1)
	waiting.Go(func() {
		for i := 0; ; i++ {
			if err := a.Send(ctx, "b", fmt.Append(nil, i)); err != nil {
				sent <- i
				return
			}
		}
	})
	for i := range 50 {
		a.send(t, "c", fmt.Append(nil, i))
		c.expect(t, "a", fmt.Append(nil, i))
		c.send(t, "a", nil)
		a.expect(t, "c", nil)
	}
	// The slow receiver can send so many frames only if it still reads the credits that member "a" grants.
	for i := range 5 * window {
		slow.send(t, "a", fmt.Append(nil, i))
		a.expect(t, "b", fmt.Append(nil, i))
	}
	cancel()
	waiting.Wait()
	n := <-sent
	if n > window {
		t.Errorf("%d frames were taken for a peer that takes none, want at most %d", n, window)
	}
	if s := a.Peers()[0]; !s.Connected || s.Err != nil {
		t.Errorf("status %+v, want still connected", s)
	}
	for i := range n {
		slow.expect(t, "a", fmt.Append(nil, i))
	}
	a.send(t, "b", []byte("more"))
	slow.expect(t, "a", []byte("more"))
	if n = a.log.count("msg=connected"); n != 2 {
		t.Errorf("%d connections made, want 2", n)
	}
}

func TestContextEndsWaiting(t *testing.T) {
	a := start(t, "a", nil, peerOf("b"))
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() { errs <- a.Send(ctx, "b", nil) }()
	go func() { _, _, err := a.Recv(ctx); errs <- err }()
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	}
}

func TestSendSaysWhyItWaits(t *testing.T) {
	a := start(t, "a", nil, peerOf("b"))
	gone := start(t, "b", nil, peerOf("a"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Send(ctx, "b", nil) }()
	addr := gone.Addr()
	gone.Close()
	a.reach(t, "b", addr)
	a.log.await(t, "WARN", "no connection", "peer=b", "refused")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want one that says that the connection was refused", err)
	}
}

func TestCloseEndsWaiting(t *testing.T) {
	a := start(t, "a", nil, peerOf("b"))
	errs := make(chan error, 2)
	go func() { errs <- a.Send(t.Context(), "b", nil) }()
	go func() { _, _, err := a.Recv(t.Context()); errs <- err }()
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
	if err := a.Send(t.Context(), "b", nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Send after Close: %v, want ErrClosed", err)
	}
	if _, _, err := a.Recv(t.Context()); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Recv after Close: %v, want ErrClosed", err)
	}
}

// TestCloseDelivers checks that frames for which Send has returned are delivered even if Close is called immediately
// afterwards.
func TestCloseDelivers(t *testing.T) {
	a, b := pair(t, nil, nil)
	last := bytes.Repeat([]byte("last"), 1<<19)
	a.send(t, "b", last)
	a.Close()
	b.expect(t, "a", last)
	b.log.await(t, "disconnected", "the peer closed the connection: going away")
}

func TestPeersAreSorted(t *testing.T) {
	a := start(t, "a", nil, peerOf("d"), peerOf("b"), peerOf("c"))
	for i, s := range a.Peers() {
		if want := "bcd"[i : i+1]; s.Name != want || s.Connected {
			t.Errorf("peer %d: %+v, want %s, not connected", i, s, want)
		}
	}
}
