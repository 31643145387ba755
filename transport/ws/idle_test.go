package ws

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
)

// The tests in this file use a fake clock (testing/synctest) that advances when all goroutines are waiting. A pipe
// replaces TCP and TLS.

// pairOver returns two nodes that do not dial each other and have the default timing. ca and cb are the two ends of a
// websocket between them, over the pipe pa to pb.
func pairOver(t *testing.T, pa, pb net.Conn) (a, b node, ca, cb *conn) {
	t.Helper()
	timing := func(c *Config) { c.timing = defaultTiming }
	b = start(t, "b", timing, peerOf("a"))
	b.listener.Close() // a goroutine that waits for the network would stop the clock
	a = start(t, "a", func(c *Config) {
		timing(c)
		c.Listen = ""
	}, peerOf("b"))

	link := func(c net.Conn, peer string) link { // a link without TLS
		tcp := newTCP(c)
		return link{secure: tcp, tcp: tcp, key: publicOf(peer)}
	}
	done := make(chan error, 1)
	go func() {
		var err error
		cb, err = b.answer(b.peers["a"], link(pb, "a"))
		done <- err
	}()
	ca, err := clientConn(link(pa, "b"), "wss://b/", &a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return a, b, ca, cb
}

// serving runs a connection and returns a channel that receives the error with which the connection ends.
func (n node) serving(peer string, c *conn) <-chan error {
	end := make(chan error, 1)
	go func() {
		_, err := n.serve(n.peers[peer], c, "pipe", func() {})
		end <- err
	}()
	return end
}

// stillOpen checks that no connection has ended.
func stillOpen(t *testing.T, ends ...<-chan error) {
	t.Helper()
	for _, end := range ends {
		select {
		case err := <-end:
			t.Fatal(err)
		default:
		}
	}
}

func TestIdleConnectionLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pa, pb := net.Pipe()
		a, b, ca, cb := pairOver(t, pa, pb)
		endA, endB := a.serving("b", ca), b.serving("a", cb)
		for range window { // Recv is not called for these frames for a long time
			if err := a.Send(t.Context(), "b", []byte("early")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		stillOpen(t, endA, endB)
		for range window {
			if _, frame, err := b.Recv(t.Context()); err != nil || string(frame) != "early" {
				t.Fatalf("received %q, error %v", frame, err)
			}
		}
		a.Close()
		b.Close()
		<-endA
		<-endB
	})
}

func TestSilenceEndsConnection(t *testing.T) {
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			pa, pb := net.Pipe()
			a, _, ca, cb := pairOver(t, pa, pb)
			end := a.serving("b", ca)
			far := &raw{conn: cb}
			far.get(t, kindHello)
			far.put(t, kindHello, 0, nil)
			far.get(t, kindCredit)
			far.put(t, kindCredit, window, nil)
			began := time.Now()
			if reads {
				go far.farewell()
			}
			if err := <-end; err == nil {
				t.Error("the connection ended without a reason")
			}
			took := time.Since(began)
			if want := defaultTiming.idle; took < want || took > want+defaultTiming.keepalive {
				t.Errorf("it took %v to notice, want %v", took, want)
			}
			far.tcp.Close()
			a.Close()
		})
	}
}

// slowLink returns the two ends of a link that transfers rate bytes per second in each direction. wait waits until both
// ends are closed.
func slowLink(rate int) (pa, pb net.Conn, wait func()) {
	pa, ra := net.Pipe()
	rb, pb := net.Pipe()
	carry := func(dst, src net.Conn) {
		defer dst.Close()
		defer src.Close()
		buf := make([]byte, 256)
		for {
			n, err := src.Read(buf)
			if err != nil {
				return
			}
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { carry(rb, ra) })
	wg.Go(func() { carry(ra, rb) })
	return pa, pb, wg.Wait
}

// TestSlowLink checks that sending a frame may take longer than the idle timeout as long as some bytes are transferred,
// and that meanwhile frames pass in the other direction.
func TestSlowLink(t *testing.T) {
	for _, rate := range []int{64_000 / 8, 4_000 / 8} {
		synctest.Test(t, func(t *testing.T) {
			pa, pb, wait := slowLink(rate)
			defer wait()
			a, b, ca, cb := pairOver(t, pa, pb)
			endA, endB := a.serving("b", ca), b.serving("a", cb)
			frame := make([]byte, 100<<10)
			for i := range frame {
				frame[i] = byte(i * i >> 8)
			}
			began := time.Now()
			if err := a.Send(t.Context(), "b", frame); err != nil {
				t.Fatal(err)
			}
			if err := b.Send(t.Context(), "a", []byte("meanwhile")); err != nil {
				t.Fatal(err)
			}
			if _, got, err := a.Recv(t.Context()); err != nil || string(got) != "meanwhile" {
				t.Fatalf("received %q, error %v", got, err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("a short frame took %v while a long one went the other way", took)
			}
			if err := b.Send(t.Context(), "a", frame); err != nil { // without a buffer on the link, both write at once
				t.Fatal(err)
			}
			if err := a.Send(t.Context(), "b", frame); err != nil { // waits until the first frame was sent
				t.Fatal(err)
			}
			for _, n := range []node{b, a, b} {
				if _, got, err := n.Recv(t.Context()); err != nil || !bytes.Equal(got, frame) {
					t.Fatalf("received %d bytes, error %v, want the %d sent", len(got), err, len(frame))
				}
			}
			took, least := time.Since(began), time.Duration(2*len(frame)/rate)*time.Second
			if took < least || took > least*11/10+time.Second {
				t.Errorf("it took %v, want a little more than %v", took, least)
			}
			stillOpen(t, endA, endB)
			a.Close()
			b.Close()
			<-endA
			<-endB
		})
	}
}

// TestDialingAgain checks how often a node dials a peer that does not answer: about every second for ten minutes, and then
// about every half a minute. A proxy that refuses is asked as seldom from the beginning.
func TestDialingAgain(t *testing.T) {
	for _, err := range []error{errors.New("nobody"), proxy.ErrRefused} {
		synctest.Test(t, func(t *testing.T) {
			var early, late int
			began := time.Now()
			a := start(t, "a", func(c *Config) {
				c.timing, c.Listen = defaultTiming, ""
				c.dial = func(context.Context, string, string) (net.Conn, error) {
					if time.Since(began) < defaultTiming.eager {
						early++
					} else {
						late++
					}
					return nil, err
				}
			}, at(peerOf("b"), "wss://b/"))
			time.Sleep(time.Hour)
			a.Close()
			if refused := err == proxy.ErrRefused; (early < 600) != refused || early > 1250 || early < 20 || late < 100 || late > 220 {
				t.Errorf("%v: %d attempts in ten minutes and %d in the rest of the hour", err, early, late)
			}
		})
	}
}
