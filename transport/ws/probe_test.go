package ws

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// asking returns the configuration of a node that does not listen and only sends probes.
func asking(name string, peers ...Peer) Config {
	return Config{Name: name, Key: keyOf(name), Listen: "127.0.0.1:0", Peers: peers, timing: fast}
}

func probe(t *testing.T, cfg Config) []Answer {
	t.Helper()
	answers, err := Probe(patient(t), cfg)
	if err != nil || len(answers) != len(cfg.Peers) {
		t.Fatalf("%d answers of %d peers, error %v", len(answers), len(cfg.Peers), err)
	}
	return answers
}

// TestProbe checks that running peers answer a probe, whichever end would dial. Hellos must be exchanged in both
// directions, and the probe must leave no state at the other end.
func TestProbe(t *testing.T) {
	heard := make(chan string, 2)
	says := func(c *Config) {
		c.Hello = func(peer string) []byte { return []byte(c.Name + " to " + peer) }
		c.CheckHello = func(peer string, hello []byte) error {
			heard <- string(hello)
			return nil
		}
	}
	a, c := start(t, "a", says, peerOf("b")), start(t, "c", says, peerOf("b"))
	cfg := asking("b", at(peerOf("c"), "wss://127.0.0.1:1/", c.Addr()), at(peerOf("a"), a.Addr()))
	cfg.Hello = func(peer string) []byte { return []byte("b to " + peer) }
	cfg.CheckHello = func(peer string, hello []byte) error {
		if string(hello) != peer+" to b" {
			return fmt.Errorf("%q says %q", peer, hello)
		}
		return nil
	}
	for i, got := range probe(t, cfg) {
		if got.Err != nil || got.Refused || got.Name != []string{"a", "c"}[i] ||
			got.Where != []string{a.Addr(), c.Addr()}[i] || got.Took <= 0 {
			t.Errorf("answer %+v", got)
		}
		<-heard
	}
	for _, n := range []node{a, c} {
		if s := n.Peers()[0]; s.Connected || s.Err != errNoAddress || s.Refused != nil || !s.Since.IsZero() ||
			n.log.count("peer=b") != 0 {
			t.Errorf("%s remembers a probe: %+v\n%s", n.cfg.Name, s, n.log.text.String())
		}
	}
}

// TestProbeDisturbsNothing checks that a running node's connections stay open while another process with the same key
// probes the node's peers.
func TestProbeDisturbsNothing(t *testing.T) {
	a, b := pair(t, nil, nil)
	a.send(t, "b", []byte("one"))
	b.expect(t, "a", []byte("one"))
	for range 3 {
		for _, cfg := range []Config{asking("a", at(peerOf("b"), b.Addr())), asking("b", at(peerOf("a"), a.Addr()))} {
			if got := probe(t, cfg)[0]; got.Err != nil {
				t.Errorf("answer %+v", got)
			}
		}
	}
	a.send(t, "b", bytes.Repeat([]byte("two"), 50000))
	b.expect(t, "a", bytes.Repeat([]byte("two"), 50000))
	if a.log.count("disconnected")+b.log.count("disconnected")+a.log.count("WARN")+b.log.count("WARN") != 0 {
		t.Errorf("logs\n%s\n%s", a.log.text.String(), b.log.text.String())
	}
}

// TestProbeFindsFaults checks that a probe reports each problem that prevents a connection, and whether waiting may
// help.
func TestProbeFindsFaults(t *testing.T) {
	refusing := start(t, "a", func(c *Config) {
		c.CheckHello = func(string, []byte) error { return errors.New("another fleet") }
	}, peerOf("b"))
	plain := start(t, "a", nil, peerOf("b"))
	strange := start(t, "a", nil, peerOf("c")) // does not know b
	silent := serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	talking := serve(t, func(c net.Conn) { io.WriteString(c, "220 mail.example ESMTP\r\n") }) // does not use TLS
	cert := selfSigned(keyOf("a"))
	other := serve(t, func(c net.Conn) { // not a node
		secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		io.WriteString(secure, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 3\r\n\r\nno\n")
		io.Copy(io.Discard, secure)
	})
	where := func(address string) []string { return []string{"wss://" + address + "/"} }
	for name, c := range map[string]struct {
		change  func(c *Config)
		want    string
		refused bool
	}{
		"no address": {func(c *Config) { c.Peers[0].Addresses = nil }, "the peer has no address", false},
		"nobody": {func(c *Config) { c.Peers[0].Addresses = []string{"wss://127.0.0.1:1/"} }, "refused",
			false},
		"silence": {func(c *Config) { c.Peers[0].Addresses = where(silent); c.timing.handshake = fast.backoffMax }, "deadline exceeded", false},
		"not a node": {func(c *Config) { c.Peers[0].Addresses = where(talking) },
			"does not look like a TLS handshake", true},
		"an HTTP server": {func(c *Config) { c.Peers[0].Addresses = where(other) },
			`405 Method Not Allowed: "no"`, false},
		"its key": {func(c *Config) { c.Peers[0].Keys = peerOf("x").Keys }, `peer "a" presents the key ` +
			transport.FormatKey(publicOf("a")), true},
		"our key": {func(c *Config) { c.Peers[0].Addresses = []string{strange.Addr()} }, "our key " +
			transport.FormatKey(publicOf("b")) + " is not pinned there", true},
		"our hello": {func(c *Config) { c.Peers[0].Addresses = []string{refusing.Addr()} },
			"the peer reports: hello refused: another fleet", true},
		"its hello": {func(c *Config) { c.CheckHello = func(string, []byte) error { return errors.New("no") } },
			"hello refused: no", true},
		"the first is it": {func(c *Config) { c.Peers[0].Addresses = []string{refusing.Addr(), "wss://127.0.0.1:1/"} },
			"another fleet", true},
	} {
		cfg := asking("b", at(peerOf("a"), plain.Addr()))
		c.change(&cfg)
		got := probe(t, cfg)[0]
		if got.Err == nil || !strings.Contains(got.Err.Error(), c.want) || got.Refused != c.refused {
			t.Errorf("%s: answer %+v, want %q, refused %v", name, got, c.want, c.refused)
		}
	}
	if _, err := Probe(t.Context(), asking("b", peerOf("b"))); err == nil {
		t.Error("a configuration that New refuses was taken")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if answers, err := Probe(ended, asking("b", at(peerOf("a"), plain.Addr()))); err != nil || answers[0].Err == nil {
		t.Errorf("answers %+v, error %v, after the end", answers, err)
	}
}

// TestProbeLengths checks that a hello has the same maximum length in a probe as on a connection.
func TestProbeLengths(t *testing.T) {
	long := bytes.Repeat([]byte("h"), endpoint.MaxHello)
	a := start(t, "a", func(c *Config) { c.Hello = func(string) []byte { return long } }, peerOf("b"))
	cfg := asking("b", at(peerOf("a"), a.Addr()))
	cfg.Hello = func(string) []byte { return long }
	var heard []byte
	cfg.CheckHello = func(_ string, hello []byte) error { heard = hello; return nil }
	if got := probe(t, cfg)[0]; got.Err != nil || !bytes.Equal(heard, long) {
		t.Errorf("answer %+v, %d bytes", got, len(heard))
	}
	cfg.Hello = func(string) []byte { return append(long, 'x') }
	if got := probe(t, cfg)[0]; got.Err == nil || !strings.Contains(got.Err.Error(), "this node's hello has 65537 bytes") {
		t.Errorf("answer %+v", got)
	}
	secure, _, err := dialTLS(t, a, "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(secure, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n%sx", long)
	if answer, err := io.ReadAll(secure); !strings.HasPrefix(string(answer), "HTTP/1.1 400 Bad Request\r\n") {
		t.Errorf("a hello of 65537 bytes is answered %q, error %v", answer, err)
	}
}
