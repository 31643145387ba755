package monitor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Limits of connections. Few are needed: a page asks once a second, and a collector of metrics less often.
const (
	maxConns    = 32               // open at a time; a further one ends the oldest
	maxRequest  = 16 << 10         // bytes of a request, its body included
	requestTime = 10 * time.Second // to receive it
	answerTime  = time.Minute      // from then until the client has the answer
	lingerTime  = time.Second      // for the client to close
)

// Serve answers requests until ctx ends, when it closes the listener and every connection, or until the listener is
// closed, when the connections that are open come to their own end. It returns when all is over.
//
// It implements as much of HTTP/1.1 as local browsers and programs need: one request a connection, of at most 16 KiB
// with its body, complete within ten seconds. A handler finds in its request what [http.Server] puts there, except for
// the keys of its context; the context ends with ctx, not when the client disconnects. The response can be flushed, and
// nothing else. A handler that panics loses its connection. An [http.Server], which can serve the same handlers, would
// add 150 KB to a program without one.
func Serve(ctx context.Context, l net.Listener, h http.Handler) {
	var open sync.WaitGroup
	defer open.Wait()
	defer func() { _ = l.Close() }() // whatever the next line has come to by then
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	free := make(chan struct{}, 2*maxConns) // a token for each connection, those being ended included
	var all conns
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		c, err := l.Accept()
		switch {
		case err == nil:
			all.add(c)
			open.Go(func() {
				defer func() { <-free }()
				defer all.remove(c)
				answer(ctx, c, h)
			})
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		<-free
		select { // most likely out of file descriptors, which passes
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// conns are the connections that are open, oldest first. A client that does not read, or says nothing, must not keep
// others waiting.
type conns struct {
	mu  sync.Mutex
	all []net.Conn
}

func (s *conns) add(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all = append(s.all, c); len(s.all) > maxConns {
		_ = s.all[0].Close()
		s.all = slices.Delete(s.all, 0, 1)
	}
}

func (s *conns) remove(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(o net.Conn) bool { return o == c })
}

func answer(ctx context.Context, c net.Conn, h http.Handler) {
	defer func() {
		_ = recover() // the display of a run must not end it
		_ = c.Close()
	}()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_ = c.SetReadDeadline(time.Now().Add(requestTime))
	in := &io.LimitedReader{R: c, N: maxRequest}
	r, err := http.ReadRequest(bufio.NewReaderSize(in, 1<<10))
	if in.N == maxRequest {
		return // browsers open connections that they do not use
	}
	_ = c.SetWriteDeadline(time.Now().Add(answerTime))
	w := &response{out: bufio.NewWriterSize(c, 1<<10), header: make(http.Header)}
	switch {
	case err != nil && in.N <= 0:
		http.Error(w, fmt.Sprintf("a request can have %d bytes", maxRequest), http.StatusRequestHeaderFieldsTooLarge)
	case err != nil:
		http.Error(w, "this is no request of HTTP/1.1", http.StatusBadRequest)
	case r.ProtoMajor != 1:
		http.Error(w, "only HTTP/1.1 is spoken here", http.StatusHTTPVersionNotSupported)
	default:
		w.bare = r.Method == http.MethodHead
		r.RemoteAddr = c.RemoteAddr().String()
		h.ServeHTTP(w, r.WithContext(ctx))
	}
	w.Flush()
	// If the connection were closed with something unread, a reset could overtake the answer.
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c, 4*maxRequest)
	}
}

// response writes the answer to the only request of a connection, which ends with the answer.
type response struct {
	out    *bufio.Writer // keeps its errors; a client that has gone needs no answer
	header http.Header
	begun  bool
	bare   bool // there is no body, whatever is written
}

var _ http.Flusher = (*response)(nil)

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if w.begun {
		return
	}
	w.begun = true
	w.header.Set("Connection", "close")
	w.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	fmt.Fprintf(w.out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = w.header.Write(w.out)
	_, _ = w.out.WriteString("\r\n")
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.bare {
		return len(p), nil
	}
	return w.out.Write(p)
}

func (w *response) Flush() {
	w.WriteHeader(http.StatusOK)
	_ = w.out.Flush()
}

// CheckAddress returns why [Listen] does not take an address, nil if it does: it has to be "host:port" with a host on
// loopback, "localhost" or a number such as 127.0.0.1 or [::1].
func CheckAddress(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !isLoopback(host) {
		return fmt.Errorf("monitor: %q, want host:port on loopback, such as 127.0.0.1:0: callers are not authenticated",
			addr)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Listen listens on a loopback address; port 0 lets the system choose.
func Listen(addr string) (net.Listener, error) {
	if err := CheckAddress(addr); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	// A name is looked up, and may mean anything.
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("monitor: %q is %v, want loopback", addr, l.Addr()), l.Close())
	}
	return l, nil
}

// Guard passes on only requests of this machine: those from a loopback address, not forwarded by a proxy, whose Host is
// "localhost" or a loopback address; a web page whose host name leads to 127.0.0.1 has its own name there. Others are
// answered with 403 and the reason. Guard sets the headers that keep browsers from guessing types, from showing the
// answer inside other pages, and from storing it.
func Guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		head.Set("Cache-Control", "no-store")
		if reason := foreign(r); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// foreign returns why a request is not one of this machine; empty if it is.
func foreign(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !isLoopback(host) || host == "localhost" {
		return "only this machine is served: the request comes from elsewhere"
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return "only this machine is served: the request was passed on by a proxy (it has a header " + name + ")"
		}
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if !isLoopback(host) {
		return "only this machine is served: the Host of the request is not localhost, 127.0.0.1 or [::1]"
	}
	return ""
}
