package ws

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// serve accepts connections on a loopback port until the test ends. It calls handle for each connection, and closes the
// connection when handle returns or the test ends. At the end of the test it waits until all calls of handle have
// returned.
func serve(t *testing.T, handle func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				defer context.AfterFunc(t.Context(), func() { c.Close() })()
				handle(c)
			})
		}
	})
	return l.Addr().String()
}

// forward starts a TCP proxy and returns its address. For each incoming connection, the proxy calls open and copies
// data between the returned connections near and far. The function open may read from the incoming connection; near
// must be that connection or wrap it.
func forward(t *testing.T, open func(in net.Conn) (near, far net.Conn, err error)) (hostPort string) {
	t.Helper()
	return serve(t, func(in net.Conn) {
		near, far, err := open(in)
		if err != nil {
			return
		}
		var there sync.WaitGroup
		there.Go(func() {
			io.Copy(far, near)
			far.Close()
		})
		io.Copy(near, far)
		near.Close()
		far.Close()
		there.Wait()
	})
}

func exchange(t *testing.T, a, b node) {
	t.Helper()
	big := bytes.Repeat([]byte("frame"), 50_000)
	a.send(t, b.cfg.Name, big)
	b.expect(t, a.cfg.Name, big)
	b.send(t, a.cfg.Name, big)
	a.expect(t, b.cfg.Name, big)
}

// usualCertificate returns a certificate as of a web server, whose key is not of our kind.
func usualCertificate() tls.Certificate {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.TLS.Certificates[0]
}

// TestProxyThatEndsTLS checks that a connection through a proxy that terminates TLS fails, whatever key the proxy has.
// Both members must report that such a proxy may be the cause. The proxy sees the host of the address as the server name:
// a proxy that passes TLS through can choose the member by that name.
func TestProxyThatEndsTLS(t *testing.T) {
	cert := selfSigned(keyOf("proxy"))
	usual := usualCertificate()
	for _, c := range []struct {
		name       string
		toCaller   tls.Certificate
		toListener []tls.Certificate
		caller     string // the caller's error
		listener   string
	}{
		{"key of our kind", cert, []tls.Certificate{cert},
			"presents the key " + transport.FormatKey(publicOf("proxy")), "presents the key " +
				transport.FormatKey(publicOf("proxy"))},
		{"usual key", usual, []tls.Certificate{usual}, "presents a key of type RSA, want Ed25519",
			"presents a key of type RSA, want Ed25519"},
		{"no key toward the listener", usual, nil, "presents a key of type RSA", "didn't provide a certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, "b", nil, peerOf("a"))
			through := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
				out, err := net.Dial("tcp", b.listener.Addr().String())
				if err != nil {
					return nil, nil, err
				}
				inside := tls.Client(out, &tls.Config{InsecureSkipVerify: true, Certificates: c.toListener})
				if err := inside.Handshake(); err != nil {
					out.Close()
					return nil, nil, err
				}
				named := func(h *tls.ClientHelloInfo) (*tls.Config, error) {
					if h.ServerName != "north.example" {
						t.Errorf("server name %q, want the host of the address", h.ServerName)
					}
					return nil, nil
				}
				return tls.Server(in, &tls.Config{Certificates: []tls.Certificate{c.toCaller}, GetConfigForClient: named}), inside, nil
			})
			a := start(t, "a", func(c *Config) {
				c.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if address != "north.example:443" {
						t.Errorf("dials %q, want the host and the default port", address)
					}
					return new(net.Dialer).DialContext(ctx, network, through)
				}
			}, peerOf("b", "b", "b to come"))
			a.reach(t, "b", "wss://north.example/fleet")
			a.log.await(t, "WARN", "peer=b", c.caller,
				"pinned for this peer: "+transport.FormatKey(publicOf("b"))+" or "+transport.FormatKey(publicOf("b to come")),
				"a proxy between the nodes terminates TLS")
			words := []string{"WARN", "caller refused", c.listener, "a proxy between the nodes terminates TLS"}
			if c.toListener != nil {
				words = append(words, transport.FormatKey(publicOf("a"))+` for \"a\"`)
			}
			b.log.await(t, words...)
			if a.Peers()[0].Connected || b.Peers()[0].Connected {
				t.Error("connected all the same")
			}
		})
	}
}
