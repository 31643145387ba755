package pair

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Secret is what the two ends of an edge know and nobody else.
type Secret [32]byte

// keyTag begins what a key is made of, so that it is that of no other purpose.
const keyTag = "spade-edge pair noise 1\n"

// Key returns the key of the noise of one release: HMAC-SHA-256 of the secret over the fleet's hash and the number of
// the release.
func (s Secret) Key(fleet [32]byte, release int) (key [32]byte) {
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(keyTag))
	mac.Write(fleet[:])
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(release))
	mac.Write(number[:])
	mac.Sum(key[:0])
	return key
}

// Simulated returns the secret of an edge in a simulation, which anybody can compute: it protects nobody. The ends may
// be given in either order.
func Simulated(seed uint64, i, j int) Secret {
	var b [24]byte
	binary.BigEndian.PutUint64(b[:], seed)
	binary.BigEndian.PutUint64(b[8:], uint64(min(i, j)))
	binary.BigEndian.PutUint64(b[16:], uint64(max(i, j)))
	return sha256.Sum256(append([]byte("spade-edge simulated secret 1\n"), b[:]...))
}
