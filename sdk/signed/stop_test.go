package signed

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math"
	"testing"
)

// A stop counts with one of its member's keys, in its run, as it was signed, and nothing else can stand for one.
func TestStop(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	keys := []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}
	scope := NewScope("run", [32]byte{1}, "a")
	s := Stop{Member: 3, Last: 40}
	s.Sign(key, scope)
	b := s.Append([]byte("x"))[1:]
	back, err := ParseStop(b)
	if err != nil || back != s || len(b) != StopSize || back.Verify(scope, keys) != nil {
		t.Fatalf("%+v, %v", back, err)
	}
	if err := s.Verify(NewScope("run", [32]byte{1}, "b"), keys); !errors.Is(err, ErrSignature) {
		t.Errorf("in another member's scope: %v", err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if other, err := ParseStop(bad); err == nil && other.Verify(scope, keys) == nil {
			t.Errorf("byte %d does not matter", i)
		}
	}
	offer := Offer{From: 40}
	copy(offer.Public[:], b)
	copy(offer.Signature[:], ed25519.Sign(key, s.message(scope)))
	if offer.Verify(scope, keys) == nil {
		t.Error("the signature of a stop is one of an offer")
	}
	for _, bad := range [][]byte{nil, b[1:], append(bytes.Clone(b), 0), make([]byte, StopSize),
		append([]byte{0xff, 0, 0, 0}, b[4:]...), append(bytes.Clone(b[:4]), append([]byte{0xff, 0, 0, 0}, b[8:]...)...)} {
		if s, err := ParseStop(bad); err == nil {
			t.Errorf("%x: %+v", bad, s)
		}
	}
	if s := (Stop{Member: math.MaxInt32, Last: math.MaxInt32}); true {
		if back, err := ParseStop(s.Append(nil)); err != nil || back != s {
			t.Errorf("%+v, %v", back, err)
		}
	}
}

func FuzzParseStop(f *testing.F) {
	s := Stop{Member: 1, Last: 2}
	f.Add(s.Append(nil))
	f.Add(make([]byte, StopSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseStop(b); err == nil && !bytes.Equal(s.Append(nil), b) {
			t.Errorf("%x came back as %x", b, s.Append(nil))
		}
	})
}
