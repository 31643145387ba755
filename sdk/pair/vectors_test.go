package pair

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

func wycheproof(t *testing.T, name string, groups any) {
	text, err := os.ReadFile("../../../shared/vectors/wycheproof_" + name + ".json")
	if err != nil {
		t.Skip("no vectors in ../shared/vectors beside the project")
	}
	file := struct{ TestGroups any }{groups}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
}

func fromHex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVectorsOfX25519 checks that in Wycheproof's edge cases of X25519, Agree rejects the public keys whose shared
// secret everybody knows. For all other keys Agree returns the secret that follows from the shared secret of the test
// case.
func TestVectorsOfX25519(t *testing.T) {
	var groups []struct {
		Tests []struct {
			TcID                            int
			Public, Private, Shared, Result string
		}
	}
	wycheproof(t, "x25519", &groups)
	refused, agreed := 0, 0
	for _, g := range groups {
		for _, v := range g.Tests {
			own, err := ecdh.X25519().NewPrivateKey(fromHex(t, v.Private))
			if err != nil {
				t.Fatal(err)
			}
			public, shared := Public(fromHex(t, v.Public)), fromHex(t, v.Shared)
			got, err := Agree(own, "a", public, "b", [32]byte{7})
			if bytes.Equal(shared, make([]byte, 32)) {
				if refused++; err == nil || public.Check() == nil {
					t.Errorf("case %d: a secret of a public key of low order", v.TcID)
				}
				continue
			}
			info := agreeTag + "\x00\x00\x00\x00\x00\x00\x00\x01a" + string(own.PublicKey().Bytes()) +
				"\x00\x00\x00\x00\x00\x00\x00\x01b" + string(public[:])
			fleet := [32]byte{7}
			want, keyErr := hkdf.Key(sha256.New, shared, fleet[:], info, 32)
			if keyErr != nil {
				t.Fatal(keyErr)
			}
			if agreed++; err != nil || !bytes.Equal(got[:], want) {
				t.Errorf("case %d (%s): %x, %v, want %x", v.TcID, v.Result, got, err, want)
			}
		}
	}
	if refused < 20 || agreed < 480 {
		t.Errorf("%d cases refused, %d agreed", refused, agreed)
	}
}

// TestVectorsOfHKDF checks that HKDF with SHA-256 passes Wycheproof's edge cases. HKDF derives the secrets of Agree and
// the keys of sealed frames.
func TestVectorsOfHKDF(t *testing.T) {
	var groups []struct {
		Tests []struct {
			TcID, Size                   int
			IKM, Salt, Info, OKM, Result string
		}
	}
	wycheproof(t, "hkdf_sha256", &groups)
	count := 0
	for _, g := range groups {
		for _, v := range g.Tests {
			got, err := hkdf.Key(sha256.New, fromHex(t, v.IKM), fromHex(t, v.Salt), string(fromHex(t, v.Info)), v.Size)
			if valid := v.Result == "valid"; valid != (err == nil) || valid && !bytes.Equal(got, fromHex(t, v.OKM)) {
				t.Errorf("case %d (%s): %x, %v, want %s", v.TcID, v.Result, got, err, v.OKM)
			}
			count++
		}
	}
	if count < 80 {
		t.Errorf("%d cases", count)
	}
}
