package transport_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestParseAddress checks that ParseAddress refuses invalid addresses, and adds the default port to a URL without a
// port.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"wss://wss://host:7443/": "want exactly one scheme",
		"wss://host:/":           "a port after the colon",
		"ws://host:7443/":        "connections without TLS are not supported",
		"wss:///path":            "want wss://host:port/path or host:port",
		"host":                   "want wss://host:port/path or host:port",
		":7443":                  "want wss://host:port/path or host:port",
		"host:wss":               "want wss://host:port/path or host:port",
		"wss://a,b:7443/":        "want wss://host:port/path or host:port",
		"a b:7443":               "want wss://host:port/path or host:port",
		"1.2.3.4:7443/path":      "want wss://host:port/path or host:port",
		"::1:7443":               "with an IPv6 address in brackets, such as [::1]:7443",
		"::1":                    "with an IPv6 address in brackets, such as [::1]:7443",
		"[::1]":                  "with an IPv6 address in brackets, such as [::1]:7443",
		"wss://::1:7443/":        "with an IPv6 address in brackets, such as [::1]:7443",
		"[fe80::1%eth0]:7443":    "with a zone, [fe80::1%25eth0]:7443",
		"wss://[::]:7443/":       ":: is an address to listen on",
		"256.1.1.1:7443":         "256.1.1.1 is not an IP address",
		"1.2.3:7443":             "1.2.3 is not an IP address",
		"7443:7443":              "7443 is not an IP address",
		"0.0.0.0:7443":           "0.0.0.0 is an address to listen on",
		"host:0":                 "port is 0",
		"host:7443:7443":         "want wss://host:port/path or host:port",
		"wss://host:1:2/":        "want wss://host:port/path or host:port",
		"wss://host:70000/":      "port is 70000",
		"wss://user@host/":       "want wss://host:port/path",
	} {
		if _, _, err := transport.ParseAddress(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"wss://host": "host:443", "wss://[::1]:7443/a": "[::1]:7443",
		"host:7443": "host:7443", "[fe80::1%25eth0]:7443": "[fe80::1%eth0]:7443"} {
		if _, hostPort, err := transport.ParseAddress(text); err != nil || hostPort != want {
			t.Errorf("%q: %q, %v, want %q", text, hostPort, err, want)
		}
	}
}

// TestCheckBroker checks that CheckBroker accepts only URLs for the given kind of broker, that its error contains no
// password, and that it says how to write an IPv6 address.
func TestCheckBroker(t *testing.T) {
	for text, good := range map[string]bool{"tls://h": true, "mqtt://h:1": true, "wss://h/mqtt": true, "ws://h": true,
		"tls://h/path": false, "nats://h": false, "https://joe:hidden@h": false, "wss://": false, "tls://h?x": false, "%": false,
		"tls://joe:hidden@h:x": false, "": false, "mqtt://[::1]:1883": true, "mqtt://::1:1883": false, "mqtt://::1": false,
		"::1:1883": false, "mqtt://h:0": false, "mqtt://h:70000": false,
		"mqtt://1.2.3.256:1883": false, "mqtt://1.2.3.4:1883": true} {
		err := transport.CheckBroker("mqtt", text)
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(text, "::1") && !good && !strings.Contains(err.Error(), "[::1]") {
			t.Errorf("%q: %v, want the form of an IPv6 address", text, err)
		}
	}
	if err := transport.CheckProxy(&url.URL{Scheme: "http", Host: "::1:3128"}); err == nil {
		t.Error("CheckProxy accepts an IPv6 address without brackets")
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("wss://host:1/path")
	f.Add("wss://[::1]:443")
	f.Add("ws://host")
	f.Add("host:1")
	f.Fuzz(func(t *testing.T, text string) {
		host, hostPort, err := transport.ParseAddress(text)
		if err == nil && (!strings.HasPrefix(strings.ToLower(transport.AddressURL(text)), "wss:") || host == "" || hostPort == "") {
			t.Errorf("%q is taken for %+v", text, hostPort)
		}
	})
}
