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
)

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
	const each = 150
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
