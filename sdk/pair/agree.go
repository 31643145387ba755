package pair

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// agreeTag begins what a secret is bound to.
const agreeTag = "spade-edge pair secret 1\n"

// NewPrivate returns a fresh private key.
func NewPrivate() (*ecdh.PrivateKey, error) { return ecdh.X25519().GenerateKey(rand.Reader) }

// Agree returns the secret of an edge, the same at both ends: of own, the private key of the member called name, and
// public, the neighbor's key. It is bound to the fleet's hash, in which the run is, to both names and to both public keys.
// A public key of low order, with which everybody could compute it, is an error.
func Agree(own *ecdh.PrivateKey, name string, public [32]byte, neighbor string, fleet [32]byte) (s Secret, err error) {
	theirs, err := ecdh.X25519().NewPublicKey(public[:])
	if err != nil {
		return s, fmt.Errorf("pair: the public key of %q: %w", neighbor, err)
	}
	shared, err := own.ECDH(theirs)
	if err != nil {
		return s, fmt.Errorf("pair: the public key of %q gives no secret: %w", neighbor, err)
	}
	defer clear(shared)
	type end struct {
		name   string
		public []byte
	}
	first, second := end{name, own.PublicKey().Bytes()}, end{neighbor, public[:]}
	if first.name > second.name {
		first, second = second, first
	}
	info := []byte(agreeTag)
	for _, e := range []end{first, second} {
		info = binary.BigEndian.AppendUint64(info, uint64(len(e.name)))
		info = append(append(info, e.name...), e.public...)
	}
	b, err := hkdf.Key(sha256.New, shared, fleet[:], string(info), len(s))
	if err != nil {
		return s, fmt.Errorf("pair: the secret with %q: %w", neighbor, err)
	}
	defer clear(b)
	return Secret(b), nil
}
