package sdk_test

import "sync"

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

func (b *keyBook) note(member, neighbor string, _ uint64, release int, key [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := keyUse{member: member, neighbor: neighbor, key: key}
	if before, ok := b.of[at]; ok && before != release {
		b.twice = append(b.twice, member)
	}
	b.of[at] = release
	b.last[keyUse{member: member, neighbor: neighbor, release: release}] = key
}
