package ws

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// connectProxy starts an HTTP proxy and returns its URL. If the pointer "does" is not nil, the proxy calls the function
// that it points to for each connection instead of answering correctly.
func connectProxy(t *testing.T, does *atomic.Pointer[func(in net.Conn) error]) *url.URL {
	t.Helper()
	at := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
		r, err := http.ReadRequest(bufio.NewReader(in))
		if err != nil {
			return nil, nil, err
		}
		if f := does.Load(); f != nil {
			return nil, nil, (*f)(in)
		}
		if far, err = net.Dial("tcp", r.Host); err == nil {
			_, err = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
		}
		return in, far, err
	})
	return &url.URL{Scheme: "http", Host: at, User: url.UserPassword("ward", "secret")}
}

// TestProxyThatRefuses checks that, for each failure at a proxy, the node reports one clear error and logs one warning.
// The node must retry and connect as soon as the proxy works.
func TestProxyThatRefuses(t *testing.T) {
	says := func(text string) func(net.Conn) error {
		return func(in net.Conn) error {
			_, err := io.WriteString(in, text)
			return errors.Join(err, errors.New("refused"))
		}
	}
	cert := selfSigned(keyOf("proxy"))
	for name, test := range map[string]struct {
		does func(in net.Conn) error
		want string
	}{
		"407":   {says("HTTP/1.1 407 Who are you\r\n\r\n"), "the proxy rejects the user and the password"},
		"after": {says("HTTP/1.1 200 OK\r\n\r\n"), "EOF"},
		"own key": {func(in net.Conn) error {
			if _, err := io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
				return err
			}
			secure := tls.Server(in, &tls.Config{Certificates: []tls.Certificate{cert}})
			return errors.Join(secure.Handshake(), errors.New("over"))
		}, "terminates TLS (it must pass TLS through"},
	} {
		t.Run(name, func(t *testing.T) {
			var does atomic.Pointer[func(in net.Conn) error]
			does.Store(&test.does)
			b := start(t, "b", nil, peerOf("a"))
			through := connectProxy(t, &does)
			a := start(t, "a", func(c *Config) { c.Proxy, c.Listen = through, "" }, peerOf("b"))
			a.reach(t, "b", b.Addr())
			a.log.await(t, "no connection", "level=WARN", test.want)
			if err := a.Peers()[0].Err; err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("the status says %v", err)
			}
			does.Store(nil)
			exchange(t, a, b)
			if n := a.log.count("level=WARN"); n > 2 { // two, because closing may also appear as a reset
				t.Errorf("%d warnings, want one", n)
			}
			if s := a.Peers()[0]; s.How != "dialed" || s.Proxy != "http://"+through.Host || s.Where != b.Addr() || s.Lost != 0 {
				t.Errorf("status %+v, want dialed through the proxy", s)
			}
			if s := b.Peers()[0]; s.How != "accepted" || s.Proxy != "" {
				t.Errorf("status of the other end %+v, want accepted", s)
			}
		})
	}
}

// TestHigherNameDialsThroughProxy checks that a node connects to its neighbor through a proxy even if nobody can dial
// the node and its name sorts after the neighbor's.
func TestHigherNameDialsThroughProxy(t *testing.T) {
	var does atomic.Pointer[func(in net.Conn) error]
	a := start(t, "a", nil, peerOf("b"))
	b := start(t, "b", func(c *Config) { c.Proxy, c.Listen = connectProxy(t, &does), "" }, peerOf("a"))
	b.reach(t, "a", a.Addr())
	exchange(t, a, b)
	a.peers["b"].current().end(errors.New("cut"))
	exchange(t, a, b)
	if s := a.Peers()[0]; s.Lost != 1 || s.LostBy == nil || s.How != "accepted" {
		t.Errorf("status %+v, want one connection lost", s)
	}
}
