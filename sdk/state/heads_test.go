package state

import (
	"bytes"
	"crypto/ed25519"
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

func mustHeads(t *testing.T, path string) *Heads {
	t.Helper()
	h, err := openHeads(path)
	must(t, err)
	return h
}

// learn gives heads a release of member b, signed with a key, with a ledger's state.
func learn(h *Heads, key string, id byte, seq uint64) error {
	scope := signed.NewScope("r", [32]byte{}, "b")
	r := signed.Statement{Kind: signed.Release, Round: 1, Ledger: signed.Head{ID: [16]byte{id}, Seq: seq}}
	r.Sign(memberKey(key), scope)
	return h.Learn(pins("b"), signed.Earlier{Scope: scope, Statement: r})
}

func TestLatestHead(t *testing.T) {
	if (*Heads)(nil).Of(pins("b")) != nil {
		t.Error("a nil Heads returned a statement")
	}
	path := filepath.Join(t.TempDir(), "heads")
	h := mustHeads(t, path)
	for _, seq := range []uint64{3, 5, 4} {
		must(t, learn(h, "b", 7, seq))
	}
	must(t, h.Save())
	for _, h := range []*Heads{h, mustHeads(t, path)} {
		if list := h.Of(pins("b")); len(list) != 1 || list[0].Ledger.Seq != 5 {
			t.Errorf("found %+v, want one with seq 5", list)
		}
	}
	text := mustRead(t, path)
	at := bytes.Index(text, []byte(`"signed":"`)) + len(`"signed":"`) + 100
	for bad, want := range map[string]string{
		string(text[:at]) + string("01"[text[at]&1^1]) + string(text[at+1:]): "none of the member's keys",
		string(text) + `{"key":"00"}`:                                        "line 2",
		string(text[:len(text)/2]):                                           "line 1",
	} {
		mustWrite(t, path, []byte(bad))
		if _, err := openHeads(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("damaged: %v, want %q", err, want)
		}
	}
}

// TestHeadsAreFull checks that the ledgers of one member have a bounded number of lines, whichever of its keys signs, that a
// further ledger is refused with an error and displaces none, and that a newer state of a known ledger is still kept.
func TestHeadsAreFull(t *testing.T) {
	h := mustHeads(t, filepath.Join(t.TempDir(), "heads"))
	for id := range byte(signed.MaxEarlier) {
		key := "bz"[id%2:][:1] // the present key and the one before
		must(t, learn(h, key, 1+id, 3))
	}
	for _, key := range []string{"b", "z"} {
		if err := learn(h, key, 99, 1000); err == nil || !strings.Contains(err.Error(), "has no room for ledger 63") {
			t.Errorf("one ledger too many: %v", err)
		}
	}
	if err := learn(h, "b", 2, 7); err != nil {
		t.Error(err)
	}
	list := h.Of(pins("b"))
	for i, e := range list {
		if want := uint64(3); e.Ledger.ID[0] == 2 && e.Ledger.Seq != 7 || e.Ledger.ID[0] != 2 && e.Ledger.Seq != want || int(e.Ledger.ID[0]) != i+1 {
			t.Errorf("entry %d is %+v", i, e.Ledger)
		}
	}
	if len(list) != signed.MaxEarlier || learn(h, "c", 50, 1) != nil || len(h.Of(pins("c")[1:])) != 0 {
		t.Errorf("%d entries; a stranger's signature counts", len(list))
	}
}
