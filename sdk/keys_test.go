package sdk_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
)

// memberKey is the key of a member in all tests.
func memberKey(name string) ed25519.PrivateKey {
	key, known := madeKeys.Load(name)
	if !known {
		seed := sha256.Sum256([]byte("key of " + name))
		key, _ = madeKeys.LoadOrStore(name, ed25519.NewKeyFromSeed(seed[:]))
	}
	return key.(ed25519.PrivateKey)
}

// madeKeys are the secret keys by name: nodes ask for them with each message.
var madeKeys sync.Map

// memberKeys are the public keys of members in all tests.
func memberKeys(name string) []ed25519.PublicKey {
	return []ed25519.PublicKey{memberKey(name).Public().(ed25519.PublicKey)}
}

// sign makes a node one that signs what it releases.
func sign(c *sdk.Config) { c.Key, c.Keys = memberKey(c.Name), memberKeys }
