package mem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// open opens the named members of a network and closes them at the end of the test.
func open(t *testing.T, n *Net, names ...string) []transport.Transport {
	t.Helper()
	nodes := make([]transport.Transport, len(names))
	for i, name := range names {
		e, err := n.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		nodes[i] = e
	}
	return nodes
}

func send(t *testing.T, e transport.Transport, to, text string) {
	t.Helper()
	if err := e.Send(t.Context(), to, []byte(text)); err != nil {
		t.Error(err)
	}
}

func recv(t *testing.T, e transport.Transport, from, text string) {
	t.Helper()
	f, b, err := e.Recv(t.Context())
	if err != nil || f != from || string(b) != text {
		t.Fatalf("received %q from %q, error %v, want %q from %q", b, f, err, text, from)
	}
}

func TestSendErrors(t *testing.T) {
	n := New("a", "b")
	n.MaxFrame = 4
	a := open(t, n, "a", "b")[0]
	for _, c := range []struct {
		to, frame, want string
	}{
		{"b", "four", ""},
		{"b", "fives", "frame of 5 bytes, want at most 4"},
		{"a", "x", `"a": not a neighbor`},
		{"z", "x", `"z": not a neighbor`},
	} {
		err := a.Send(t.Context(), c.to, []byte(c.frame))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Send(%q, %q) = %v, want %q", c.to, c.frame, err, c.want)
		}
	}
}

func TestNodeErrors(t *testing.T) {
	n := New("a")
	open(t, n, "a")
	if _, err := n.Node("a"); err == nil || !strings.Contains(err.Error(), "already open") {
		t.Errorf("second Node(a): %v", err)
	}
	if _, err := n.Node("b"); err == nil || !strings.Contains(err.Error(), `has no member "b"`) {
		t.Errorf("Node of a stranger: %v", err)
	}
	n.MaxFrame = -1
	if _, err := n.Node("a"); err == nil || !strings.Contains(err.Error(), "MaxFrame is -1") {
		t.Errorf("Node with MaxFrame -1: %v", err)
	}
}

// TestBackPressureIsPerPair checks that a slow receiver delays only the members that send to it, and each of these
// members only while the queue for its own frames is full.
func TestBackPressureIsPerPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, New("a", "b", "c"), "a", "b", "c")
		for i := range window {
			send(t, e[0], "b", fmt.Sprint(i))
		}
		done := make(chan error, 1)
		go func() { done <- e[0].Send(t.Context(), "b", []byte("late")) }()
		synctest.Wait() // the late frame is now waiting for room
		select {
		case err := <-done:
			t.Fatalf("a Send into a full queue returned %v", err)
		default:
		}
		send(t, e[0], "c", "elsewhere")
		send(t, e[2], "b", "from elsewhere")
		recv(t, e[2], "a", "elsewhere")
		recv(t, e[1], "a", "0")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// TestMemberReturns checks that when a member closes, the frames that it has not received are lost, and that a pending
// call of Send to that member returns.
func TestMemberReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New("a", "b")
		e := open(t, n, "a", "b")
		for range window {
			send(t, e[0], "b", "lost")
		}
		done := make(chan error, 1)
		go func() { done <- e[0].Send(t.Context(), "b", []byte("lost too")) }()
		synctest.Wait()
		e[1].Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		send(t, e[0], "b", "to nobody")
		again := open(t, n, "b")[0]
		send(t, e[0], "b", "to the new one")
		recv(t, again, "a", "to the new one")
	})
}

// TestManyAtOnce checks that when all members send to each other, every frame arrives once, in order and with its sender.
func TestManyAtOnce(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	const each = 200
	e := open(t, New(names...), names...)
	var all sync.WaitGroup
	for i, name := range names {
		for _, to := range names {
			if to != name {
				all.Go(func() {
					for k := range each {
						send(t, e[i], to, fmt.Sprintf("%s>%s %d", name, to, k))
					}
				})
			}
		}
		all.Go(func() {
			next := map[string]int{}
			for range 3 * each {
				from, b, err := e[i].Recv(t.Context())
				if want := fmt.Sprintf("%s>%s %d", from, name, next[from]); err != nil || string(b) != want {
					t.Errorf("received %q from %q, error %v, want %q", b, from, err, want)
				}
				next[from]++
			}
		})
	}
	all.Wait()
}

// TestOpened checks that when a member opens, for the first time or again, exactly the members whose frames it missed
// are notified.
func TestOpened(t *testing.T) {
	n := New("a", "b", "c")
	e := open(t, n, "a", "c")
	opened := func(e transport.Transport, want ...string) {
		t.Helper()
		var got []string
		for len(e.(transport.Notifier).Opened()) > 0 {
			got = append(got, <-e.(transport.Notifier).Opened())
		}
		if !slices.Equal(got, want) {
			t.Errorf("opened: %q, want %q", got, want)
		}
	}
	send(t, e[0], "b", "lost")
	send(t, e[0], "b", "lost too")
	opened(e[0])
	b := open(t, n, "b")[0]
	opened(e[0], "b")
	opened(e[1])
	send(t, e[0], "b", "received")
	recv(t, b, "a", "received")
	send(t, e[0], "b", "not taken before it closes")
	b.Close()
	b = open(t, n, "b")[0]
	opened(e[0], "b")
	b.Close()
	b = open(t, n, "b")[0]
	opened(e[0]) // the closed member missed no frame of e[0]
	opened(b)
}

// TestOpenedWhileSending checks that if a member closes and reopens while another member sends to it, the sender is
// notified of every lost frame.
func TestOpenedWhileSending(t *testing.T) {
	for range 200 {
		n := New("a", "b")
		e := open(t, n, "a", "b")
		var work sync.WaitGroup
		work.Go(func() { send(t, e[0], "b", "perhaps") })
		e[1].Close()
		b := open(t, n, "b")[0]
		work.Wait()
		var heard bool
		select {
		case name := <-e[0].(transport.Notifier).Opened():
			heard = name == "b"
		default:
		}
		if !heard {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if _, text, err := b.Recv(ctx); err != nil || string(text) != "perhaps" {
				t.Fatalf("received %q, error %v, and the sender has not heard that the member is open again", text, err)
			}
			cancel()
		}
	}
}
