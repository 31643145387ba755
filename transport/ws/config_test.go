package ws

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestConfigFaults checks that New reports all errors of a configuration together. Package transport tests what is wrong
// with an address.
func TestConfigFaults(t *testing.T) {
	broken := bytes.Clone(keyOf("m"))
	broken[40] ^= 1
	lacks := errors.New("Members differs from Fleet.Members")
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(c *Config) {}, nil},
		{func(c *Config) { c.Key = nil }, []string{"Key has 0 bytes, want an Ed25519 private key of 64"}},
		{func(c *Config) { c.Listen = "localhost" }, []string{`Listen is "localhost", want host:port`}},
		{func(c *Config) { c.Listen = "127.0.0.1:99999" }, []string{"invalid port"}},
		{func(c *Config) { c.Peers = []Peer{peerOf("z", "m")} }, []string{`is also a key of "m"`}},
		{func(c *Config) { *c = ConfigOf(two{fault: lacks}, "a", keyOf("a"), "127.0.0.1:0") }, []string{lacks.Error()}},
		{func(c *Config) {
			c.Name, c.Key, c.MaxFrame, c.Proxy = "", broken, 1<<30+1, &url.URL{Scheme: "wss", Host: "proxy:1"}
			c.Peers = []Peer{
				{Name: "x", Keys: []ed25519.PublicKey{publicOf("3")}},
				{Name: "x", Keys: []ed25519.PublicKey{publicOf("3")}},
				{Name: "y"},
				{Name: "z", Keys: []ed25519.PublicKey{{1, 2}, make([]byte, 32)}},
				at(peerOf("n"), "ws://host:1/", "wss://ok:1/x", ":"),
			}
		}, []string{
			"Name is empty",
			"Key: the public half",
			"MaxFrame is 1073741825, want 0 to 1073741824",
			`Proxy: want http://host:port or https://host:port`,
			`peer "x" is listed twice`,
			`peer "x": key 0, ` + transport.FormatKey(publicOf("3")) + `, is also a key of "x"`,
			`peer "y" has 0 keys, want 1 or 2`,
			`peer "z": key 0: the key has 2 bytes, want 32`,
			`peer "z": key 1: the key is a point of small order`,
			`peer "n": address "ws://host:1/": want wss://host:port/path: connections without TLS are not supported`,
			`peer "n": address ":":`,
		}},
		{func(c *Config) {
			c.MaxFrame = -1
			c.Peers = []Peer{{Keys: peerOf("1").Keys}, peerOf("m", "2")}
		}, []string{"MaxFrame is -1", "peer 0 has no name", `peer 1 has the node's own name, "m"`}},
	} {
		cfg := Config{Name: "m", Key: keyOf("m")}
		c.change(&cfg)
		tr, err := New(cfg)
		if tr != nil {
			if tr.Addr() != "" || len(c.want) > 0 {
				t.Errorf("Addr() = %q without a listener, want the error %q", tr.Addr(), c.want)
			}
			tr.Close()
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%d errors, want %q:\n%v", len(lines), c.want, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "ws: ") {
				t.Errorf("line %q does not say where it comes from", line)
			}
		}
	}
}

// two is a fleet with the members "a" and "b". Only member "a" has an address.
type two struct {
	at    string
	fault error
}

func (f two) CheckMembers() error { return f.fault }

func (f two) Peers(member string) []Peer {
	if member == "b" {
		p := peerOf("a", "a")
		p.Addresses = []string{f.at}
		return []Peer{p}
	}
	return []Peer{peerOf("b", "b")}
}

func (two) MaxFrame() int { return 1000 }
func (two) Hello(member string) func(string) []byte {
	return func(peer string) []byte { return []byte(member + peer) }
}
func (two) CheckHello(member string) func(string, []byte) error {
	return func(peer string, hello []byte) error {
		if string(hello) != peer+member {
			return errors.New("another fleet")
		}
		return nil
	}
}

// TestConfigOfAFleet checks that ConfigOf returns a working configuration from a fleet and a key alone, even if the
// address has no scheme.
func TestConfigOfAFleet(t *testing.T) {
	a, err := New(ConfigOf(two{}, "a", keyOf("a"), "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f := two{at: strings.Trim(strings.TrimPrefix(a.Addr(), "wss:"), "/")}
	answers, err := Probe(t.Context(), ConfigOf(f, "b", keyOf("b"), ""))
	if err != nil || len(answers) != 1 || answers[0].Err != nil || answers[0].Where != f.at {
		t.Fatalf("it is asked at an address without a scheme: %+v, %v", answers, err)
	}
	b, err := New(ConfigOf(f, "b", keyOf("b"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	frame := []byte("good morning")
	node{Transport: b}.send(t, "a", frame)
	node{Transport: a}.expect(t, "b", frame)
	if a.MaxFrame() != 1000 {
		t.Errorf("MaxFrame is %d, want the fleet's", a.MaxFrame())
	}
	for _, p := range a.Peers() {
		if p.How != "accepted" || p.Where == "" {
			t.Errorf("%+v", p)
		}
	}
}
