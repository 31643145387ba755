package ws

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// evilPeer connects a misbehaving peer to a node and returns the peer's end of the TLS connection. The peer dials if dials
// is true, and listens otherwise.
func evilPeer(t *testing.T, to node, name string, dials bool) net.Conn {
	t.Helper()
	evil := start(t, name, func(c *Config) {
		quiet(c)
		c.timing.keepalive = time.Hour // a keepalive inside a message of the test would end the connection
	}, peerOf(to.cfg.Name))
	if dials {
		evil.reach(t, to.cfg.Name, to.Addr())
	} else {
		to.reach(t, name, evil.Addr())
	}
	to.send(t, name, nil)
	evil.expect(t, to.cfg.Name, nil)
	return evil.peers[to.cfg.Name].current().c.secure
}

// TestUselessTraffic checks that a member that fills the link with data other than frames loses its connection,
// whichever end dialed.
func TestUselessTraffic(t *testing.T) {
	header, credit := putHeader(kindFrame, 1_000_000), putHeader(kindCredit, 0)
	const left = uselessLimit / 8 // of the allowance; the bytes before count alike
	for _, dials := range []bool{true, false} {
		frame := func(first byte, length int, payload []byte) []byte {
			return frameBy(dials, first, uint64(length), payload)
		}
		ping := frame(fin|ping, 0, nil)
		piece := func(n int) []byte { return frame(continuation, n, make([]byte, n)) }
		for name, flood := range map[string]struct {
			first, again []byte
			alone        bool // whether each piece of data is in a TLS record of its own
		}{
			"pings":           {again: ping},
			"pongs":           {again: frame(fin|pong, 125, make([]byte, 125))},
			"empty fragments": {first: frame(binaryFrame, 1, header[:1]), again: piece(0)},
			"keepalives":      {again: frame(fin|binaryFrame, headerLen, credit[:])},
			"tiny records": {
				first: frame(fin|binaryFrame, headerLen+1_000_000, header[:]), again: []byte{1}, alone: true,
			},
			"pings in a frame": {
				first: frame(binaryFrame, headerLen, header[:]),
				again: append(piece(1), bytes.Repeat(ping, 20)...),
			},
		} {
			if t.Failed() {
				return // stop, because each further connection would wait as long
			}
			t.Run(fmt.Sprintf("%s/dials=%t", name, dials), func(t *testing.T) {
				good := start(t, "b", func(c *Config) { c.MaxFrame = 1_000_000 }, peerOf("a"))
				line := evilPeer(t, good, "a", dials)
				if err := good.peers["a"].meter.count(uselessLimit - left); err != nil {
					t.Fatal(err)
				}
				line.Write(flood.first)
				times := 1
				if !flood.alone {
					times = 4 << 10 / len(flood.again)
				}
				sent := 0
				for many := bytes.Repeat(flood.again, times); sent < 2*left; sent += len(many) {
					if _, err := line.Write(many); err != nil {
						break
					}
				}
				t.Logf("after %d bytes: %s", sent, good.log.await(t, "msg=disconnected", errUseless.Error()))
			})
		}
	}
}

// TestUselessTrafficIsForgotten checks that a peer's allowance recovers over time, and that a new connection does not
// raise the allowance above its limit.
func TestUselessTrafficIsForgotten(t *testing.T) {
	if !strings.Contains(errUseless.Error(), fmt.Sprint(uselessLimit)) {
		t.Errorf("%v, with a limit of %d", errUseless, uselessLimit)
	}
	synctest.Test(t, func(t *testing.T) {
		m := meter{free: time.Since(began)} // makes the meter's time begin now
		for _, step := range []struct {
			wait  time.Duration
			bytes int
			ok    bool
		}{
			{0, uselessLimit, true},
			{0, 1, false},
			{0, -perFrame, true},
			{0, perFrame - 2, true},
			{time.Second, uselessRate + 1, true},
			{time.Second, uselessRate + 1, false},
			{time.Hour, -perGreeting, true}, // an allowance does not grow beyond its limit
			{0, uselessLimit, true},
			{0, 1, false},
		} {
			time.Sleep(step.wait)
			if err := m.count(step.bytes); (err == nil) != step.ok {
				t.Errorf("%+v: %v", step, err)
			}
		}
	})
}

func (m *meter) used() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, int((m.free-time.Since(began))*uselessRate/time.Second))
}

// TestProperTrafficIsNotUseless checks that a correct peer uses little of its allowance, whether it sends short frames
// in one direction, sends long frames of which some are cut off, opens many connections, or sends many probes.
func TestProperTrafficIsNotUseless(t *testing.T) {
	hello := func(c *Config) {
		c.Hello = func(string) []byte { return make([]byte, 60<<10) }
		c.MaxFrame = 32 << 20
	}
	a, b := pair(t, hello, hello)
	most := 0
	look := func(when string) {
		t.Helper()
		for _, m := range []*meter{&a.peers["b"].meter, &b.peers["a"].meter} {
			used := m.used()
			for range 1000 { // the bytes of a frame that is arriving count until the frame is complete
				if used <= uselessLimit/4 {
					break
				}
				time.Sleep(time.Millisecond)
				used = m.used()
			}
			if most = max(most, used); most > uselessLimit/4 {
				t.Fatalf("%s: %d bytes outside frames", when, most)
			}
		}
	}
	const short = 500
	for range short {
		a.send(t, "b", nil)
		b.expect(t, "a", nil)
	}
	if look("short frames"); most > short*16 {
		t.Fatalf("%d bytes outside of %d short frames", most, short)
	}
	long := bytes.Repeat([]byte("long"), 2<<20)
	for range 2 {
		a.send(t, "b", long)
		b.expect(t, "a", long)
		b.send(t, "a", long[:1<<20])
		a.expect(t, "b", long[:1<<20])
		look("long frames")
	}
	cutting := newRelay(t, b)
	cutting.cuts = 10
	a.reach(t, "b", cutting.addr)
	if s := a.peers["b"].current(); s != nil { // closed only now: the next connection must use the relay
		s.c.tcp.Close()
	}
	arrived := make(chan error, 1)
	go func() { // receives the long frames, of which some may be lost
		var frame []byte
		var err error
		for err == nil && string(frame) != "whole" {
			_, frame, err = b.Recv(t.Context())
		}
		arrived <- err
	}()
	for left := 1; left > 0; look("cut frames") {
		a.send(t, "b", long[:2*cutAfter])
		cutting.mu.Lock()
		left = cutting.cuts
		cutting.mu.Unlock()
	}
	a.send(t, "b", []byte("whole"))
	if err := <-arrived; err != nil {
		t.Fatal(err)
	}
	a.reach(t, "b", b.Addr())
	for i := range 16 {
		for _, x := range []node{a, b} {
			if s := x.peers[map[string]string{"a": "b", "b": "a"}[x.cfg.Name]].current(); s != nil && i%2 == 0 {
				s.c.tcp.Close()
			}
		}
		b.send(t, "a", []byte("again"))
		a.expect(t, "b", []byte("again"))
		look("connections")
		cfg := Config{Name: "a", Key: keyOf("a"), Peers: []Peer{peerOf("b")}, Hello: a.cfg.Hello, timing: fast}
		cfg.Peers[0].Addresses = []string{b.Addr()}
		if all, err := Probe(t.Context(), cfg); err != nil || all[0].Err != nil {
			t.Fatal(all, err)
		}
		look("probes")
	}
	if n := a.log.count(errUseless.Error()) + b.log.count(errUseless.Error()); n > 0 || !strings.Contains(a.log.await(t, "connected"), "b") {
		t.Errorf("%d connections dropped", n)
	}
	t.Logf("at most %d bytes of %d outside of frames", most, uselessLimit)
}
