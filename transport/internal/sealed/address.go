package sealed

import (
	"net"
	"net/url"
	"strings"
)

// Split parses a valid broker URL. web reports whether the scheme is wss or ws. path has no leading or trailing
// slashes.
func Split(text string) (u *url.URL, web bool, path string) {
	u, err := url.Parse(text)
	if err != nil {
		return new(url.URL), false, ""
	}
	return u, u.Scheme == "wss" || u.Scheme == "ws", strings.Trim(u.EscapedPath(), "/")
}

// Secure reports whether a connection to the URL uses TLS.
func Secure(text string) bool { u, _, _ := Split(text); return u.Scheme == "tls" || u.Scheme == "wss" }

// Redacted returns a URL with its password masked.
func Redacted(text string) string { u, _, _ := Split(text); return u.Redacted() }

// WarnIfExposed logs a warning if connections to the URL leave this machine without TLS.
func (w *Watch) WarnIfExposed(text string) {
	u, _, _ := Split(text)
	ip := net.ParseIP(u.Hostname())
	if !Secure(text) && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		w.log.Warn("the connection to the broker is not encrypted: frames are sealed, but an eavesdropper sees which "+
			"members communicate, and can read any credentials", "broker", Redacted(text))
	}
}
