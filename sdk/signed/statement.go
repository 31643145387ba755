package signed

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Scope binds a signature to a run, a fleet and a member: it is a hash of all three. See [NewScope].
type Scope [sha256.Size]byte

// NewScope returns the scope of a member's statements in a run. fleet is the fleet's hash.
func NewScope(run string, fleet [32]byte, member string) Scope {
	b := []byte("spade-edge scope 1\n")
	for _, part := range []string{run, string(fleet[:]), member} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(part))), part...)
	}
	return sha256.Sum256(b)
}

// Head is a [certificate.Head] in the form used in statements. It is zero if there is no ledger. See [NewHead].
type Head struct {
	ID   [16]byte
	Seq  uint64
	Hash [32]byte
}

// Kind is the subject of a [Statement].
type Kind uint8

const (
	// Release: Value is its [Digest], and Prev is the [Statement.ID] of the previous release, or zero if there is no
	// earlier signed release.
	Release    Kind = 1 + iota
	Notice          // for the neighbor with the [Scope] Value: the member drops this neighbor from release Round on
	Checkpoint      // the state of the member's ledger, without a release; Round is 0
)

var kindNames = map[Kind]string{Release: "release", Notice: "notice", Checkpoint: "checkpoint"}

// String returns the name of a kind, or the number of an unknown kind.
func (k Kind) String() string { return cmp.Or(kindNames[k], fmt.Sprintf("kind %d", uint8(k))) }

// Statement is a message that a member signs. All kinds have the same layout.
type Statement struct {
	Kind      Kind
	Round     int      // number of a release or a round, see [Kind]; 0..MaxInt32
	Prev      [32]byte // of a release: the ID of the previous release; else zero
	Value     [32]byte // see [Kind]
	Ledger    Head     // of a release: the ledger after the charge; of a checkpoint: its ledger; else zero
	Signature [ed25519.SignatureSize]byte
}

// Size is the length in bytes of a statement that [Statement.Append] writes.
const Size = bodySize + ed25519.SignatureSize

const bodySize = 1 + 4 + 32 + 32 + 16 + 8 + 32

// MaxIncarnation is the largest number that [NewIncarnation] returns.
const MaxIncarnation = 1<<48 - 1

// NewIncarnation returns a random 48-bit number that identifies one process of a member.
func NewIncarnation() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:]) & MaxIncarnation
}

// Append appends the statement, Size bytes with the signature last, to dst. Its integers are big-endian, and its fields
// stand in order: kind (1 byte), round (4), prev, value, the ledger's ID, Seq (8) and Hash, signature.
func (r *Statement) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, byte(r.Kind)), uint32(r.Round))
	dst = append(append(append(dst, r.Prev[:]...), r.Value[:]...), r.Ledger.ID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, r.Ledger.Seq)
	return append(append(dst, r.Ledger.Hash[:]...), r.Signature[:]...)
}

// MarshalText returns the output of [Statement.Append] in hexadecimal digits.
func (r Statement) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, r.Append(nil)), nil }

// UnmarshalText parses the output of MarshalText, for any kind.
func (r *Statement) UnmarshalText(text []byte) (err error) {
	*r, err = fromHex(text, func(b []byte) (Statement, error) {
		return Parse(b, Release, Notice, Checkpoint)
	})
	return err
}

func fromHex[T any](text []byte, parse func(b []byte) (T, error)) (v T, err error) {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return v, err
	}
	return parse(b)
}

// Parse parses a statement of one of the given kinds. It does not check the signature.
func Parse(b []byte, kinds ...Kind) (Statement, error) {
	if len(b) != Size {
		return Statement{}, fmt.Errorf("signed: %v: found %d bytes, want %d", kinds, len(b), Size)
	}
	kind, round, least := Kind(b[0]), binary.BigEndian.Uint32(b[1:]), uint32(0)
	if kind == Notice {
		least = 1
	}
	switch {
	case !slices.Contains(kinds, kind):
		return Statement{}, fmt.Errorf("signed: found a %v, want one of %v", kind, kinds)
	case round < least || round > math.MaxInt32:
		return Statement{}, fmt.Errorf("signed: %v: found round %d, want %d..%d", kind, round, least, math.MaxInt32)
	}
	ledger := Head{ID: [16]byte(b[69:]), Seq: binary.BigEndian.Uint64(b[85:]), Hash: [32]byte(b[93:])}
	return Statement{kind, int(round), [32]byte(b[5:]), [32]byte(b[37:]), ledger, [ed25519.SignatureSize]byte(b[bodySize:])}, nil
}

// Prefixes of the signed bytes of a statement and of a countersignature.
const (
	statementTag = "spade-edge statement 1\n"
	heldTag      = "spade-edge held 1\n"
)

// message returns the bytes that the signature covers: all but itself.
func (r *Statement) message(s Scope) []byte {
	b := r.Append(append([]byte(statementTag), s[:]...))
	return b[:len(b)-len(r.Signature)]
}

// Sign signs the statement in scope s with the member's key.
func (r *Statement) Sign(key ed25519.PrivateKey, s Scope) {
	copy(r.Signature[:], ed25519.Sign(key, r.message(s)))
}

// ErrSignature is wrapped by errors about signatures that match none of a member's keys.
var ErrSignature = errors.New("the signature matches none of the member's keys")

// Verify checks that one of the given keys signed the statement in scope s. The error wraps [ErrSignature].
func (r *Statement) Verify(s Scope, keys []ed25519.PublicKey) error {
	return verify(keys, r.message(s), r.Signature[:], "%v %d", r.Kind, r.Round)
}

// verify checks that one of the given keys signed a message. format and args name the message in the error.
func verify(keys []ed25519.PublicKey, message, signature []byte, format string, args ...any) error {
	for _, key := range keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, signature) {
			return nil
		}
	}
	return fmt.Errorf("signed: %s: %w (%d keys known)", fmt.Sprintf(format, args...), ErrSignature, len(keys))
}

// ID returns the hash that the next release stores as Prev. The hash does not depend on the member's key, which may
// change.
func (r *Statement) ID(s Scope) [32]byte { return sha256.Sum256(r.message(s)) }

// Contradicts reports whether r and o, both verified in one scope, are different releases of one round. It does not
// compare their signatures, because a member with a new key signs its releases again.
func (r *Statement) Contradicts(o *Statement) bool {
	a, b := *r, *o
	a.Signature, b.Signature = [ed25519.SignatureSize]byte{}, [ed25519.SignatureSize]byte{}
	return a.Kind == Release && b.Kind == Release && a.Round == b.Round && a.Round > 0 && a != b
}

// Countersign returns a neighbor's signature, which confirms that the neighbor holds the release and all its
// predecessors. key is the neighbor's private key, and s is the scope of the member that made the release.
func (r *Statement) Countersign(key ed25519.PrivateKey, s Scope) []byte {
	return ed25519.Sign(key, r.held(s))
}

// VerifyHeld checks that one of the given keys, which are the public keys of a neighbor, made a countersignature. s is
// the scope of the member that made the release. The error wraps [ErrSignature].
func (r *Statement) VerifyHeld(s Scope, keys []ed25519.PublicKey, signature []byte) error {
	return verify(keys, r.held(s), signature, "countersignature of release %d", r.Round)
}

func (r *Statement) held(s Scope) []byte {
	id := r.ID(s)
	return append([]byte(heldTag), id[:]...)
}

// Digest returns the digest of a release: SHA-256 over a tag and the release's change on the grid, as little-endian
// int32. If change is empty, Digest hashes x instead, as little-endian float32. x is the released model, even if each
// neighbor gets its own message.
func Digest(x []float32, change []int32) [32]byte {
	if len(change) > 0 {
		return Sum("grid\n", change)
	}
	return Sum("vector\n", x)
}

// Sum returns the SHA-256 hash of a tag followed by numbers of four bytes each, little-endian.
func Sum[T float32 | int32](tag string, list []T) [32]byte {
	b := []byte(tag)
	sum := sha256.New()
	sum.Write(b)
	for part := range slices.Chunk(list, 1024) {
		b, _ = binary.Append(b[:0], binary.LittleEndian, part) // lists of numbers always encode
		sum.Write(b)
	}
	return [32]byte(sum.Sum(nil))
}
