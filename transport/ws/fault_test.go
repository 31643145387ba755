package ws

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestBrokenFrameIsSentAgain checks that if the connection breaks while a frame is being sent, the frame is sent again
// on the next connection, and that the frame is lost if that connection breaks too.
func TestBrokenFrameIsSentAgain(t *testing.T) {
	frame := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB, more than the sockets on the path hold
	for _, c := range []struct {
		cuts    int
		arrives bool
	}{{1, true}, {2, false}} {
		b := start(t, "b", nil, peerOf("a"))
		a := start(t, "a", nil, peerOf("b"))
		between := newRelay(t, b)
		between.cuts = c.cuts
		a.reach(t, "b", between.addr)
		a.send(t, "b", frame)
		a.send(t, "b", []byte("next"))
		if c.arrives {
			b.expect(t, "a", frame)
		} else {
			a.log.await(t, "WARN", "frame lost", "peer=b", "bytes=8388608")
		}
		b.expect(t, "a", []byte("next"))
		b.log.awaitCount(t, c.cuts, "msg=disconnected")
	}
}

// TestProtocolFaults checks that if a peer violates the protocol, the connection ends and both ends report the reason.
// TestMalformedMessages has all other violations.
func TestProtocolFaults(t *testing.T) {
	b := start(t, "b", func(c *Config) { c.MaxFrame = 1000 }, peerOf("a"))
	for _, c := range []struct {
		open   func(t *testing.T, to node, keyName string) *raw
		times  int
		number int
		want   string
		log    string
	}{
		{dialRaw, 1, 0, "first message has kind 'f'", "no connection"},
		{settledRaw, 1, 1 << 16, "the number in the header is 65536, want at most 1000", "disconnected"}, // short enough that b reads all of it
		{settledRaw, window + 1, 0, "more frames than the 4", "disconnected"},
	} {
		r := c.open(t, b, "a")
		for range c.times {
			r.put(t, kindFrame, c.number, make([]byte, c.number))
		}
		if err := r.farewell(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the peer is told %v, want %q", err, c.want)
		}
		b.log.await(t, c.log, "peer=a", c.want)
	}
}

// TestNewerConnectionReplacesOlder checks that a peer that lost its connection can connect again even if this node
// still has the old connection, as after a power failure, whichever of the two names sorts first.
func TestNewerConnectionReplacesOlder(t *testing.T) {
	for _, names := range [][2]string{{"b", "a"}, {"a", "b"}} {
		stays, peer := start(t, names[0], nil, peerOf(names[1])), names[1]
		old := settledRaw(t, stays, peer)
		old.put(t, kindFrame, 3, []byte("old"))
		old.put(t, kindCredit, 0, nil)
		again := settledRaw(t, stays, peer)
		if err := old.farewell(); err == nil {
			t.Error("the old connection is still open")
		}
		stays.log.await(t, "disconnected", errReplaced.Error())
		again.put(t, kindFrame, 3, []byte("new"))
		stays.send(t, peer, []byte("answer"))
		if _, body := again.get(t, kindFrame); string(body) != "answer" {
			t.Errorf("the new connection got %q", body)
		}
		// The frame on the old connection may be lost, but the frame on the new connection must arrive.
		from, frame, err := stays.Recv(patient(t))
		if err == nil && string(frame) == "old" {
			from, frame, err = stays.Recv(patient(t))
		}
		if err != nil || from != peer || string(frame) != "new" {
			t.Errorf("received %q from %q, error %v", frame, from, err)
		}
	}
}

// TestCreditOutlivesConnection checks that frames waiting for Recv reduce the credit on a new connection, so that a
// peer cannot use more memory by reconnecting.
func TestCreditOutlivesConnection(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	first := settledRaw(t, b, "a")
	for range window - 1 {
		first.put(t, kindFrame, 0, nil)
	}
	first.tls.Close()
	b.log.await(t, "disconnected")

	second := dialRaw(t, b, "a")
	second.put(t, kindHello, 0, nil)
	second.get(t, kindHello)
	second.put(t, kindCredit, 0, nil)
	if n, _ := second.get(t, kindCredit); n != 1 {
		t.Errorf("credit on the second connection is %d, want 1", n)
	}
	b.expect(t, "a", nil)
	for {
		n, _ := second.get(t, kindCredit)
		if n == 1 {
			break
		}
		if n != 0 {
			t.Fatalf("credit for one frame received is %d", n)
		}
	}
}

// TestOpened checks that Opened reports every new connection, and that connections are not delayed if nobody reads the
// channel.
func TestOpened(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"), peerOf("aa"))
	a := start(t, "a", nil, peerOf("b"))
	aa := start(t, "aa", nil, peerOf("b"))
	between := newRelay(t, b)
	var n transport.Notifier = b
	next := func(want string) {
		t.Helper()
		select {
		case got := <-n.Opened():
			if got != want {
				t.Fatalf("a way to %q has opened, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("nothing has opened, want %q", want)
		}
	}
	a.reach(t, "b", between.addr)
	next("a")
	aa.reach(t, "b", b.Addr())
	next("aa")
	const times = 12 // more than the channel holds
	for i := range times {
		a.log.awaitCount(t, i+1, "msg=connected")
		between.cut()
		a.log.awaitCount(t, i+1, "msg=disconnected")
		b.log.awaitCount(t, i+1, "msg=disconnected")
		a.send(t, "b", []byte("back"))
		b.expect(t, "a", []byte("back"))
	}
	if s := a.Peers()[0]; s.Where != between.addr {
		t.Errorf("connected at %q, want the address of the proxy, %q", s.Where, between.addr)
	}
	room := cap(n.Opened())
	if room == 0 || room >= times {
		t.Fatalf("room for %d names, want some, but fewer than %d", room, times)
	}
	for range room {
		next("a")
	}
	select {
	case got := <-n.Opened():
		t.Errorf("a further name, %q", got)
	default:
	}
}
