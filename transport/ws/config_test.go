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

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	broken := bytes.Clone(keyOf("m"))
	broken[40] ^= 1
	_, err := New(Config{
		Name:     "m",
		Key:      broken,
		MaxFrame: -1,
		Proxy:    &url.URL{Scheme: "wss", Host: "proxy:1"},
		Peers: []Peer{
			{Name: "", Keys: []ed25519.PublicKey{publicOf("1")}},
			{Name: "m", Keys: []ed25519.PublicKey{publicOf("2")}},
			{Name: "x", Keys: []ed25519.PublicKey{publicOf("3")}},
			{Name: "x", Keys: []ed25519.PublicKey{publicOf("3")}},
			{Name: "y"},
			{Name: "z", Keys: []ed25519.PublicKey{{1, 2}, make([]byte, 32)}},
			{Name: "c", Keys: []ed25519.PublicKey{publicOf("c")}},
			{Name: "n", Keys: []ed25519.PublicKey{publicOf("n")}, Addresses: []string{
				"ws://host:1/", "wss://", "wss://host:70000", "wss://me@host", "http://host", "wss://ok:1/x", ":",
			}},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Key: the public half",
		"MaxFrame is -1, want 0 to 1073741824",
		"peer 0 has no name",
		`peer 1 has the node's own name, "m"`,
		`peer "x" is listed twice`,
		`peer "x": key 0, ` + transport.FormatKey(publicOf("3")) + `, is also a key of "x"`,
		`peer "y" has 0 keys, want 1 or 2`,
		`peer "z": key 0: the key has 2 bytes, want 32`,
		`peer "z": key 1: the key is a point of small order`,
		`Proxy: want http://host:port or https://host:port`,
		`address "ws://host:1/": want wss://host:port/path: connections without TLS are not supported`,
		`address "wss://": want wss://host:port/path`,
		`address "wss://host:70000": port is 70000, want 1 to 65535`,
		`address "wss://me@host": want wss://`,
		`address "http://host": want wss://`,
		`address ":":`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q", want)
		}
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, "ws: config: ") {
			t.Errorf("line %q does not say where it comes from", line)
		}
	}
	if strings.Contains(err.Error(), "ok:1") {
		t.Error("a good address is reported")
	}
}

func TestConfigFaultsOfTheNode(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Name = "" }, "Name is empty"},
		{func(c *Config) { c.Key = nil }, "Key has 0 bytes, want an Ed25519 private key of 64"},
		{func(c *Config) { c.Listen = "localhost" }, `Listen is "localhost", want host:port`},
		{func(c *Config) { c.Listen = "127.0.0.1:99999" }, "invalid port"},
		{func(c *Config) { c.Peers = []Peer{peerOf("z", "m")} }, `is also a key of "m"`},
		{func(c *Config) { c.MaxFrame = 1<<30 + 1 }, "MaxFrame is 1073741825"},
	} {
		cfg := Config{Name: "m", Key: keyOf("m")}
		c.change(&cfg)
		tr, err := New(cfg)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if tr != nil {
			if tr.Addr() != "" {
				t.Errorf("Addr() = %q without a listener", tr.Addr())
			}
			tr.Close()
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

// TestFleetWithoutKeys checks that New refuses a fleet that lacks the keys of a member.
func TestFleetWithoutKeys(t *testing.T) {
	lacks := errors.New("Members differs from Fleet.Members")
	if _, err := New(ConfigOf(two{fault: lacks}, "a", keyOf("a"), "127.0.0.1:0")); !errors.Is(err, lacks) {
		t.Errorf("%v, want %v", err, lacks)
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

// TestNoAddressIsSaid checks that the status of an unconnected peer states that the peer has no address and has not
// dialed.
func TestNoAddressIsSaid(t *testing.T) {
	a, err := New(ConfigOf(two{}, "a", keyOf("a"), "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got, want := transport.Ways(a, []string{"b", "c"}), `"b" (not connected: the peer has no address and has not connected to this node), "c" (not a neighbor)`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
