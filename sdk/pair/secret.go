package pair

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Secret is known only to the two members that share it.
type Secret [32]byte

// Tags for domain separation between keys and secrets.
const (
	keyTag   = "spade-edge pair noise 1\n"
	agreeTag = "spade-edge pair secret 1\n"
)

// Key returns the noise key of one release: HMAC-SHA-256 of the fleet's hash and the release, keyed with the secret.
func (s Secret) Key(fleet [32]byte, release int) (key [32]byte) {
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(keyTag))
	mac.Write(fleet[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(release)))
	mac.Sum(key[:0])
	return key
}

// Agree returns the secret of two members, the same at both ends. own is the private key of the member called name, and
// public is the public key of the other member, called neighbor. The secret is bound to both names, to both public keys
// and to the fleet's hash, which covers the run. A public key of low order is an error.
func Agree(own *ecdh.PrivateKey, name string, public Public, neighbor string, fleet [32]byte) (s Secret, err error) {
	shared, err := exchange(own, public)
	if err != nil {
		return s, fmt.Errorf("pair: the public key of %q yields no shared secret: %w", neighbor, err)
	}
	defer clear(shared)
	end := func(name string, public []byte) string {
		return string(binary.BigEndian.AppendUint64(nil, uint64(len(name)))) + name + string(public)
	}
	first, second := end(name, own.PublicKey().Bytes()), end(neighbor, public[:])
	if name > neighbor {
		first, second = second, first
	}
	b, err := hkdf.Key(sha256.New, shared, fleet[:], agreeTag+first+second, len(s))
	if err != nil {
		return s, fmt.Errorf("pair: the secret shared with %q: %w", neighbor, err)
	}
	defer clear(b)
	return Secret(b), nil
}
