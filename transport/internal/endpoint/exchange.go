package endpoint

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/sha512"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// prime is 2^255 - 19, the field of both curves.
var prime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))

// anyone is a secret key that is no secret: it finds points with which everybody would agree on the same key.
var anyone, _ = ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{0x40}, 32))

// ExchangePublic returns the X25519 key that belongs to an Ed25519 public key: the same point on the Montgomery form of
// the curve, u = (1+y)/(1-y) (RFC 7748, section 4.1). It refuses what is no key, and points of small order, under which
// anybody could sign and open.
func ExchangePublic(key ed25519.PublicKey) (*ecdh.PublicKey, error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("it has %d bytes, want %d", len(key), ed25519.PublicKeySize)
	}
	b := slices.Clone(key)
	b[31] &^= 0x80 // the sign of x, which the Montgomery form does without
	slices.Reverse(b)
	y := new(big.Int).SetBytes(b)
	if y.Cmp(prime) >= 0 {
		return nil, errors.New("it is no point of the curve in its one form")
	}
	one := big.NewInt(1)
	inverse := new(big.Int).ModInverse(new(big.Int).Mod(new(big.Int).Sub(one, y), prime), prime)
	if inverse == nil {
		return nil, errSmallOrder
	}
	u := new(big.Int).Mul(new(big.Int).Add(one, y), inverse)
	u.Mod(u, prime).FillBytes(b)
	slices.Reverse(b)
	public, err := ecdh.X25519().NewPublicKey(b)
	if err != nil {
		return nil, err
	}
	if _, err := anyone.ECDH(public); err != nil {
		return nil, errSmallOrder
	}
	return public, nil
}

var errSmallOrder = errors.New("it is a point of small order, for which anybody can sign")

// ExchangePrivate returns the secret half of ExchangePublic: Ed25519 hashes its seed to the same scalar (RFC 8032,
// section 5.1.5). That one key may serve both is shown by Thormarker, "On using the same key pair for Ed25519 and an
// X25519 based KEM" (2021).
func ExchangePrivate(key ed25519.PrivateKey) (*ecdh.PrivateKey, error) {
	sum := sha512.Sum512(key.Seed())
	return ecdh.X25519().NewPrivateKey(sum[:32])
}
