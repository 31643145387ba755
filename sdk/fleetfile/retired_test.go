package fleetfile

import (
	"crypto/ed25519"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func rotated() *File {
	f := sample()
	f.Members[0].Retired = []ed25519.PublicKey{pinOf("a before")}
	f.Members[1].Retired = []ed25519.PublicKey{pinOf("b before"), pinOf("b lost")}
	return f
}

// TestRetiredKeys checks that retired keys survive a round trip and do not change the hash. A signature by a retired
// key is valid, but a connection with a retired key is refused.
func TestRetiredKeys(t *testing.T) {
	f := rotated()
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := parse(text, "", load)
	if err != nil || !same(back, f) {
		t.Fatalf("read %+v, %v, want %+v\n%s", back, err, f, text)
	}
	if back.Fleet.Hash() != sample().Fleet.Hash() {
		t.Error("retired keys change the hash")
	}
	for _, peer := range back.Peers("a") {
		if !reflect.DeepEqual(peer.Keys, f.Members[1].Keys) {
			t.Errorf("%q may connect with %v, want %v", peer.Name, peer.Keys, f.Members[1].Keys)
		}
	}
	if err := identity(back, "a", keyOf("a before"), ""); err == nil ||
		!strings.Contains(err.Error(), "but the fleet file has") {
		t.Errorf("a retired key connects: %v", err)
	}
	if got, want := back.SigningKeys("b"), []ed25519.PublicKey{pinOf("b"), pinOf("b to come"), pinOf("b before"),
		pinOf("b lost")}; !reflect.DeepEqual(got, want) {
		t.Errorf("b signs with %v, want %v", got, want)
	}
	if got := back.SigningKeys("c"); !reflect.DeepEqual(got, []ed25519.PublicKey{pinOf("c")}) {
		t.Errorf("c signs with %v", got)
	}
	if got := back.SigningKeys("d"); got != nil {
		t.Errorf("nobody signs with %v", got)
	}
	before := slices.Clone(back.Members[1].Keys)
	_ = append(back.SigningKeys("b"), nil)
	if !reflect.DeepEqual(back.Members[1].Keys, before) {
		t.Error("the list is shared with the file")
	}
}
