package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
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

// TestWritesAreWholeFrames checks that messages of all lengths arrive unchanged, that each write to TLS consists of whole
// websocket frames and fills TLS records except for the last of a message, and that an error is returned.
func TestWritesAreWholeFrames(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, dialed := range []string{"", "wss://b/"} {
		for _, n := range []int{0, 1, 119, 120, 121, 122, 4000, chunk - 20, chunk - 14, chunk - 13, chunk - 12, chunk - 9, chunk - 8, chunk, 3*chunk - 30, 200_000} {
			for _, granted := range []bool{false, true} {
				messages := []message{{kindFrame, n, make([]byte, n)}}
				for i := range messages[0].body {
					messages[0].body[i] = byte(draw.Uint32())
				}
				if granted {
					messages = append([]message{{kindCredit, 2, nil}}, messages...)
				}
				var below sink
				tcp := newTCP(&below)
				c := &conn{link: link{secure: tcp, tcp: tcp}, dialed: dialed}
				if err := c.write(0, messages...); err != nil {
					t.Fatal(err)
				}
				var got, want []byte
				for i, b := range below.writes {
					if last := i == len(below.writes)-1; len(b) > chunk || !last && len(b) < chunk-frameRoom/2 {
						t.Errorf("%d bytes: write %d has %d bytes, want about %d", n, i, len(b), chunk)
					}
					got = append(got, unframed(t, b, dialed != "")...)
				}
				for _, m := range messages {
					h := putHeader(m.kind, m.number)
					want = append(append(want, h[:]...), m.body...)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes, dialed %q, granted %v: the payloads are not the messages", n, dialed, granted)
				}
				below.limit = below.total
				if err := c.write(0, messages...); !errors.Is(err, errFull) {
					t.Errorf("%d bytes: error %v, want %v", n, err, errFull)
				}
			}
		}
	}
}

// unframed returns the payloads of the websocket frames in b.
func unframed(t *testing.T, b []byte, wantMask bool) (all []byte) {
	for len(b) > 0 {
		n, at := int(b[1]&^masked), 2
		if n == 126 {
			n, at = int(binary.BigEndian.Uint16(b[2:])), 4
		}
		key := make([]byte, 4)
		if b[1]&masked != 0 != wantMask {
			t.Fatalf("masked: %v, want %v", !wantMask, wantMask)
		}
		if wantMask {
			at += copy(key, b[at:])
		}
		for i, x := range b[at : at+n] {
			all = append(all, x^key[i%4])
		}
		b = b[at+n:]
	}
	return all
}

// TestHeldWrites checks that TCP gets what TLS writes between hold and flush in one write, and nothing after an error.
func TestHeldWrites(t *testing.T) {
	below := sink{limit: 8}
	c := newTCP(&below)
	for i, step := range []struct {
		text string
		want error
	}{{"both", nil}, {"longer", errFull}, {"", errFull}} {
		c.hold(make([]byte, 0, 1))
		for j := range step.text {
			c.Write([]byte(step.text[j : j+1]))
		}
		if err := c.flush(0); err != step.want || len(below.writes) != 1 || string(below.writes[0]) != "both" {
			t.Errorf("step %d: error %v, want %v, writes %q", i, err, step.want, below.writes)
		}
	}
	below.limit = 0
	if err := c.flush(0); err != errFull || len(below.writes) != 1 {
		t.Errorf("error %v, writes %q after an error", err, below.writes)
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

// TestSendNow checks in which states Send writes a frame itself.
func TestSendNow(t *testing.T) {
	a, b := pair(t, func(c *Config) { c.timing.keepalive = patience }, nil)
	a.send(t, "b", nil)
	b.expect(t, "a", nil)
	p := a.peers["b"]
	p.writing.Lock()
	s := p.writer
	p.writing.Unlock()
	normal := func() {
		p.writing.Lock()
		defer p.writing.Unlock()
		p.passed.Store(0)
		p.writer, p.resend, s.sent, s.long = s, false, window, 0
		s.credit.Store(window)
	}
	frame := make([]byte, short+1)
	for _, c := range []struct {
		name   string
		length int
		change func()
		want   bool
	}{
		{"short", short, func() {}, true},
		{"least credit", 1, func() { s.credit.Store(2) }, true},
		{"long frame was received", 1, func() { s.long = s.sent; s.credit.Store(window) }, true},
		{"long", short + 1, func() {}, false},
		{"no session", 1, func() { p.writer = nil }, false},
		{"frame to send again", 1, func() { p.resend = true }, false},
		{"frame of another Send", 1, func() { p.passed.Add(1) }, false},
		{"no credit to spare", 1, func() { s.credit.Store(1) }, false},
		{"too much credit", 1, func() { s.credit.Store(window + 1) }, false},
		{"long frame may be under way", 1, func() { s.long = s.sent; s.credit.Store(window - 1) }, false},
	} {
		normal()
		p.writing.Lock()
		c.change()
		p.writing.Unlock()
		got := p.sendNow(frame[:c.length])
		normal()
		if got != c.want {
			t.Errorf("%s: wrote %v, want %v", c.name, got, c.want)
		}
		if got {
			b.expect(t, "a", frame[:c.length])
		}
	}
	p.writing.Lock()
	if p.sendNow(nil) {
		t.Error("wrote during another write")
	}
	p.writing.Unlock()
}

// TestSendDoesNotWaitForPeerThatDoesNotReceive checks that a peer that grants credit and does not receive cannot make
// Send wait much longer than the linger timeout, and that it loses its connection.
func TestSendDoesNotWaitForPeerThatDoesNotReceive(t *testing.T) {
	b := start(t, "b", func(c *Config) { c.timing.linger = 100 * time.Millisecond }, peerOf("a"))
	r := settledRaw(t, b, "a")
	p, frame := b.peers["a"], make([]byte, short)
	s := p.current()
	for began := time.Now(); p.current() == s; {
		for s.credit.Load() < window && p.current() == s {
			time.Sleep(10 * time.Microsecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		start := time.Now()
		b.Send(ctx, "a", frame)
		cancel()
		if took := time.Since(start); took > patience/4 {
			t.Fatalf("Send took %v", took)
		}
		if time.Since(began) > patience/2 {
			t.Fatal("the connection did not end")
		}
		r.write(0, message{kindCredit, 1, nil})
	}
}
