package pair

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/signed"
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

func public(k *ecdh.PrivateKey) [32]byte { return [32]byte(k.PublicKey().Bytes()) }

// TestBothEndsAgree checks that both ends of an edge derive the same secret, and that the secret changes with the
// fleet, with either name and with either key pair. The expected secret is fixed in the test, because the ends may run
// different builds.
func TestBothEndsAgree(t *testing.T) {
	a, b, other := private(t, 1), private(t, 2), private(t, 3)
	fleet := [32]byte{7}
	agree := func(own *ecdh.PrivateKey, name string, theirs *ecdh.PrivateKey, neighbor string, fleet [32]byte) Secret {
		s, err := Agree(own, name, public(theirs), neighbor, fleet)
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

// TestLowOrderIsRefused checks that Agree refuses a public key of low order, because it would yield a secret that
// everybody knows.
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
	}
}

// TestOfferThatCounts checks that both sides use the same offer for a release: the latest of the offers that start at
// or before the release.
func TestOfferThatCounts(t *testing.T) {
	k := &Kept{Member: "a", Own: signed.Statement{Round: 4}, Private: private(t, 1)}
	first, second, third := private(t, 2), private(t, 3), private(t, 4)
	offer := func(from int, of *ecdh.PrivateKey) {
		k.Add("b", signed.Statement{Kind: signed.Offer, Round: from, Value: public(of), Signature: [64]byte{1}})
	}
	is := func(release int, want *ecdh.PrivateKey) {
		t.Helper()
		s, ok := k.Secret("b", release)
		if want == nil {
			if ok {
				t.Errorf("release %d: a secret counts", release)
			}
			return
		}
		if expect, err := Agree(want, "b", public(k.Private), "a", k.Fleet); err != nil || !ok || s != expect {
			t.Errorf("release %d: %v %x, want %x", release, ok, s, expect)
		}
	}
	is(9, nil)
	offer(1, first)
	is(3, nil) // the device's own key does not apply yet
	is(4, first)
	offer(8, second)
	is(7, first)
	is(8, second)
	offer(8, third)
	is(7, first)
	is(8, third)
	offer(12, second)
	is(7, nil) // at most two offers are kept
	is(8, third)
	is(12, second)
	if k.Peers["b"][0].Signature != [64]byte{1} {
		t.Error("a signature is lost, and with it what others could be shown")
	}
}

// sample returns an example of the secrets that a device stores.
func sample(t testing.TB) *Kept {
	k := &Kept{Fleet: [32]byte{1}, Member: "a \"quoted\" name", Own: signed.Statement{Kind: signed.Offer, Round: 9, Value: [32]byte{2}},
		Private: private(t, 1)}
	k.Add("c", signed.Statement{Kind: signed.Offer, Round: 1, Value: [32]byte{3}})
	k.Add("b", signed.Statement{Kind: signed.Offer, Round: 1, Value: [32]byte{4}})
	k.Add("b", signed.Statement{Kind: signed.Offer, Round: 7, Value: [32]byte{5}})
	return k
}

// TestKept checks that ParseKept is the inverse of Encode and accepts nothing else.
func TestKept(t *testing.T) {
	first := signed.Statement{Kind: signed.Offer, Round: 1}
	for _, k := range []*Kept{sample(t), {Member: "a", Own: first, Private: private(t, 9)}, {Member: "a", Own: first}} {
		text, err := k.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseKept(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := got.Encode()
		if err != nil || !bytes.Equal(again, text) || got.Member != k.Member || (got.Private == nil) != (k.Private == nil) || k.Private != nil && !got.Private.Equal(k.Private) ||
			got.Own != k.Own || len(got.Peers) != len(k.Peers) {
			t.Errorf("%s comes back as %s, %v", text, again, err)
		}
		for i := range text {
			damaged := bytes.Clone(text)
			damaged[i] ^= 1
			if _, err := ParseKept(damaged); err == nil {
				t.Errorf("byte %d may be changed: %s", i, damaged)
			}
			if _, err := ParseKept(text[:i]); err == nil {
				t.Errorf("%d bytes are enough", i)
			}
		}
		for _, more := range []string{"\n", " ", "{}", "x"} {
			if _, err := ParseKept(append(bytes.Clone(text), more...)); err == nil {
				t.Errorf("%q may follow", more)
			}
		}
	}
}

func FuzzParseKept(f *testing.F) {
	text, err := sample(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"fleet":"","member":"","own":{"epoch":0,"from":1,"key":""},"offered":null,"sha256":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseKept(b)
		if err != nil {
			return
		}
		if again, err := k.Encode(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s was read and is written as %s, %v", b, again, err)
		}
	})
}
