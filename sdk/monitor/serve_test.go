package monitor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) (address string, stop func()) {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		Serve(ctx, l, h)
	}()
	stop = func() {
		cancel()
		<-over
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// answerOf sends text to an address. It returns the response, and all bytes that follow it until the connection closes.
func answerOf(t *testing.T, address, text string) (resp *http.Response, body, rest string) {
	t.Helper()
	c := dial(t, address, text)
	br := bufio.NewReader(c)
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	more, err := io.ReadAll(br)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(all), string(more)
}

// TestServeOnce checks that each connection gets one answer and is then closed, even if the client has sent further
// requests.
func TestServeOnce(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			text, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %v ", text, err)
		}
		fmt.Fprintf(w, "%s%s", r.Method[:1], r.RemoteAddr[:3])
	})
	const host = " HTTP/1.1\r\nHost: localhost\r\n"
	for _, c := range []struct {
		name, text string
		status     int
		body       string
	}{
		{"get", "GET /" + host + "\r\n", 200, "G127"},
		{"two at once", strings.Repeat("GET /"+host+"\r\n", 2), 200, "G127"},
		{"kept alive", "GET /" + host + "Connection: keep-alive\r\n\r\n", 200, "G127"},
		{"a body", "POST /body" + host + "Content-Length: 3\r\n\r\nabc", 200, "abc <nil> P127"},
		{"a body that nobody reads", "POST /" + host + "Content-Length: 60000\r\n\r\n" + strings.Repeat("x", 60000),
			200, "P127"},
		{"a body over the limit", "POST /body" + host + "Content-Length: 17000\r\n\r\n" + strings.Repeat("x", 17000),
			200, "request body too large P127"},
		{"a huge header", "GET /" + host + "X: " + strings.Repeat("x", 2*maxRequest) + "\r\n\r\n", 431,
			"431 Request Header"},
	} {
		resp, body, rest := answerOf(t, address, c.text)
		if resp.StatusCode != c.status || !strings.HasSuffix(strings.TrimSpace(body), c.body) &&
			!strings.Contains(body, c.body) || c.body == "" && body != "" {
			t.Errorf("%s: %s %.100q, want %d %q", c.name, resp.Status, body, c.status, c.body)
		}
		if rest != "" {
			t.Errorf("%s: %.100q behind the answer", c.name, rest)
		}
		if !resp.Close {
			t.Errorf("%s: the connection is not to be closed", c.name)
		}
	}
}

// TestServeDeadlines checks that a client that sends or reads slowly loses its connection at the deadline.
func TestServeDeadlines(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                        requestTime,
		"GET / HTTP/1.1\r\nHost:": requestTime,
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n": answerTime, // the client does not read the answer
	} {
		synctest.Test(t, func(t *testing.T) {
			far, near := net.Pipe()
			l := oneConn{conns: make(chan net.Conn, 1)}
			l.conns <- near
			close(l.conns)
			go func() { _, _ = io.WriteString(far, text) }()
			began := time.Now()
			Serve(t.Context(), l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			}))
			if took := time.Since(began); took < want || took > want+time.Second {
				t.Errorf("after %q the connection ends after %v, want %v", text, took, want)
			}
		})
	}
}

// TestServeBound checks that a connection beyond the maximum is accepted at once, and that the oldest connection is
// then closed. When the context ends, all connections must be closed and new connections refused.
func TestServeBound(t *testing.T) {
	stays := make(chan struct{})
	address, stop := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stay" {
			w.(http.Flusher).Flush()
			stays <- struct{}{} // flushed data reaches the client even if the connection is then closed
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, "here")
	})
	var conns []net.Conn
	for range maxConns {
		conns = append(conns, dial(t, address, "GET /stay HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		<-stays
	}
	if got, err := io.ReadAll(dial(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil || !strings.HasSuffix(string(got), "here") {
		t.Errorf("%q, %v", got, err)
	}
	if got, _ := io.ReadAll(conns[0]); strings.HasSuffix(string(got), "here") { // only the oldest connection is closed
		t.Errorf("the oldest connection has %q", got)
	}
	stop()
	for _, c := range conns[1:] {
		got, err := io.ReadAll(c) // all other connections got a header and no body
		if !strings.HasPrefix(string(got), "HTTP/1.1 200 OK\r\n") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("still listened on")
	}
}

// oneConn is a listener that accepts one connection, and is then closed.
type oneConn struct {
	net.Listener
	conns chan net.Conn
}

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l oneConn) Close() error { return nil }
