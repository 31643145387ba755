package ws

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
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

func TestThroughTCPProxy(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	at := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
		far, err = net.Dial("tcp", b.listener.Addr().String())
		return in, far, err
	})
	a := start(t, "a", nil, peerOf("b"))
	url := "wss://" + at + "/clinic/7?run=16"
	a.reach(t, "b", url)
	exchange(t, a, b)
	if s := a.Peers()[0]; s.Where != url {
		t.Errorf("connected at %q, want the address of the proxy, %q", s.Where, url)
	}
}

// serverName reads the first message of a TLS client. It returns the server name in that message, and a connection from
// which the message can be read again.
func serverName(in net.Conn) (name string, again net.Conn) {
	var seen bytes.Buffer
	tls.Server(peek{Conn: in, r: io.TeeReader(in, &seen)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name = h.ServerName
			return nil, errors.New("seen enough")
		},
	}).Handshake()
	return name, peek{Conn: in, r: io.MultiReader(&seen, in), speaks: true}
}

// peek is a connection that reads from r instead of the network. It discards writes unless speaks is true.
type peek struct {
	net.Conn
	r      io.Reader
	speaks bool
}

func (c peek) Read(p []byte) (int, error) { return c.r.Read(p) }

func (c peek) Write(p []byte) (int, error) {
	if c.speaks {
		return c.Conn.Write(p)
	}
	return len(p), nil
}

// TestThroughServerNameProxy checks that two members can share a port behind a proxy that chooses the member by server
// name and passes TLS through.
func TestThroughServerNameProxy(t *testing.T) {
	b := start(t, "b", nil, peerOf("a"))
	c := start(t, "c", nil, peerOf("a"))
	behind := map[string]node{"north.example": b, "south.example": c}
	at := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
		name, near := serverName(in)
		n, ok := behind[name]
		if !ok {
			return nil, nil, errors.New("nobody of this name")
		}
		far, err = net.Dial("tcp", n.listener.Addr().String())
		return near, far, err
	})
	a := start(t, "a", func(c *Config) {
		c.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !strings.HasSuffix(address, ".example:443") {
				t.Errorf("dials %q, want a name and the default port", address)
			}
			return new(net.Dialer).DialContext(ctx, network, at)
		}
	}, peerOf("b"), peerOf("c"))
	a.reach(t, "b", "wss://north.example/fleet")
	a.reach(t, "c", "wss://south.example/fleet")
	exchange(t, a, b)
	exchange(t, a, c)
}

// usualCertificate returns a certificate as of a web server, whose key is not of our kind.
func usualCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestProxyThatEndsTLS checks that a connection through a proxy that terminates TLS fails, whatever key the proxy has.
// Both members must report that such a proxy may be the cause.
func TestProxyThatEndsTLS(t *testing.T) {
	cert := selfSigned(keyOf("proxy"))
	usual := usualCertificate(t)
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
		{"usual key", usual, []tls.Certificate{usual}, "presents a key of type ECDSA, want Ed25519",
			"presents a key of type ECDSA, want Ed25519"},
		{"no key toward the listener", usual, nil, "presents a key of type ECDSA", "didn't provide a certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, "b", nil, peerOf("a"))
			at := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
				out, err := net.Dial("tcp", b.listener.Addr().String())
				if err != nil {
					return nil, nil, err
				}
				inside := tls.Client(out, &tls.Config{InsecureSkipVerify: true, Certificates: c.toListener})
				if err := inside.Handshake(); err != nil {
					out.Close()
					return nil, nil, err
				}
				return tls.Server(in, &tls.Config{Certificates: []tls.Certificate{c.toCaller}}), inside, nil
			})
			a := start(t, "a", nil, peerOf("b", "b", "b to come"))
			a.reach(t, "b", "wss://"+at+"/")
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
