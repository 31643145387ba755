package ws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestBackPressureIsPerPeer checks that if a receiver does not call Recv, only the members that send to it wait, and
// the receiver's connections stay open.
func TestBackPressureIsPerPeer(t *testing.T) {
	slow := start(t, "b", nil, peerOf("a"))
	c := start(t, "c", nil, peerOf("a"))
	a := start(t, "a", nil, peerOf("c"), peerOf("b"))
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

// TestRecycle checks that recycled memory is used again, that frames of all lengths then arrive unchanged, and that a
// frame that was not recycled stays as it was.
func TestRecycle(t *testing.T) {
	a, b := pair(t, nil, nil)
	var kept [][]byte
	memory, again := map[*byte]bool{}, 0
	for i := range byte(60) {
		a.send(t, "b", bytes.Repeat([]byte{i}, int(i)*2111%50_000+1))
		_, frame, err := b.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		if memory[&frame[0]] {
			again++
		}
		if kept = append(kept, frame); i%2 > 0 {
			kept[i] = bytes.Clone(frame)
			memory[&frame[0]] = true
			b.Recycle(frame)
		}
	}
	for i, frame := range kept {
		if want := bytes.Repeat([]byte{byte(i)}, i*2111%50_000+1); !bytes.Equal(frame, want) {
			t.Errorf("frame %d has %d bytes %.20q, want %d bytes %.20q", i, len(frame), frame, len(want), want)
		}
	}
	if again == 0 {
		t.Error("no frame arrived in the memory of an earlier one")
	}
}
