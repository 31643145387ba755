package sdk_test

import (
	"crypto/ecdh"
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
var oneTime = memoryKeys{keys: map[pair.Public]memoryKey{}}

// memoryKeys implements [pair.Keys] in memory.
type memoryKeys struct {
	mu   sync.Mutex
	keys map[pair.Public]memoryKey
}

type memoryKey struct {
	private *ecdh.PrivateKey // nil once deleted
	fleet   [32]byte         // zero until the key is bound
}

// edit replaces a key, unless it belongs to another run, and returns its private half.
func (m *memoryKeys) edit(public pair.Public, fleet [32]byte, edit func(k *memoryKey)) (*ecdh.PrivateKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, known := m.keys[public]
	switch {
	case !known:
		return nil, pair.ErrMissing
	case k.fleet != [32]byte{} && k.fleet != fleet:
		return nil, pair.ErrUsed
	}
	edit(&k)
	m.keys[public] = k
	return k.private, nil
}

func (m *memoryKeys) Find(public pair.Public, fleet [32]byte) (*ecdh.PrivateKey, error) {
	return m.edit(public, fleet, func(*memoryKey) {})
}

func (m *memoryKeys) Bind(public pair.Public, fleet [32]byte) error {
	_, err := m.edit(public, fleet, func(k *memoryKey) { k.fleet = fleet })
	return err
}

func (m *memoryKeys) Delete(public pair.Public, fleet [32]byte) error {
	_, err := m.edit(public, fleet, func(k *memoryKey) { *k = memoryKey{nil, fleet} })
	return err
}

func fleetOf(c *sdk.Config) *sdk.Fleet { return c.Fleet.(*sdk.Fleet) }

// pairUp configures a node with one-time keys. If members share noise, it also lists the public halves in the fleet,
// unless the fleet has them.
func pairUp(c *sdk.Config) {
	c.PairKeys = &oneTime
	oneTime.mu.Lock()
	defer oneTime.mu.Unlock()
	for f := fleetOf(c); f.Privacy.PairSigma > 0 && len(f.PairKeys) < len(f.Members); {
		private, err := pair.NewPrivate()
		if err != nil {
			panic(err)
		}
		public := pair.PublicOf(private)
		oneTime.keys[public] = memoryKey{private: private}
		f.PairKeys = append(f.PairKeys, public)
	}
}
