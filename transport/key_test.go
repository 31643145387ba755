package transport

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// someKey is the public key of test 1 in RFC 8032, section 7.1.
var someKey, _ = hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")

func TestKeyText(t *testing.T) {
	b := someKey
	const want = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	if got := FormatKey(b); got != want {
		t.Errorf("FormatKey = %s, want %s", got, want)
	}
	if k, err := ParseKey(want); err != nil || !bytes.Equal(k, b) {
		t.Errorf("ParseKey = %x, %v, want %x", k, err, b)
	}
}

func TestParseKeyErrors(t *testing.T) {
	seed := sha256.Sum256([]byte("a"))
	good := FormatKey(ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey))
	for _, c := range []struct{ text, want string }{
		{"", `does not begin with "ed25519:"`},
		{strings.TrimPrefix(good, keyPrefix), `does not begin with "ed25519:"`},
		{good + "=", "illegal base64"},
		{good[:len(good)-1], "31 bytes"},
		{good[:len(good)-1] + "\n", "31 bytes"},
		{good + "\n", "another text form"},
		{good[:len(good)-1] + "/", "another text form"}, // bits beyond the last byte
		{keyPrefix + strings.Repeat("A", 43), "small order"},
	} {
		if _, err := ParseKey(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseKey(%q): error %v, want %q", c.text, err, c.want)
		}
	}
}

// TestSmallOrderKeysCanBeForged checks that anyone can forge signatures under each key that CheckKey refuses for its
// small order. If R is the neutral element and S is 0, a signature is valid whenever the hash is a multiple of the
// key's order. So among enough different messages, the signature is valid for at least one.
func TestSmallOrderKeysCanBeForged(t *testing.T) {
	sig := make([]byte, ed25519.SignatureSize)
	sig[0] = 1
	for _, text := range smallOrder {
		for _, sign := range []byte{0, 0x80} {
			key, err := hex.DecodeString(text)
			if err != nil || len(key) != 32 {
				t.Fatalf("bad entry %s", text)
			}
			key[31] |= sign
			if err := CheckKey(key); err == nil {
				t.Errorf("%x is not refused", key)
			}
			forged := false
			for m := 0; m < 256 && !forged; m++ {
				forged = ed25519.Verify(key, []byte{byte(m)}, sig)
			}
			if !forged {
				t.Errorf("%x: no signature found", key)
			}
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(FormatKey(someKey))
	f.Add("ed25519:" + strings.Repeat("A", 43))
	f.Add("ed25519:\n")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			return
		}
		if got := FormatKey(k); got != text {
			t.Errorf("ParseKey(%q) succeeds, but the key's text is %q", text, got)
		}
	})
}
