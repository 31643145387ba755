package ws

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

func (n node) awaitCount(t *testing.T, word string, want int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		n.log.mu.Lock()
		got, changed := strings.Count(n.log.text.String(), word), n.log.changed
		n.log.mu.Unlock()
		if got >= want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%q logged %d times, want %d", word, got, want)
		}
	}
}

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
		b.awaitCount(t, "msg=disconnected", c.cuts)
	}
}

// TestProtocolFaults checks that if a peer violates the protocol, the connection ends and both ends report the reason.
// TestMalformedMessages has all other violations.
func TestProtocolFaults(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	r := settledRaw(t, b, "a")
	for range window + 1 {
		r.put(t, kindFrame, 0, nil)
	}
	const want = "more frames than the 4"
	if err := r.farewell(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the peer is told %v, want %q", err, want)
	}
	b.log.await(t, "disconnected", want)
}

func TestFirstMessageMustBeHello(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	r, err := dialRaw(t, b, "a")
	if err != nil {
		t.Fatal(err)
	}
	r.put(t, kindFrame, 0, nil)
	if err := r.farewell(); err == nil || !strings.Contains(err.Error(), "first message has kind 'f'") {
		t.Errorf("the peer is told %v", err)
	}
	b.log.await(t, "no connection", "peer=a", "first message has kind 'f'")
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

	second, err := dialRaw(t, b, "a")
	if err != nil {
		t.Fatal(err)
	}
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

func TestTooLongForPeer(t *testing.T) {
	a, b := pair(t, nil, func(c *Config) { c.MaxFrame = 1000 })
	a.send(t, "b", make([]byte, 1<<16)) // short enough that b reads all of it, and a receives the reason
	a.log.await(t, "disconnected", "the number in the header is 65536, want at most 1000")
	b.log.await(t, "disconnected", "the number in the header is 65536, want at most 1000")
	a.awaitCount(t, "msg=connected", 2)
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
		a.awaitCount(t, "msg=connected", i+1)
		between.cut()
		a.awaitCount(t, "msg=disconnected", i+1)
		b.awaitCount(t, "msg=disconnected", i+1)
		a.send(t, "b", []byte("back"))
		b.expect(t, "a", []byte("back"))
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
