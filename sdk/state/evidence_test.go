package state

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// memberKey returns a key that is always the same for a name.
func memberKey(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte(name[:1]), ed25519.SeedSize))
}

// pins returns the keys whose signatures count: an old one, and the one with which members sign.
func pins(member string) []ed25519.PublicKey {
	old, now := memberKey("z").Public(), memberKey(member).Public()
	return []ed25519.PublicKey{old.(ed25519.PublicKey), now.(ed25519.PublicKey)}
}

// What a store keeps of evidence is read again, by Inspect as well; a damaged file is refused there as New refuses it.
func TestEvidenceIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if r, err := Inspect(dir); err != nil || r.Refused != nil || len(r.Evidence) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	run, fleet := "r", [32]byte{1}
	var want []signed.Evidence
	for i, name := range []string{"a", "b"} {
		var two [2]signed.Release
		for j := range two {
			two[j] = signed.Release{Round: i + 1, Digest: [32]byte{byte(j)}}
			two[j].Sign(memberKey(name), signed.NewScope(run, fleet, name))
		}
		e := signed.NewEvidence(name, &two[0], &two[1])
		if err := d.AddEvidence(e); err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	r, err := Inspect(dir)
	if err != nil || r.Refused != nil || !reflect.DeepEqual(r.Evidence, want) {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, e := range r.Evidence {
		if err := e.Verify(run, fleet, pins(e.Member)); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(EvidencePath(dir), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Inspect(dir); err != nil || r.Refused == nil ||
		!strings.Contains(r.Refused.Error(), "evidence.jsonl, line 1: ") {
		t.Errorf("damaged: %+v, %v", r, err)
	}
}

// Known lists what was learned: the latest state of each ledger.
func TestKnownLedgers(t *testing.T) {
	if (*Heads)(nil).Known() != nil {
		t.Error("nothing remembers something")
	}
	path := filepath.Join(t.TempDir(), "heads")
	h, err := OpenHeads(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{3, 5, 4} {
		scope := signed.NewScope("r", [32]byte{}, "b")
		r := signed.Release{Round: 1, Ledger: signed.Head{ID: [16]byte{7}, Seq: seq}}
		r.Sign(memberKey("b"), scope)
		h.Learn(pins("b"), scope, r)
	}
	want := []KnownLedger{{Key: pins("b")[1], Ledger: "07" + strings.Repeat("0", 30), Lines: 5}}
	if got := h.Known(); !reflect.DeepEqual(got, want) {
		t.Errorf("known are %+v, want %+v", got, want)
	}
	if err := h.Save(); err != nil {
		t.Fatal(err)
	}
	if h, err = OpenHeads(path); err != nil || !reflect.DeepEqual(h.Known(), want) {
		t.Errorf("read again: %+v, %v", h.Known(), err)
	}
}
