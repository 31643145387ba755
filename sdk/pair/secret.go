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
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(release)))
	mac.Sum(key[:0])
	return key
}

// Simulated returns the secret of an edge in a simulation, which anybody can compute: it protects nobody. The ends may
// be given in either order.
func Simulated(seed uint64, i, j int) Secret {
	b := []byte("spade-edge simulated secret 1\n")
	for _, x := range []uint64{seed, uint64(min(i, j)), uint64(max(i, j))} {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return sha256.Sum256(b)
}
