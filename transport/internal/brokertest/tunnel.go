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
	mu    sync.Mutex // guards the fields below
	fault func(c net.Conn, head *http.Request) bool
	asked []string
	conns map[net.Conn]bool
}

// NewTunnel starts a proxy and stops it when the test ends.
func NewTunnel(t testing.TB) *Tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Tunnel{Listener: l, conns: make(map[net.Conn]bool)}
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

func (p *Tunnel) hold(c net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[c] = open; !open {
		delete(p.conns, c)
	}
}

// HangUp abruptly closes all connections.
func (p *Tunnel) HangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
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
	p.hold(c, true)
	defer p.hold(c, false)
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
	p.hold(far, true)
	defer p.hold(far, false)
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
