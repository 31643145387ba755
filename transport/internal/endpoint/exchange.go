package endpoint

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/sha512"
	"errors"
	"math/big"
	"slices"

	"github.com/spade-dfl/spade-edge/transport"
)

// prime is 2^255 - 19, the order of the finite field over which Ed25519 and X25519 are defined.
var prime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))

// ExchangePublic returns the X25519 public key that corresponds to an Ed25519 public key: the same point in the
// Montgomery form of the curve, u = (1+y)/(1-y) (RFC 7748, section 4.1). It refuses the keys that [transport.CheckKey]
// refuses.
func ExchangePublic(key ed25519.PublicKey) (*ecdh.PublicKey, error) {
	if err := transport.CheckKey(key); err != nil {
		return nil, err
	}
	b := slices.Clone(key)
	b[31] &^= 0x80 // clears the sign of x, which the Montgomery form omits
	slices.Reverse(b)
	y := new(big.Int).SetBytes(b)
	if y.Cmp(prime) >= 0 {
		return nil, errors.New("the key is not the canonical encoding of a point on the curve")
	}
	one := big.NewInt(1)
	inverse := new(big.Int).ModInverse(new(big.Int).Mod(new(big.Int).Sub(one, y), prime), prime) // CheckKey refuses y = 1
	u := new(big.Int).Mul(new(big.Int).Add(one, y), inverse)
	u.Mod(u, prime).FillBytes(b)
	slices.Reverse(b)
	return ecdh.X25519().NewPublicKey(b)
}

// ExchangePrivate returns the X25519 private key for the public key that [ExchangePublic] returns. The private key is
// the scalar that Ed25519 derives by hashing the seed (RFC 8032, section 5.1.5). Thormarker, "On using the same key
// pair for Ed25519 and an X25519 based KEM" (2021), shows that it is safe to use one key pair for both purposes.
func ExchangePrivate(key ed25519.PrivateKey) *ecdh.PrivateKey {
	sum := sha512.Sum512(key.Seed())
	private, _ := ecdh.X25519().NewPrivateKey(sum[:32]) // fails only for another length
	return private
}
