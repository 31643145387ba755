package signed

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func testKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func public(keys ...ed25519.PrivateKey) []ed25519.PublicKey {
	var out []ed25519.PublicKey
	for _, k := range keys {
		out = append(out, k.Public().(ed25519.PublicKey))
	}
	return out
}

func example() (Statement, Scope) {
	r := Statement{Kind: Release, Round: 7, Value: Digest(nil, []int32{1, -2, 3}),
		Prev:   [32]byte{9, 8},
		Ledger: Head{ID: [16]byte{4, 5}, Seq: 1 << 40, Hash: [32]byte{6}}}
	return r, NewScope("run-1", [32]byte{1, 2, 3}, "ward-1")
}

// TestEveryByteIsSigned checks that Parse is the inverse of Append, and that the signature covers every byte.
func TestEveryByteIsSigned(t *testing.T) {
	key := testKey(1)
	r, s := example()
	r.Sign(key, s)
	b := r.Append(nil)
	if len(b) != Size {
		t.Fatalf("%d bytes, want %d", len(b), Size)
	}
	back, err := Parse(b, Release)
	if err != nil || back != r {
		t.Fatalf("read %+v, %v; want %+v", back, err, r)
	}
	if err := back.Verify(s, public(testKey(2), key)); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		changed, err := Parse(bad, Release, Notice, Checkpoint)
		if err == nil {
			err = changed.Verify(s, public(key))
		}
		if err == nil {
			t.Errorf("byte %d changed, and nobody noticed", i)
		}
	}
	for _, n := range []int{0, 1, Size - 1, Size + 1} {
		if _, err := Parse(make([]byte, n), Release); err == nil {
			t.Errorf("%d bytes were taken for a release", n)
		}
	}
	high := bytes.Clone(b)
	high[1] = 0x80
	if _, err := Parse(high, Release); err == nil || !strings.Contains(err.Error(), "want 0..2147483647") {
		t.Errorf("a round above 2^31: %v", err)
	}
}

// TestSignatureIsOfOneScope checks that a signature is valid only for one run, fleet, member, key and kind.
func TestSignatureIsOfOneScope(t *testing.T) {
	key, other := testKey(1), testKey(2)
	r, s := example()
	r.Sign(key, s)
	for name, scope := range map[string]Scope{
		"another run":      NewScope("run-2", [32]byte{1, 2, 3}, "ward-1"),
		"another fleet":    NewScope("run-1", [32]byte{1, 2, 4}, "ward-1"),
		"another member":   NewScope("run-1", [32]byte{1, 2, 3}, "ward-2"),
		"shifted borders":  NewScope("run-1w", [32]byte{1, 2, 3}, "ard-1"),
		"nothing in it":    {},
		"names exchanged ": NewScope("ward-1", [32]byte{1, 2, 3}, "run-1"),
	} {
		if err := r.Verify(scope, public(key)); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, keys := range map[string][]ed25519.PublicKey{"another key": public(other), "no key": nil,
		"a short key": {public(key)[0][:31]}} {
		if err := r.Verify(s, keys); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	held := r.Countersign(other, s)
	if err := r.VerifyHeld(s, public(other), held); err != nil {
		t.Error(err)
	}
	if err := r.VerifyHeld(s, public(key), held); !errors.Is(err, ErrSignature) {
		t.Errorf("a countersignature of somebody else: %v", err)
	}
	if err := r.VerifyHeld(s, public(key), r.Signature[:]); !errors.Is(err, ErrSignature) {
		t.Errorf("a signature passed for a countersignature: %v", err)
	}
	mixed := r
	copy(mixed.Signature[:], held)
	if err := mixed.Verify(s, public(other)); !errors.Is(err, ErrSignature) {
		t.Errorf("a countersignature passed for a signature: %v", err)
	}
	again := r
	again.Sign(other, s)
	if again.ID(s) != r.ID(s) {
		t.Error("a chain breaks when the key changes")
	}
}

// TestKinds checks that Parse accepts a statement only if its kind is requested and its round is in the range of this
// kind. The signature covers the kind, so a statement of one kind cannot pass for another.
func TestKinds(t *testing.T) {
	key := testKey(1)
	_, scope := example()
	all := []Kind{Release, Notice, Checkpoint}
	for i, kind := range all {
		s := Statement{Kind: kind, Round: 5}
		s.Sign(key, scope)
		b := s.Append(nil)
		if got, err := Parse(b, kind); err != nil || got != s {
			t.Errorf("%v: read %+v, %v", kind, got, err)
		}
		others := slices.Delete(slices.Clone(all), i, i+1)
		if _, err := Parse(b, others...); err == nil || !strings.Contains(err.Error(), "found a "+kind.String()) {
			t.Errorf("%v where others are wanted: %v", kind, err)
		}
		b[0] = byte(others[0])
		if got, err := Parse(b, others...); err != nil || got.Verify(scope, public(key)) == nil {
			t.Errorf("%v counts as %v: %v", kind, others[0], err)
		}
		s.Round = 0
		_, err := Parse(s.Append(nil), kind)
		if may := kind == Release || kind == Checkpoint; may != (err == nil) {
			t.Errorf("%v of round 0: %v", kind, err)
		}
	}
	for _, n := range []byte{0, byte(Checkpoint) + 1, 255} {
		s := Statement{Kind: Kind(n), Round: 1}
		if _, err := Parse(s.Append(nil), all...); err == nil {
			t.Errorf("kind %d was read", n)
		}
	}
}

// TestContradicts checks that two releases of one round contradict each other if any signed field differs,
// and that no other statements contradict each other.
func TestContradicts(t *testing.T) {
	a, _ := example()
	b := a
	b.Value[5]++
	if !a.Contradicts(&b) || !b.Contradicts(&a) {
		t.Error("two digests of one round are no contradiction")
	}
	other, resigned := a, a
	other.Prev[0]++ // another predecessor
	resigned.Signature[0]++
	if !a.Contradicts(&other) || a.Contradicts(&resigned) {
		t.Error("bodies are not what is compared")
	}
	later, start := b, b
	later.Round++
	start.Round = 0
	zero := a
	zero.Round = 0
	notice, another := a, b
	notice.Kind, another.Kind = Notice, Notice
	if notice.Contradicts(&another) || a.Contradicts(&another) {
		t.Error("statements contradict each other that are no releases")
	}
	if a.Contradicts(&later) || zero.Contradicts(&start) {
		t.Error("a contradiction where there is none")
	}
}

// TestDigests checks that Digest equals the hash computed by a plain loop, at lengths around the block size. A vector
// and a change on the grid never have the same digest.
func TestDigests(t *testing.T) {
	for _, n := range []int{0, 1, 3, 1023, 1024, 1025, 5000} {
		x, g := make([]float32, n), make([]int32, n)
		vector, grid := []byte("vector\n"), []byte("grid\n")
		for i := range n {
			x[i], g[i] = float32(i)-0.5, int32(3-i)
			vector = binary.LittleEndian.AppendUint32(vector, math.Float32bits(x[i]))
			grid = binary.LittleEndian.AppendUint32(grid, uint32(g[i]))
		}
		if n == 0 { // without a change on the grid the digest covers x
			grid = vector
		}
		if Digest(x, nil) != sha256.Sum256(vector) || Digest(nil, g) != sha256.Sum256(grid) {
			t.Errorf("n = %d: not the hash of a plain loop", n)
		}
	}
	if Digest([]float32{0}, nil) == Digest(nil, []int32{0}) {
		t.Error("the two forms have one digest")
	}
}

// TestGoldenStatement checks that the layout does not change, so that evidence and certificates stay readable for
// years.
func TestGoldenStatement(t *testing.T) {
	r, s := example()
	r.Sign(testKey(1), s)
	sum, id := sha256.Sum256(r.Append(nil)), r.ID(s)
	if got, want := hex.EncodeToString(sum[:8])+" "+hex.EncodeToString(id[:8]),
		"c70625e7527ac358 0e66ef9033a78339"; got != want {
		t.Errorf("release and id hash to %s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	r, s := example()
	r.Sign(testKey(1), s)
	f.Add(r.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b, Release, Notice, Checkpoint)
		if err != nil {
			return
		}
		if !bytes.Equal(r.Append(nil), b) {
			t.Error("not written as it was read")
		}
	})
}
