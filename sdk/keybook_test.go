package sdk_test

import (
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// keyBook records the keys used to generate noise on all devices of a fleet.
type keyBook struct {
	mu    sync.Mutex
	of    map[keyUse]int      // the release that uses each key
	last  map[keyUse][32]byte // the key that each end of an edge last used for a release
	twice []string            // members that used a key twice
}

func newKeyBook() *keyBook {
	return &keyBook{of: map[keyUse]int{}, last: map[keyUse][32]byte{}}
}

// keyUse identifies one end of an edge, together with either a key or a release.
type keyUse struct {
	member, neighbor string
	key              [32]byte
	release          int
}

func (b *keyBook) note(member, neighbor string, release int, key [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := keyUse{member: member, neighbor: neighbor, key: key}
	if before, ok := b.of[at]; ok && before != release {
		b.twice = append(b.twice, member)
	}
	b.of[at] = release
	b.last[keyUse{member: member, neighbor: neighbor, release: release}] = key
}

// models returns the models of a simulation with the recorded keys.
func (b *keyBook) models(t *testing.T, f *sdk.Fleet) [][]float32 {
	t.Helper()
	return simulatedAs(t, f, func(i int, c *admm.Config) {
		c.PairKey = func(peer, release int) [32]byte {
			key, ok := b.last[keyUse{member: f.Members[i], neighbor: f.Members[peer], release: release}]
			if back := b.last[keyUse{member: f.Members[peer], neighbor: f.Members[i], release: release}]; back != key || !ok {
				t.Errorf("%d and %d do not agree on release %d", i, peer, release)
			}
			return key
		}
	})
}
