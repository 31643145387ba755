package brokertest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Nowhere is a host name that only the test's proxy can resolve.
const Nowhere = "broker.invalid"

// Tunnel is an HTTP proxy that supports only CONNECT and can resolve [Nowhere].
type Tunnel struct {
	net.Listener
	conns sync.Map // the open connections, as keys

	mu    sync.Mutex // guards the fields below
	fault func(c net.Conn, head *http.Request) bool
	asked []string
}

// NewTunnel starts a proxy and stops it when the test ends.
func NewTunnel(t testing.TB) *Tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Tunnel{Listener: l}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); p.HangUp(); work.Wait() })
	return p
}

// URL returns the proxy's URL with the given credentials: "user:password", or "" for none.
func (p *Tunnel) URL(who string) *url.URL { return ProxyURL(p.Addr().String(), who) }

// ProxyURL returns the URL of the proxy at the given address, with the credentials in who, as in [Tunnel.URL].
func ProxyURL(address, who string) *url.URL {
	u := &url.URL{Scheme: "http", Host: address}
	if name, password, ok := strings.Cut(who, ":"); ok {
		u.User = url.UserPassword(name, password)
	}
	return u
}

// HangUp abruptly closes all connections.
func (p *Tunnel) HangUp() {
	p.conns.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
}

// Breaks closes all connections. The proxy then calls fault for each new request. If the result is true, the proxy
// closes the connection; otherwise it answers correctly. A nil fault ends the faulty behavior.
func (p *Tunnel) Breaks(fault func(c net.Conn, head *http.Request) bool) {
	p.mu.Lock()
	p.fault = fault
	p.mu.Unlock()
	p.HangUp()
}

func (p *Tunnel) serve(c net.Conn) {
	p.conns.Store(c, true)
	defer p.conns.Delete(c)
	defer c.Close()
	r := bufio.NewReader(c)
	head, err := http.ReadRequest(r)
	if err != nil || head.Method != http.MethodConnect {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, head.Host)
	fault := p.fault
	p.mu.Unlock()
	if fault != nil && fault(c, head) {
		return
	}
	far, err := net.Dial("tcp", strings.Replace(head.Host, Nowhere, "127.0.0.1", 1))
	if err != nil {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	p.conns.Store(far, true)
	defer p.conns.Delete(far)
	defer far.Close()
	io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(far, r); far.Close() }()
	_, _ = io.Copy(c, far)
}

// Asked returns the hosts that clients asked the proxy to connect to.
func (p *Tunnel) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}
