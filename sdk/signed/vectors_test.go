package signed

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// TestFingerprint has the fingerprint of the key 0, 1, ..., 31, as computed by another program.
func TestFingerprint(t *testing.T) {
	key := make(ed25519.PublicKey, ed25519.PublicKeySize)
	for i := range key {
		key[i] = byte(i)
	}
	if got, want := Fingerprint(key), "74046 28268 26471 36408 66139 80464"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
}

// TestVectorsOfEd25519 checks the verification of releases, offers and ledger states against Wycheproof's edge cases
// for Ed25519. Examples are a signature of the wrong length, a signature that was modified without the key, and an S
// that exceeds the order of the group.
func TestVectorsOfEd25519(t *testing.T) {
	text, err := os.ReadFile("../../../shared/vectors/wycheproof_ed25519.json")
	if err != nil {
		t.Skip("no vectors in ../shared/vectors beside the project")
	}
	var file struct {
		TestGroups []struct {
			PublicKey struct{ PK string }
			Tests     []struct {
				TcID             int
				Msg, Sig, Result string
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	bytes := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	count := map[string]int{}
	for _, g := range file.TestGroups {
		keys := []ed25519.PublicKey{make([]byte, 3), bytes(g.PublicKey.PK)}
		for _, v := range g.Tests {
			count[v.Result]++
			err := verify(keys, bytes(v.Msg), bytes(v.Sig), "case %d", v.TcID)
			if (err == nil) != (v.Result == "valid") {
				t.Errorf("case %d is %s: error %v", v.TcID, v.Result, err)
			}
		}
	}
	if count["valid"] < 80 || count["invalid"] < 60 {
		t.Errorf("cases tried: %v", count)
	}
}
