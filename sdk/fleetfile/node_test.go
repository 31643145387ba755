package fleetfile

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

func init() {
	RegisterTransport("nats", func(json.RawMessage, string) (any, error) { return "a broker", nil })
}

// TestLoad checks that Load reads a node file, its fleet and its key, and reports all mismatches between them at once.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pin := must(secret.CreateKey(filepath.Join(dir, "c.key")))(t)
	private, open := sample(), sample()
	private.Members[2].Keys[0] = pin
	open.Members[2].Keys[0] = pin
	open.Fleet.Privacy, open.Fleet.Wire = plain().Fleet.Privacy, plain().Fleet.Wire
	private.X0File, open.X0File = "x0", "x0 again"
	for name, f := range map[string]*File{"private.json": private, "open.json": open} {
		if err := f.Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("broken.json", "{}")
	node := func(name, fleet, key, more string) *Node {
		t.Helper()
		write("node.json", fmt.Sprintf(
			`{"version": 1, "name": %q, "fleet": %q, "key": %q, "state": "s", "oracle": {"stream": ["x"]}%s}`, name, fleet, key, more))
		n := must(ReadNode(filepath.Join(dir, "node.json")))(t)
		return n
	}
	for _, good := range []*Node{
		node("c", "private.json", "c.key", `, "listen": ":0", "ledger": "l"`),
		node("c", "open.json", "c.key", `, "listen": ":0"`),
		node("c", "open.json", "c.key", `, "transport": {"nats": "tls://x"}`),
	} {
		f, key, err := good.Load()
		if err != nil {
			t.Fatal(err)
		}
		if !key.Public().(ed25519.PublicKey).Equal(f.Members[2].Keys[0]) || len(f.Peers("c")) != 1 || f.Fleet.Dim != 3 {
			t.Errorf("fleet %+v and the key of %x", f, key.Public())
		}
	}
	for _, c := range []struct {
		node *Node
		want []string
	}{
		{node("c", "private.json", "c.key", `, "listen": ":0"`), []string{state.ErrNoLedger.Error(), "ledger is missing"}},
		{node("c", "open.json", "c.key", `, "listen": ":0", "ledger": "l"`),
			[]string{"want no ledger: the fleet is not private"}},
		{node("c", "private.json", "c.key", ``), []string{"listen is missing", "ledger is missing"}},
		{node("b", "open.json", "c.key", `, "listen": ":0"`),
			[]string{transport.FormatKey(pin) + ", but the fleet file has " + transport.FormatKey(pinOf("b"))}},
		{node("d", "open.json", "c.key", ``), []string{`"d" is not a member`}},
		{node("c", "broken.json", "none.key", ``), []string{"broken.json: version is missing", "none.key"}},
	} {
		_, _, err := c.node.Load()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		}
	}
	if _, err := ReadNode(filepath.Join(dir, "no.json")); err == nil {
		t.Error("no node file was enough")
	}
}
