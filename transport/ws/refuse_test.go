package ws

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestWrongKeys checks that each end refuses a key that is not pinned for the other, and that both report the reason and
// the keys.
func TestWrongKeys(t *testing.T) {
	text := func(name string) string { return transport.FormatKey(publicOf(name)) }
	const hint = "a proxy between the nodes terminates TLS"
	for name, c := range map[string]struct {
		pinned     []string // the keys that "a" pins for "b"
		key, atB   string   // the key of "b", and the key that it pins for "a"
		atDialer   []string
		atListener []string
	}{
		"of the listener": {[]string{"b of old", "b to come"}, "b", "a",
			[]string{"presents the key " + text("b"), text("b of old") + " or " + text("b to come"), hint},
			[]string{"our key " + text("b") + " is not pinned there"}},
		"of the dialer": {[]string{"b"}, "b", "a of old",
			[]string{"our key " + text("a") + " is not pinned there"},
			[]string{"presents the key " + text("a"), text("a of old"), hint}},
		"of another peer": {[]string{"b"}, "c", "a", []string{text("c") + ` (of \"c\")`}, nil},
		"of the node":     {[]string{"b"}, "a", "x", []string{text("a") + " (our own)"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "b", func(cfg *Config) { cfg.Key = keyOf(c.key) }, peerOf("a", c.atB))
			a := start(t, "a", nil, peerOf("b", c.pinned...), peerOf("c"))
			a.reach(t, "b", b.Addr())
			a.log.await(t, append(c.atDialer, "WARN", "peer=b", b.Addr())...)
			b.log.await(t, append(c.atListener, "WARN", "caller refused", "127.0.0.1")...)
			if s := a.Peers()[0]; s.Connected || s.Err == nil {
				t.Errorf("status %+v, want not connected and why", s)
			}
		})
	}
}

// TestStrangersAreRefused checks that strangers cannot open a websocket, and that a peer can still connect after their
// attempts.
func TestStrangersAreRefused(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))

	for _, c := range []struct {
		name, key string
		change    func(*tls.Config)
		log       string
	}{
		{"no certificate", "", nil, "didn't provide a certificate"},
		{"TLS 1.2", "a", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "unsupported versions"},
		{"unknown key", "x", nil, transport.FormatKey(publicOf("x"))},
		{"other kind of key", "a", func(c *tls.Config) { c.Certificates = []tls.Certificate{usualCertificate()} }, "key of type RSA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secure, _, err := dialTLS(t, b, c.key, c.change)
			if err == nil {
				// Read from the connection: in TLS 1.3 the caller's handshake finishes before the listener has checked
				// the caller's certificate.
				_, err = secure.Read(make([]byte, 1))
			}
			if err == nil || !strings.Contains(err.Error(), "remote error: tls:") {
				t.Errorf("the caller sees %v, want an alert", err)
			}
			b.log.await(t, "WARN", "caller refused", c.log)
		})
	}
	t.Run("plain HTTP", func(t *testing.T) {
		resp, err := http.Get("http://" + b.listener.Addr().String())
		if err == nil {
			t.Errorf("answered %s", resp.Status)
			resp.Body.Close()
		}
		b.log.await(t, "WARN", "caller refused", "does not look like a TLS handshake")
	})
	a := start(t, "a", nil, peerOf("b"))
	a.reach(t, "b", b.Addr())
	a.send(t, "b", []byte("hello"))
	b.expect(t, "a", []byte("hello"))
}

// TestNoSessionIsResumed checks that TLS sessions cannot be resumed, because a session ticket would admit a key that is
// no longer pinned.
func TestNoSessionIsResumed(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	cache := tls.NewLRUClientSessionCache(4)
	for range 2 {
		secure, _, err := dialTLS(t, b, "a", func(c *tls.Config) {
			c.ClientSessionCache = cache
			c.ServerName = "b"
		})
		if err != nil {
			t.Fatal(err)
		}
		// A session ticket from the listener, if any, would arrive before the answer to this request.
		fmt.Fprint(secure, "GET / HTTP/1.1\r\nHost: b\r\n\r\n")
		if _, err := io.ReadAll(secure); err != nil {
			t.Fatal(err)
		}
		if secure.ConnectionState().DidResume {
			t.Error("a session was resumed")
		}
	}
	if _, ok := cache.Get("b"); ok {
		t.Error("a session ticket was sent")
	}
}

// TestBadRequests checks that both ends report a request that does not open a websocket with this package's framing, and
// that a peer cannot fill the node's log, or its own status at the node, with a long header.
func TestBadRequests(t *testing.T) {
	long := strings.Repeat("long", 10_000)
	const begin = "GET / HTTP/1.1\r\nHost: b\r\n"
	for name, c := range map[string]struct{ request, answer, log string }{
		"no upgrade":        {begin + "\r\n", "HTTP/1.1 426 ", "does not contain Upgrade"},
		"other subprotocol": {strings.Replace(request, subprotocol, "chat", 1), `subprotocol is "", want "spade-edge.1"`, "websocket subprotocol"},
		"long header":       {begin + "Connection: " + long + "\r\n\r\n", "", "long"},
		"long request":      {"GET " + long + "\r\n\r\n", "", "long"},
		"malformed":         {begin + long + "\r\n\r\n", "", "long"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "b", nil, peerOf("a"))
			secure, _, err := dialTLS(t, b, "a", nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(secure, c.request)
			var answer []byte
			for buf := make([]byte, 1024); !strings.Contains(string(answer), c.answer); {
				n, err := secure.Read(buf)
				answer = append(answer, buf[:n]...)
				if err != nil {
					t.Fatalf("answer %q, error %v, want one with %s", answer, err, c.answer)
				}
			}
			secure.Close()
			b.reportsBriefly(t, "peer=a", c.log)
		})
	}
}

// TestLongAnswers is TestBadRequests for the answer of a peer that was dialed.
func TestLongAnswers(t *testing.T) {
	long := strings.Repeat("long", 10_000)
	for name, head := range map[string]string{
		"status":    "HTTP/1.1 500 " + long + "\r\n\r\n",
		"answer":    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: " + long + "\r\n\r\n",
		"no answer": long + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			cert := selfSigned(keyOf("b"))
			evil := serve(t, func(c net.Conn) {
				secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
				if _, err := http.ReadRequest(bufio.NewReader(secure)); err == nil {
					fmt.Fprint(secure, head)
				}
			})
			a := start(t, "a", nil, peerOf("b"))
			a.reach(t, "b", "wss://"+evil+"/")
			a.reportsBriefly(t, "peer=b", "long")
		})
	}
}

// reportsBriefly checks that the log and the status of a node's first peer have a failed connection, in a short line.
func (n node) reportsBriefly(t *testing.T, words ...string) {
	t.Helper()
	line, text := n.log.await(t, append(words, "no connection")...), n.Peers()[0].Err.Error()
	if len(line) > 1500 || len(text) > 1500 {
		t.Errorf("a line of %d bytes, an error of %d bytes", len(line), len(text))
	}
}

// TestHelloIsRefused checks that both ends report a refused hello, and that they connect once it is accepted.
func TestHelloIsRefused(t *testing.T) {
	tries := make(chan struct{}, 1000)
	var accepted atomic.Bool
	refuse := func(c *Config) {
		c.CheckHello = func(peer string, hello []byte) error {
			if accepted.Load() {
				return nil
			}
			tries <- struct{}{}
			return fmt.Errorf("run id is %q, want %q; %s", hello, "17", strings.Repeat("ä", 100))
		}
	}
	say := func(c *Config) { c.Hello = func(string) []byte { return []byte("16") } }
	check := func(t *testing.T, at, other node, peerOfAt, peerOfOther string) {
		at.log.await(t, "WARN", "no connection", "peer="+peerOfAt, "hello refused: run id is", "16")
		other.log.await(t, "WARN", "no connection", "peer="+peerOfOther,
			"the peer closed the connection: hello refused: run id is", "16", "ää…")
		for _, n := range []node{at, other} {
			if n.log.count("msg=connected") != 0 || n.Peers()[0].Connected {
				t.Error("connected all the same")
			}
			if err := n.Peers()[0].Refused; err == nil || !strings.Contains(err.Error(), "hello refused: run id is") {
				t.Errorf("refused: %v, want the reason at both ends", err)
			}
		}
		// Further attempts that fail for the same reason must not log further warnings.
		for range 3 {
			<-tries
		}
		if n := at.log.count("hello refused"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
		accepted.Store(true)
		defer accepted.Store(false)
		at.send(t, peerOfAt, []byte("at last"))
		other.expect(t, peerOfOther, []byte("at last"))
		for _, n := range []node{at, other} {
			if s := n.Peers()[0]; s.Refused != nil {
				t.Errorf("status %+v, want no refusal after a connection", s)
			}
		}
	}
	t.Run("by the listener", func(t *testing.T) {
		a, b := pair(t, say, refuse)
		check(t, b, a, "a", "b")
	})
	t.Run("by the dialler", func(t *testing.T) {
		a, b := pair(t, refuse, say)
		check(t, a, b, "b", "a")
	})
}

// TestSecondAddress checks that, if a peer's first address does not work, a node uses the second, also over IPv6.
func TestSecondAddress(t *testing.T) {
	gone := start(t, "b", nil, peerOf("a"))
	nowhere := gone.Addr()
	gone.Close()
	b := start(t, "b", func(c *Config) {
		if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // not every machine has IPv6
			l.Close()
			c.Listen = "[::1]:0"
		}
	}, peerOf("a"))
	a := start(t, "a", nil, peerOf("b"))
	a.reach(t, "b", nowhere, b.Addr())
	a.send(t, "b", []byte("x"))
	b.expect(t, "a", []byte("x"))
	a.log.await(t, "WARN", nowhere, "refused")
}
