package ws

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestListenerWithWrongKey checks that a dialer refuses a listener whose key is not the key that the dialer has pinned.
func TestListenerWithWrongKey(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	a := start(t, "a", nil, peerOf("b", "b of old", "b to come"))
	a.reach(t, "b", b.Addr())
	a.log.await(t, "WARN", "peer=b", b.Addr(), "presents the key "+transport.FormatKey(publicOf("b")),
		transport.FormatKey(publicOf("b of old"))+" or "+transport.FormatKey(publicOf("b to come")),
		"a proxy between the nodes terminates TLS")
	b.log.await(t, "WARN", "caller refused", "127.0.0.1",
		"our key "+transport.FormatKey(publicOf("b"))+" is not pinned there")
	if s := a.Peers()[0]; s.Connected || s.Err == nil || !strings.Contains(s.Err.Error(), "presents the key") {
		t.Errorf("status %+v, want not connected and why", s)
	}
}

// TestDiallerWithWrongKey checks that a listener refuses a dialer whose key is not the key that the listener has
// pinned.
func TestDiallerWithWrongKey(t *testing.T) {
	b := start(t, "b", nil, peerOf("a", "a of old"))
	a := start(t, "a", nil, peerOf("b"))
	a.reach(t, "b", b.Addr())
	b.log.await(t, "WARN", "caller refused", "127.0.0.1", "presents the key "+transport.FormatKey(publicOf("a")),
		transport.FormatKey(publicOf("a of old")), "a proxy between the nodes terminates TLS")
	a.log.await(t, "WARN", "peer=b", b.Addr(), "our key "+transport.FormatKey(publicOf("a"))+" is not pinned there")
}

// TestPeerInAnothersPlace checks that a key is valid only for the peer for which it is pinned.
func TestPeerInAnothersPlace(t *testing.T) {
	c := start(t, "c", nil, peerOf("a"))
	a := start(t, "a", nil, peerOf("b"), peerOf("c"))
	a.reach(t, "b", c.Addr())
	a.log.await(t, "peer=b", transport.FormatKey(publicOf("c")), `(of \"c\")`)
	self := start(t, "s", nil, peerOf("z"))
	self.reach(t, "z", self.Addr())
	self.log.await(t, "peer=z", transport.FormatKey(publicOf("s")), "(our own)")
}

func TestSecondPinIsAccepted(t *testing.T) {
	newKey := func(c *Config) { c.Key = keyOf("a to come") }
	b := start(t, "b", nil, peerOf("a", "a", "a to come"))
	old := start(t, "a", nil, peerOf("b", "b of old", "b"))
	old.reach(t, "b", b.Addr())
	old.send(t, "b", []byte("old key"))
	b.expect(t, "a", []byte("old key"))
	old.Close()
	again := start(t, "a", newKey, peerOf("b"))
	again.reach(t, "b", b.Addr())
	again.send(t, "b", []byte("new key"))
	b.expect(t, "a", []byte("new key"))
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
		{"other kind of key", "a", func(c *tls.Config) {
			c.Certificates = []tls.Certificate{usualCertificate(t)}
		}, "key of type ECDSA"},
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

func TestNoWebsocketAsked(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	secure, _, err := dialTLS(t, b, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(secure, "GET / HTTP/1.1\r\nHost: b\r\n\r\n")
	answer, err := io.ReadAll(secure)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 426 ") {
		t.Errorf("answer %q, error %v, want status 426", answer, err)
	}
	b.log.await(t, "no connection", "peer=a", "does not contain Upgrade")
}

// TestOtherSubprotocol checks that two ends with incompatible framings, and thus different subprotocols, both report
// that they have no common subprotocol.
func TestOtherSubprotocol(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	secure, _, err := dialTLS(t, b, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	// This is the example request of RFC 6455, section 1.2.
	fmt.Fprint(secure, "GET / HTTP/1.1\r\nHost: b\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chat\r\n\r\n")
	want := `websocket subprotocol is "", want "spade-edge.1"`
	var answer []byte
	for !strings.Contains(string(answer), want) {
		buf := make([]byte, 1024)
		n, err := secure.Read(buf)
		answer = append(answer, buf[:n]...)
		if err != nil {
			t.Fatalf("answer %q, error %v, want one with %s", answer, err, want)
		}
	}
	secure.Close()
	b.log.await(t, "no connection", "peer=a", "websocket subprotocol")
}

func TestHelloIsExchanged(t *testing.T) {
	told := make(chan string, 2)
	change := func(name string) func(*Config) {
		return func(c *Config) {
			c.Hello = func(peer string) []byte { return []byte(name + " to " + peer) }
			c.CheckHello = func(peer string, hello []byte) error {
				told <- peer + ": " + string(hello)
				return nil
			}
		}
	}
	a, b := pair(t, change("a"), change("b"))
	a.send(t, "b", nil)
	b.expect(t, "a", nil)
	if got := [2]string{<-told, <-told}; got != [2]string{"a: a to b", "b: b to a"} {
		t.Errorf("hellos %q", got)
	}
}

func TestHelloIsRefused(t *testing.T) {
	tries := make(chan struct{}, 1000)
	refuse := func(c *Config) {
		c.CheckHello = func(peer string, hello []byte) error {
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

// TestDiallerKeepsTrying checks that a dialer retries after a refusal and connects once the reason for the refusal is
// gone.
func TestDiallerKeepsTrying(t *testing.T) {
	tries := make(chan struct{}, 100)
	a, b := pair(t, nil, func(c *Config) {
		n := 0
		c.CheckHello = func(string, []byte) error {
			tries <- struct{}{}
			if n++; n < 4 {
				return fmt.Errorf("not yet")
			}
			return nil
		}
	})
	a.send(t, "b", []byte("at last"))
	b.expect(t, "a", []byte("at last"))
	if len(tries) != 4 {
		t.Errorf("%d attempts, want 4", len(tries))
	}
	for _, n := range []node{a, b} {
		if s := n.Peers()[0]; s.Refused != nil {
			t.Errorf("status %+v, want no refusal after a connection", s)
		}
	}
}

// TestSecondAddress checks that, if a peer's first address does not work, a node uses the second.
func TestSecondAddress(t *testing.T) {
	gone := start(t, "b", nil, peerOf("a"))
	nowhere := gone.Addr()
	gone.Close()
	b := start(t, "b", nil, peerOf("a"))
	a := start(t, "a", nil, peerOf("b"))
	a.reach(t, "b", nowhere, b.Addr())
	a.send(t, "b", []byte("x"))
	b.expect(t, "a", []byte("x"))
	a.log.await(t, "WARN", nowhere, "refused")
}

// TestLongHeads checks that a peer cannot fill the node's log, or its own status at the node, by sending a long invalid
// HTTP header.
func TestLongHeads(t *testing.T) {
	long := strings.Repeat("long", 10_000)
	short := func(t *testing.T, n node) {
		t.Helper()
		if line := n.log.await(t, "no connection", "long"); len(line) > 1500 {
			t.Errorf("a line of %d bytes", len(line))
		}
		if text := n.Peers()[0].Err.Error(); len(text) > 1500 {
			t.Errorf("an error of %d bytes", len(text))
		}
	}
	for name, head := range map[string]string{
		"header":    "GET / HTTP/1.1\r\nHost: b\r\nConnection: " + long + "\r\n\r\n",
		"request":   "GET " + long + "\r\n\r\n",
		"malformed": "GET / HTTP/1.1\r\nHost: b\r\n" + long + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "b", nil, peerOf("a"))
			secure, _, err := dialTLS(t, b, "a", nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(secure, head)
			short(t, b)
		})
	}
	for name, head := range map[string]string{
		"status":    "HTTP/1.1 500 " + long + "\r\n\r\n",
		"answer":    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: " + long + "\r\n\r\n",
		"no answer": long + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			evil, err := build(&Config{Name: "b", Key: keyOf("b"), Peers: []Peer{peerOf("a")}})
			if err != nil {
				t.Fatal(err)
			}
			l, err := tls.Listen("tcp", "127.0.0.1:0", evil.tls(nil))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			defer wg.Wait()
			defer l.Close()
			wg.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
						fmt.Fprint(c, head)
					}
					c.Close()
				}
			})
			a := start(t, "a", nil, peerOf("b"))
			a.reach(t, "b", "wss://"+l.Addr().String()+"/")
			short(t, a)
		})
	}
}
