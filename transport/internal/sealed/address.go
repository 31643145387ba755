package sealed

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Schemes describes the URL schemes of one kind of broker. The schemes wss and ws are the same for all kinds.
type Schemes struct {
	Prefix string // prefix of errors
	Plain  string // scheme of a URL without TLS; the scheme with TLS is "tls"
}

// Forms returns a list of the valid URL forms, as text for an error message.
func (s Schemes) Forms() string {
	return "tls://host:port or wss://host:port/path, or without TLS " + s.Plain + ":// or ws://"
}

// Check returns an error if text is not a valid broker URL. The error contains no password.
func (s Schemes) Check(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		// Do not return the error from url.Parse: it quotes the whole URL, including the password.
		return errors.New(s.Prefix + ": not a URL, want " + s.Forms())
	}
	_, web, path := Split(text)
	known := web || u.Scheme == "tls" || u.Scheme == s.Plain
	if !known || u.Hostname() == "" || u.Opaque+u.Fragment+u.RawQuery != "" || path != "" && !web {
		return fmt.Errorf("%s: URL %q, want %s", s.Prefix, u.Redacted(), s.Forms())
	}
	return nil
}

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
