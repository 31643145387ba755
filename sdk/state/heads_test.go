package state

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

func memberKey(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte(name[:1]), ed25519.SeedSize))
}

// pins returns the valid keys of a member: an old key, and the current key, with which the member signs.
func pins(member string) []ed25519.PublicKey {
	old, now := memberKey("z").Public(), memberKey(member).Public()
	return []ed25519.PublicKey{old.(ed25519.PublicKey), now.(ed25519.PublicKey)}
}

func TestLatestHead(t *testing.T) {
	if (*Heads)(nil).Find(pins("b"), []byte{1}, signed.Head{}) != nil {
		t.Error("a nil Heads returned a statement")
	}
	path := filepath.Join(t.TempDir(), "heads")
	h, err := OpenHeads(path)
	if err != nil {
		t.Fatal(err)
	}
	id := [16]byte{7}
	for _, seq := range []uint64{3, 5, 4} {
		scope := signed.NewScope("r", [32]byte{}, "b")
		r := signed.Statement{Kind: signed.Release, Round: 1, Ledger: signed.Head{ID: id, Seq: seq}}
		r.Sign(memberKey("b"), scope)
		h.Learn(pins("b"), signed.Earlier{Scope: scope, Statement: r})
	}
	if err := h.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenHeads(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*Heads{h, again} {
		if r := h.Find(pins("b"), id[:], signed.Head{}); r == nil || r.Ledger.Seq != 5 || len(h.entries) != 1 {
			t.Errorf("found %+v in %d entries, want seq 5 in one", r, len(h.entries))
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(`"signed":"`)) + len(`"signed":"`) + 100
	for bad, want := range map[string]string{
		string(text[:at]) + string("01"[text[at]&1^1]) + string(text[at+1:]): "none of the member's keys",
		string(text) + `{"key":"00"}`:                                        "line 2",
		string(text[:len(text)/2]):                                           "line 1",
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenHeads(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("damaged: %v, want %q", err, want)
		}
	}
}
