package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
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

// dialer returns a dialer that uses the given proxy and ignores the environment.
func dialer(t *testing.T, proxy string) *Dialer {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	d := New(u, nil)
	d.Environment = func(*http.Request) (*url.URL, error) { return nil, nil }
	return d
}

// TestConnect connects to a server that sends a greeting before it reads, like a NATS server. The greeting comes together
// with the answer of the proxy.
func TestConnect(t *testing.T) {
	var auth, asked string
	proxy := serve(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		auth, asked = r.Header.Get("Proxy-Authorization"), r.Method+" "+r.Host
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\n\r\nINFO first")
		io.Copy(c, br)
	})
	conn, via, err := dialer(t, "http://user:pass%3Aword@"+proxy).Dial(t.Context(), "tcp", "b.example:7443")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, "ping")
	got := make([]byte, len("INFO firstping"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "INFO firstping" {
		t.Fatalf("got %q, %v", got, err)
	}
	if want := "http://" + proxy; via != want {
		t.Errorf("through %q, want %q", via, want)
	}
	if want := "CONNECT b.example:7443"; asked != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if want := "Basic dXNlcjpwYXNzOndvcmQ="; auth != want {
		t.Errorf("credentials %q, want %q", auth, want)
	}
}

func TestConnectOverTLS(t *testing.T) {
	proxy := httptest.NewUnstartedServer(nil)
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	proxy.StartTLS()
	defer proxy.Close()
	_, _, err := dialer(t, proxy.URL).Dial(t.Context(), "tcp", "b:1")
	if err == nil || !strings.Contains(err.Error(), "failed the TLS handshake") {
		t.Errorf("an unknown certificate of the proxy: %v", err)
	}
}

// TestRefusals checks that, for each failure at a proxy, Dial returns one clear error that contains neither credentials
// nor control characters.
func TestRefusals(t *testing.T) {
	say := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				io.WriteString(c, text)
			}
		}
	}
	wait := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, test := range map[string]struct {
		scheme string
		handle func(net.Conn)
		want   string
	}{
		"407":        {"http://", say("HTTP/1.1 407 Who\r\n\r\n"), "answers 407 to CONNECT b:1: the proxy wants a user and a p"},
		"407 user":   {"http://u:secret@", say("HTTP/1.1 407 Who\r\n\r\n"), "rejects the user and the password"},
		"401 user":   {"http://u:secret@", say("HTTP/1.1 401 No\r\n\r\n"), "rejects the user and the password"},
		"403":        {"http://", say("HTTP/1.0 403 Filtered\n\n"), "answers 403 to CONNECT b:1: the proxy does not allow"},
		"502":        {"http://", say("HTTP/1.1 502 Bad Gateway\r\n\r\n"), "the proxy cannot connect to the address"},
		"302":        {"http://", say("HTTP/1.1 302 Found\r\nLocation: http://login/\r\n\r\n"), "want 200"},
		"garbage":    {"http://", say("SSH-2.0-\x1b[31mOpen\x00"), "is not an HTTP proxy"},
		"bad status": {"http://", say("HTTP/1.1 abc\r\n\r\n"), "is not an HTTP proxy"},
		"echo":       {"http://u:secret@", say("HTTP/1.1 403 dTpzZWNyZXQ= secret\r\n\r\n"), "answers 403 to CONNECT b:1: the proxy does not allow"},
		"too long":   {"http://", say("HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", 5000)), "header of more than 16384"},
		"nothing":    {"http://", wait, "did not answer within 50ms"},
		"half":       {"http://", say("HTTP/1.1 200 OK\r\nA: "), "closed the connection without an answer"},
		"closes":     {"http://", func(net.Conn) {}, ""}, // at random, the client sees an end or a reset
	} {
		t.Run(name, func(t *testing.T) {
			d := dialer(t, test.scheme+serve(t, test.handle))
			if strings.Contains(test.want, "50ms") {
				d.Patience = 50 * time.Millisecond
			}
			conn, _, err := d.Dial(t.Context(), "tcp", "b:1")
			if err == nil {
				conn.Close()
				t.Fatal("no error")
			}
			text := err.Error()
			if !strings.HasPrefix(text, "proxy "+test.scheme[:4]) || !strings.Contains(text, test.want) ||
				strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) || len(text) > 250 {
				t.Errorf("error %q, want %q", text, test.want)
			}
			if strings.Contains(text, "secret") || strings.Contains(text, "dTpz") {
				t.Errorf("credentials in %q", text)
			}
		})
	}
}

// TestEnds checks that a connection ends when its caller gives up, and that the error for an unreachable proxy names
// the proxy.
func TestEnds(t *testing.T) {
	gone := make(chan error, 1)
	d := dialer(t, "http://"+serve(t, func(c net.Conn) {
		_, err := io.Copy(io.Discard, c)
		gone <- err
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := d.Dial(ctx, "tcp", "b:1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	<-gone
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, via, err := dialer(t, "http://u:secret@"+l.Addr().String()).Dial(t.Context(), "tcp", "b:1")
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") ||
		strings.Contains(err.Error()+via, "secret") {
		t.Errorf("no proxy there: %v", err)
	}
}

func TestChoose(t *testing.T) {
	of := func(text string) func(*http.Request) (*url.URL, error) {
		return func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme != "https" || r.URL.Host != "b:1" {
				t.Errorf("asked for %s", r.URL)
			}
			if text == "" {
				return nil, nil
			}
			return url.Parse(text)
		}
	}
	configured := &url.URL{Scheme: "http", Host: "own:80"}
	for _, test := range []struct {
		own       *url.URL
		env, want string
	}{
		{nil, "", ""},
		{nil, "http://u:w@p:3128", "http://p:3128"},
		{configured, "http://p:3128", "http://own:80"},
		{configured, "", "http://own:80"},
	} {
		d := New(test.own, nil)
		d.Environment = of(test.env)
		u, err := d.choose("b:1")
		got := ""
		if u != nil {
			got = u.Scheme + "://" + u.Host
		}
		if err != nil || got != test.want {
			t.Errorf("%+v: goes through %q (%v), want %q", test, got, err, test.want)
		}
	}
	for _, bad := range []string{"ftp://u:secret@p", "http://u:secret@%%", "http://", "socks5://p:1080", "http://u:secret@p/path"} {
		d := New(nil, nil)
		d.Environment = of(bad)
		if u, err := d.choose("b:1"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("HTTPS_PROXY=%s: %v, %v", bad, u, err)
		}
	}
}
