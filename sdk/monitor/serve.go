package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits on connections. A few connections are enough: a page sends one request a second, and a collector sends fewer.
const (
	maxConns    = 32               // maximum number of open connections; beyond it, the oldest is closed
	maxRequest  = 16 << 10         // maximum length in bytes of a request's header, and also of its body
	requestTime = 10 * time.Second // time limit for reading the header, and again for reading the body
	answerTime  = time.Minute      // time limit for sending the answer, from the end of the header on
)

// Serve answers requests until ctx ends or the listener is closed. When ctx ends, it closes the listener and every
// connection; when the listener is closed, open connections may finish. Serve returns when all connections are closed.
// Each connection serves a single request, of bounded length and duration.
func Serve(ctx context.Context, l net.Listener, h http.Handler) {
	var open conns
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 { // without a body, a deadline would cancel the request's context
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(requestTime))
				r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
			}
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout:            requestTime,
		WriteTimeout:                 answerTime,
		MaxHeaderBytes:               maxRequest,
		DisableGeneralOptionsHandler: true,
		ConnState:                    open.changed,
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
	server.SetKeepAlivesEnabled(false)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_ = server.Serve(l) // returns when the listener or the server is closed
	open.wait.Wait()
}

// conns holds the open connections, oldest first. If there are too many, the oldest connection is closed, so that
// clients that do not read their answers cannot block other clients.
type conns struct {
	wait sync.WaitGroup
	mu   sync.Mutex
	all  []net.Conn
}

// changed is the server's hook for the start and the end of every connection.
func (s *conns) changed(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.wait.Add(1)
		if s.all = append(s.all, c); len(s.all) > maxConns {
			oldest := s.all[0]
			s.all = slices.Delete(s.all, 0, 1)
			go func() { _ = oldest.Close() }() // closing can take seconds with TLS
		}
	case http.StateClosed, http.StateHijacked:
		s.all = slices.DeleteFunc(s.all, func(o net.Conn) bool { return o == c })
		s.wait.Done()
	}
}

// CheckAddress returns the error with which [Listen] refuses an address, or nil if Listen accepts the address. An
// address must be "host:port" with a loopback host: "localhost" or an IP address such as 127.0.0.1 or [::1].
func CheckAddress(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !isLoopback(host) {
		return fmt.Errorf("monitor: address is %q, want host:port on loopback, such as 127.0.0.1:0, because callers "+
			"are not authenticated", addr)
	}
	return nil
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
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
	// A name such as localhost may resolve to any address, so the address of the listener is checked, too.
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("monitor: %q resolves to %v, want a loopback address", addr, l.Addr()), l.Close())
	}
	return l, nil
}

// Guard passes on only requests from this machine: those that come from a loopback address, were not forwarded by a
// proxy, and have "localhost" or a loopback address as Host (which excludes web pages whose name resolves to
// 127.0.0.1). Guard answers all other requests with 403 and the reason. The headers of every answer keep browsers from
// guessing the answer's type, showing the answer in a frame, and storing it.
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

// foreign returns the reason why a request is not from this machine, or "" if it is.
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
	if strings.Contains(host, "@") {
		return "only this machine is served: the Host of the request contains a user name"
	}
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
