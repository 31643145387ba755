package signed

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Scope says whose releases a signature is about: a hash of the run, the fleet and the member. See [NewScope].
type Scope [sha256.Size]byte

// NewScope returns the scope of one member's releases in a run. fleet is the SHA-256 of the fleet's canonical form.
func NewScope(run string, fleet [32]byte, member string) Scope {
	h := sha256.New()
	h.Write([]byte("spade-edge scope 1\n"))
	for _, part := range [][]byte{[]byte(run), fleet[:], []byte(member)} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	return Scope(h.Sum(nil))
}

// Head is a [dpmech.Head] as releases carry it, zero without a ledger. See [NewHead].
type Head struct {
	ID   [16]byte
	Seq  uint64
	Hash [32]byte
}

// Release is what a member signs of one of its releases. A device that takes the place of a lost one signs the last
// release of that one again, with its own Epoch.
type Release struct {
	Epoch       uint16   // how many devices of this name were lost before
	Incarnation uint64   // tells the processes of a device apart; 48 bits
	Round       int      // the release, 0..MaxInt32; 0 stands for the common start
	Digest      [32]byte // of what was released, see [Digest]
	Prev        [32]byte // [Release.ID] of the release before; zero if there is none, or if it was not signed
	Ledger      Head     // the ledger once the release was charged
	Signature   [ed25519.SignatureSize]byte
}

// Size is the length in bytes of a release as [Release.Append] writes it.
const Size = bodySize + ed25519.SignatureSize

const bodySize = 8 + 4 + 32 + 32 + 16 + 8 + 32

// MaxIncarnation is the highest incarnation: it has 48 bits.
const MaxIncarnation = 1<<incarnationBits - 1

const incarnationBits = 48

// NewIncarnation returns a random number of 48 bits that tells one process of a member from others.
func NewIncarnation() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:]) & MaxIncarnation
}

// PackDevice returns an epoch and an incarnation in the one number in which they are signed and travel: the
// epoch is in its upper 16 bits.
func PackDevice(epoch uint16, incarnation uint64) uint64 {
	return uint64(epoch)<<incarnationBits | incarnation&MaxIncarnation
}

// UnpackDevice is the inverse of [PackDevice].
func UnpackDevice(device uint64) (epoch uint16, incarnation uint64) {
	return uint16(device >> incarnationBits), device & MaxIncarnation
}

// appendBody appends all but the signature: epoch and incarnation in one integer of eight bytes, the round in
// four, digest, prev, and the ledger's id, lines in eight bytes, and hash. Integers are big-endian.
func (r *Release) appendBody(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, PackDevice(r.Epoch, r.Incarnation))
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.Round))
	dst = append(append(dst, r.Digest[:]...), r.Prev[:]...)
	dst = binary.BigEndian.AppendUint64(append(dst, r.Ledger.ID[:]...), r.Ledger.Seq)
	return append(dst, r.Ledger.Hash[:]...)
}

// Append appends the release to dst, Size bytes, the signature last.
func (r *Release) Append(dst []byte) []byte { return append(r.appendBody(dst), r.Signature[:]...) }

// Parse reads what [Release.Append] wrote. It does not look at the signature.
func Parse(b []byte) (Release, error) {
	var r Release
	if len(b) != Size {
		return r, fmt.Errorf("signed: release: found %d bytes, want %d", len(b), Size)
	}
	at := func(n int) []byte {
		part := b[:n]
		b = b[n:]
		return part
	}
	r.Epoch, r.Incarnation = UnpackDevice(binary.BigEndian.Uint64(at(8)))
	round := binary.BigEndian.Uint32(at(4))
	if round > math.MaxInt32 {
		return Release{}, fmt.Errorf("signed: release: found round %d, want 0..%d", round, math.MaxInt32)
	}
	r.Round = int(round)
	copy(r.Digest[:], at(32))
	copy(r.Prev[:], at(32))
	copy(r.Ledger.ID[:], at(16))
	r.Ledger.Seq = binary.BigEndian.Uint64(at(8))
	copy(r.Ledger.Hash[:], at(32))
	copy(r.Signature[:], b)
	return r, nil
}

// What a signature stands for is said in its first bytes, so that one kind cannot be passed off as another.
const (
	releaseTag = "spade-edge release 1\n"
	heldTag    = "spade-edge held 1\n"
)

func (r *Release) message(s Scope) []byte {
	b := make([]byte, 0, len(releaseTag)+len(s)+bodySize)
	return r.appendBody(append(append(b, releaseTag...), s[:]...))
}

// Sign signs the release in a scope with the member's key.
func (r *Release) Sign(key ed25519.PrivateKey, s Scope) {
	copy(r.Signature[:], ed25519.Sign(key, r.message(s)))
}

// ErrSignature is what an error wraps that says: none of a member's keys has made a signature.
var ErrSignature = errors.New("the signature is by none of the member's keys")

// Verify reports whether one of keys has signed the release in a scope. The error wraps [ErrSignature].
func (r *Release) Verify(s Scope, keys []ed25519.PublicKey) error {
	return verify(keys, r.message(s), r.Signature[:], "release %d", r.Round)
}

// verify reports whether one of keys has signed a message, which format and args name.
func verify(keys []ed25519.PublicKey, message, signature []byte, format string, args ...any) error {
	for _, key := range keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, signature) {
			return nil
		}
	}
	return fmt.Errorf("signed: "+format+": %w (of %d)", append(args, ErrSignature, len(keys))...)
}

// ID returns the hash that the next release names as Prev. It does not depend on the key, which may change.
func (r *Release) ID(s Scope) [32]byte { return sha256.Sum256(r.message(s)) }

// Contradicts reports whether r and o, both verified in one scope, cannot both be right: two different releases of one
// round by devices that none has replaced in between.
func (r *Release) Contradicts(o *Release) bool {
	return r.Epoch == o.Epoch && r.Round == o.Round && r.Round > 0 && !bytes.Equal(r.Digest[:], o.Digest[:])
}

// Countersign returns the signature by which a neighbor says that it holds the release, and so all those before it in
// the chain. s is the scope of the member that made the release, key the neighbor's.
func (r *Release) Countersign(key ed25519.PrivateKey, s Scope) []byte {
	return ed25519.Sign(key, r.held(s))
}

// VerifyHeld reports whether one of a neighbor's keys has made a countersignature. The error wraps [ErrSignature].
func (r *Release) VerifyHeld(s Scope, keys []ed25519.PublicKey, signature []byte) error {
	return verify(keys, r.held(s), signature, "countersignature of release %d", r.Round)
}

func (r *Release) held(s Scope) []byte {
	id := r.ID(s)
	return append([]byte(heldTag), id[:]...)
}

// Digest returns the digest of a release: SHA-256 over a tag and, little endian, its change on the grid as int32, or
// its numbers as float32 if it has none. Where each neighbor gets a message of its own, x is the released model.
func Digest(x []float32, change []int32) [32]byte {
	if len(change) > 0 {
		return digest("grid\n", len(change), func(i int) uint32 { return uint32(change[i]) })
	}
	return digest("vector\n", len(x), func(i int) uint32 { return math.Float32bits(x[i]) })
}

func digest(tag string, n int, at func(i int) uint32) [32]byte {
	h := sha256.New()
	b := append(make([]byte, 0, 4096), tag...)
	for i := range n {
		if len(b) > cap(b)-4 {
			h.Write(b)
			b = b[:0]
		}
		b = binary.LittleEndian.AppendUint32(b, at(i))
	}
	h.Write(b)
	return [32]byte(h.Sum(nil))
}
