package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spade-dfl/spade-edge/transport"
)

// For returns the proxy through which "host:port" is dialed, nil for none: that of the dialer, or else of HTTPS_PROXY.
// What NO_PROXY lists is dialed directly, and with HTTPS_PROXY this machine as well, as curl and Go's net/http have it.
func (d *Dialer) For(addr string) (*url.URL, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	u := d.Proxy
	if u == nil {
		ip := net.ParseIP(host)
		if text := d.env("HTTPS_PROXY"); text != "" && host != "localhost" && !ip.IsLoopback() {
			if u, err = parse(text); err != nil {
				return nil, fmt.Errorf("HTTPS_PROXY: %w", err)
			}
		}
	}
	if u != nil && excepted(d.env("NO_PROXY"), strings.ToLower(host), port) {
		return nil, nil
	}
	return u, nil
}

func (d *Dialer) env(name string) string {
	if text := d.Getenv(name); text != "" {
		return text
	}
	return d.Getenv(strings.ToLower(name))
}

// parse reads a proxy's URL, of which the scheme may be left out. The error leaves out the URL, which may contain a
// password.
func parse(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL, want http://host:port")
	}
	return u, transport.CheckProxy(u)
}

// excepted reports whether a list such as NO_PROXY has a host, which is in lower case. An item is "*", an address, a
// range of addresses in CIDR notation, a domain that stands for itself and all below it, or one with a dot before it
// that stands for those below it. All but a range may have a port.
func excepted(list, host, port string) bool {
	ip, _ := netip.ParseAddr(host)
	for item := range strings.SplitSeq(strings.ToLower(list), ",") {
		item = strings.TrimSpace(item)
		if item == "*" {
			return true
		}
		if cidr, err := netip.ParsePrefix(item); err == nil {
			if cidr.Contains(ip.Unmap()) {
				return true
			}
			continue
		}
		if h, p, err := net.SplitHostPort(item); err == nil {
			if p != port {
				continue
			}
			item = h
		}
		item = strings.TrimPrefix(item, "*")
		if a, err := netip.ParseAddr(strings.Trim(item, "[]")); err == nil {
			if a.Unmap() == ip.Unmap() {
				return true
			}
			continue
		}
		if name := strings.TrimPrefix(item, "."); name == "" || ip.IsValid() {
			continue
		} else if host == item || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}
