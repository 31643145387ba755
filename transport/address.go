package transport

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseAddress parses a member's address, "wss://host:port/path" or "host:port". The default port is 443. It returns
// the host without and with the port.
func ParseAddress(s string) (host, hostPort string, err error) {
	u, err := url.Parse(AddressURL(s))
	if err != nil {
		u = new(url.URL) // the errors of package url do not say what is wanted
	}
	host, port := u.Hostname(), cmp.Or(u.Port(), "443")
	ip, errIP := netip.ParseAddr(host)
	switch {
	case u.Scheme == "ws":
		return "", "", fmt.Errorf("address %q: want wss://host:port/path: connections without TLS are not supported", s)
	case strings.Count(s, "://") > 1 || strings.HasSuffix(u.Host, ":"):
		return "", "", fmt.Errorf("address %q: want exactly one scheme and a port after the colon, as in wss://host:port/path", s)
	case u.Scheme != "wss" || host == "" || u.User != nil || u.Fragment != "" || errIP != nil && strings.ContainsAny(host, ": ,;%") || unbracketed(u):
		return "", "", fmt.Errorf("address %q: want wss://host:port/path or host:port%s", s, hint(s))
	case misspelled(host):
		return "", "", fmt.Errorf("address %q: %s is not an IP address, and no name ends in a number", s, host)
	case ip.IsUnspecified():
		return "", "", fmt.Errorf("address %q: %s is an address to listen on, want the host that others dial", s, host)
	case !validPort(port):
		return "", "", fmt.Errorf("address %q: port is %s, want 1 to 65535", s, port)
	}
	return host, net.JoinHostPort(host, port), nil
}

// misspelled reports whether a host ends in a number, as IPv4 addresses do and names never, but is not an address.
func misspelled(host string) bool {
	_, notAddress := netip.ParseAddr(host)
	_, notNumber := strconv.Atoi(host[strings.LastIndexByte(host, '.')+1:])
	return notAddress != nil && notNumber == nil
}

// hint returns what to say about IPv6 addresses in an error about an address that may contain one.
func hint(address string) string {
	_, rest, ok := strings.Cut(address, "//")
	if !ok {
		rest = address
	}
	if strings.Count(rest, ":") < 2 {
		return ""
	}
	return ", with an IPv6 address in brackets, such as [::1]:7443 or, with a zone, [fe80::1%25eth0]:7443"
}

// unbracketed reports whether the host of u is an IPv6 address without the brackets that separate it from a port.
func unbracketed(u *url.URL) bool { return strings.Count(u.Host, ":") > 1 && u.Host[0] != '[' }

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// AddressURL returns an address as a URL. It turns "host:port" into "wss://host:port".
func AddressURL(s string) string {
	if _, port, err := net.SplitHostPort(s); err == nil && !strings.Contains(port, "/") {
		return "wss://" + s
	}
	return s
}

// CheckBroker returns an error if address is not a valid URL for a broker of the given kind, "nats" or "mqtt", which is
// also the scheme of its URLs without TLS. The error omits the address, which may contain a password.
func CheckBroker(kind, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		u = new(url.URL)
	}
	bare := strings.Trim(u.Path, "/") == ""
	schemes := map[string]bool{"wss": true, "ws": true, "tls": bare, kind: bare}
	if u.Hostname() == "" || u.Opaque+u.RawQuery+u.Fragment != "" || !schemes[u.Scheme] || unbracketed(u) {
		return fmt.Errorf("is not of the form tls://host:port or wss://host:port/path (without TLS: %s:// or ws://)%s",
			kind, hint(address))
	}
	if misspelled(u.Hostname()) {
		return fmt.Errorf("has the host %s, which is not an IP address, and no name ends in a number", u.Hostname())
	} else if port := u.Port(); port != "" && !validPort(port) {
		return fmt.Errorf("has the port %s, want 1 to 65535", port)
	}
	return nil
}

// CheckProxy returns an error unless u is a valid proxy URL: "http://host:port" or "https://host:port", with an
// optional user and password. The error contains neither the user nor the password.
func CheckProxy(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("want http://host:port or https://host:port")
	}
	if u.Hostname() == "" || u.Opaque+u.RawQuery+u.Fragment != "" || strings.Trim(u.Path, "/") != "" || unbracketed(u) {
		return errors.New("want only a host, with brackets if it is an IPv6 address, and a port after " + u.Scheme + "://")
	}
	return nil
}
