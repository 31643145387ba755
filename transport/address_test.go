package transport_test

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// An address that cannot be meant is refused, and none is taken for another one.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"wss://wss://host:7443/": "want one scheme",
		"wss://host:/":           "a port after a colon",
		"ws://host:7443/":        "there is no mode without TLS",
		"host:7443":              "want wss://host:port/path",
		"wss://host:70000/":      "port is 70000",
		"wss://user@host/":       "want wss://host:port/path",
	} {
		if _, _, err := transport.ParseAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"wss://host": "host:443", "wss://[::1]:7443/a": "[::1]:7443"} {
		if _, hostPort, err := transport.ParseAddress(text); err != nil || hostPort != want {
			t.Errorf("%q: %q, %v, want %q", text, hostPort, err, want)
		}
	}
}
