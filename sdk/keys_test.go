package sdk_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
)

func memberKey(name string) ed25519.PrivateKey {
	key, known := madeKeys.Load(name)
	if !known {
		seed := sha256.Sum256([]byte("key of " + name))
		key, _ = madeKeys.LoadOrStore(name, ed25519.NewKeyFromSeed(seed[:]))
	}
	return key.(ed25519.PrivateKey)
}

// madeKeys caches the private keys by name, because nodes ask for them with each message.
var madeKeys sync.Map

func memberKeys(name string) []ed25519.PublicKey {
	return []ed25519.PublicKey{memberKey(name).Public().(ed25519.PublicKey)}
}

// sign configures a node with keys, so that it signs its releases, and with one-time keys.
func sign(c *sdk.Config) {
	c.Key, c.Keys = memberKey(c.Name), memberKeys
	pairUp(c)
}

// oneTime has the private halves of the one-time keys of all members in all tests.
var oneTime pair.Memory

func fleetOf(c *sdk.Config) *sdk.Fleet { return c.Fleet.(*sdk.Fleet) }

// pairUp configures a node with one-time keys. If members share noise, it also lists the public halves in the fleet,
// unless the fleet has them.
func pairUp(c *sdk.Config) {
	c.PairKeys = &oneTime
	for f := fleetOf(c); f.Privacy.PairSigma > 0 && len(f.PairKeys) < len(f.Members); {
		key, err := oneTime.Add()
		if err != nil {
			panic(err)
		}
		f.PairKeys = append(f.PairKeys, key)
	}
}
