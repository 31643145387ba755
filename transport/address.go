package transport

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// ParseAddress reads an address of a member that can be dialed, "wss://host:port/path"; the port defaults to 443. It
// returns the host and "host:port".
func ParseAddress(s string) (host, hostPort string, err error) {
	u, err := url.Parse(s)
	if err != nil {
		return "", "", fmt.Errorf("address %q: %w", s, err)
	}
	switch {
	case u.Scheme == "ws":
		return "", "", fmt.Errorf("address %q: want wss://host:port/path, there is no mode without TLS", s)
	case u.Scheme != "wss" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return "", "", fmt.Errorf("address %q: want wss://host:port/path", s)
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("address %q: port is %s, want 1 to 65535", s, port)
	}
	return u.Hostname(), net.JoinHostPort(u.Hostname(), port), nil
}
