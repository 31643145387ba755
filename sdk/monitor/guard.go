package monitor

import (
	"errors"
	"fmt"
	"net"
	"net/http"
)

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

// isLoopback reports whether a host, without a port, is this machine.
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
