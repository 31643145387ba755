package transport

import (
	"errors"
	"net/url"
	"strings"
)

// CheckProxy returns what is wrong with the URL of a proxy for outgoing connections, nil if nothing. It is
// "http://host:port" or "https://host:port", and may contain a user and a password, which the error leaves out.
func CheckProxy(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("want http://host:port or https://host:port")
	}
	if u.Hostname() == "" || u.Opaque+u.RawQuery+u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return errors.New("want nothing but a host and a port after " + u.Scheme + "://")
	}
	return nil
}
