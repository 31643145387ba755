package pair

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"strings"
	"testing"
)

// private returns a private key that depends only on the seed.
func private(t testing.TB, seed byte) *ecdh.PrivateKey {
	t.Helper()
	k, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestBothEndsAgree checks that both ends of an edge derive the same secret, and that the secret changes with the
// fleet, with either name and with either key pair. The expected secret is fixed in the test, because the ends may run
// different builds.
func TestBothEndsAgree(t *testing.T) {
	a, b, other := private(t, 1), private(t, 2), private(t, 3)
	fleet := [32]byte{7}
	agree := func(own *ecdh.PrivateKey, name string, theirs *ecdh.PrivateKey, neighbor string, fleet [32]byte) Secret {
		s, err := Agree(own, name, PublicOf(theirs), neighbor, fleet)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := agree(a, "ward-1", b, "ward-2", fleet)
	if back := agree(b, "ward-2", a, "ward-1", fleet); back != s {
		t.Errorf("the ends have %x and %x", s, back)
	}
	const want = "91d0c7b8c74fc57ad1a9fb65e29995f5d4ff65da052bb2be5e9f7b1aae05381c"
	if got := hex.EncodeToString(s[:]); got != want {
		t.Errorf("the secret is %s, want %s", got, want)
	}
	seen := map[Secret]string{s: "the secret"}
	for name, s := range map[string]Secret{
		"another fleet":                 agree(a, "ward-1", b, "ward-2", [32]byte{8}),
		"another neighbor":              agree(a, "ward-1", b, "ward-3", fleet),
		"another member":                agree(a, "ward-0", b, "ward-2", fleet),
		"names that run on":             agree(a, "ward-1w", b, "ard-2", fleet),
		"another key":                   agree(a, "ward-1", other, "ward-2", fleet),
		"another own key":               agree(other, "ward-1", b, "ward-2", fleet),
		"the names the other way round": agree(a, "ward-2", b, "ward-1", fleet),
	} {
		if before, ok := seen[s]; ok {
			t.Errorf("%s has the same secret as %s", name, before)
		}
		seen[s] = name
	}
	keys := map[[32]byte]bool{}
	for release := range 100 {
		keys[s.Key(fleet, release)] = true
		keys[s.Key([32]byte{8}, release)] = true
	}
	if len(keys) != 200 {
		t.Errorf("%d keys of 100 releases of two fleets", len(keys))
	}
}

// TestLowOrderIsRefused checks that Agree, and whoever reads a key, refuses a public key of low order, because it would
// yield a secret that everybody knows.
func TestLowOrderIsRefused(t *testing.T) {
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Agree(private(t, 1), "a", [32]byte(b), "b", [32]byte{})
		if err == nil || !strings.Contains(err.Error(), `"b"`) || s != (Secret{}) {
			t.Errorf("%s: %x, %v", text, s, err)
		}
		if err := Public(b).Check(); err == nil {
			t.Errorf("%s passes the check", text)
		}
	}
}

// TestOneTextForAKey checks that a key has one encoding and one text. X25519 accepts 19 numbers that are not reduced and
// ignores the highest bit, so that a key in another encoding would seem to be another key.
func TestOneTextForAKey(t *testing.T) {
	key := PublicOf(private(t, 1))
	var back Public
	if err := back.UnmarshalText([]byte(key.String())); err != nil || back != key {
		t.Fatalf("%v comes back as %v, %v", key, back, err)
	}
	p := Public{0xed}
	for i := 1; i < 31; i++ {
		p[i] = 0xff
	}
	p[31] = 0x7f
	for n := range 19 {
		high := p
		high[0] += byte(n)
		if err := high.Check(); err == nil || !strings.Contains(err.Error(), "not reduced") {
			t.Errorf("2^255 - 19 + %d: %v", n, err)
		}
	}
	below := p
	if below[0] -= 2; below.Check() != nil {
		t.Error("2^255 - 21 is refused")
	}
	bit := key
	bit[31] |= 0x80
	zero := Public{}
	text := key.String()
	for _, bad := range []string{bit.String(), p.String(), zero.String(), "", "x25519:", text[:len(text)-1], text + "A", text + "=", text + "\n",
		strings.ToUpper(text), text[len("x25519:"):], "ed25519:" + text[len("x25519:"):], text[:20] + "\n" + text[20:]} {
		if err := back.UnmarshalText([]byte(bad)); err == nil || back != key {
			t.Errorf("%q is read as %v, %v", bad, back, err)
		}
	}
	last := []byte(text) // the last digit has two bits that belong to no byte
	for c := byte('A'); c <= 'Z'; c++ {
		if last[len(last)-1] = c; string(last) != text && back.UnmarshalText(last) == nil && back == key {
			t.Errorf("%s is another text of the key", last)
		}
	}
}

func FuzzPublic(f *testing.F) {
	f.Add("x25519:pOCSkrZR8SPxVqYsZ9Z7bWmQJZbBqTOB3eRUmuoJVwk")
	f.Add("x25519:")
	f.Fuzz(func(t *testing.T, text string) {
		var p Public
		if p.UnmarshalText([]byte(text)) == nil && (p.String() != text || p.Check() != nil) {
			t.Errorf("%q is read as %v", text, p)
		}
	})
}
