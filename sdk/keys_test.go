package sdk_test

import (
	"crypto/ed25519"
	"crypto/sha256"

	"github.com/spade-dfl/spade-edge/sdk"
)

// memberKey is the key of a member in all tests.
func memberKey(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("key of " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// memberKeys are the public keys of members in all tests.
func memberKeys(name string) []ed25519.PublicKey {
	return []ed25519.PublicKey{memberKey(name).Public().(ed25519.PublicKey)}
}

// sign makes a node one that signs what it releases.
func sign(c *sdk.Config) { c.Key, c.Keys = memberKey(c.Name), memberKeys }
