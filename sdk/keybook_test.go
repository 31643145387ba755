package sdk_test

import (
	"slices"
	"sync"
)

// keyBook records the keys used to generate noise on all devices of a fleet.
type keyBook struct {
	mu    sync.Mutex
	of    map[keyUse]keyUser  // the user of each key
	last  map[keyUse][32]byte // the key that each end of an edge last used for a release
	twice []string            // members that used a key twice
}

func newKeyBook() *keyBook {
	return &keyBook{of: map[keyUse]keyUser{}, last: map[keyUse][32]byte{}}
}

// keyUse identifies one end of an edge, together with either a key or a release.
type keyUse struct {
	member, neighbor string
	key              [32]byte
	release          int
}

// keyUser identifies a release and, by its epoch, the device that made the release. A device that was stopped before it
// stored a release may make this release again with the same key.
type keyUser struct {
	release int
	epoch   uint16
}

func (b *keyBook) note(member, neighbor string, epoch uint16, _ uint64, release int, key [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, user := keyUse{member: member, neighbor: neighbor, key: key}, keyUser{release, epoch}
	if before, ok := b.of[at]; ok && before != user {
		b.twice = append(b.twice, member)
	}
	b.of[at] = user
	b.last[keyUse{member: member, neighbor: neighbor, release: release}] = key
}

func early(release int, out outcome) bool { return release <= out.recovered }

func (w *wreck) pairs() (list [][2]string) {
	if w.fleet.Privacy.Partners == 0 {
		return w.fleet.Edges
	}
	for j, b := range w.fleet.Members {
		for _, a := range w.fleet.Members[:j] {
			list = append(list, [2]string{a, b})
		}
	}
	return list
}

// checkKeys checks that no key was used twice, and that both ends of every edge with pairwise noise used the same key.
func (w *wreck) checkKeys(out outcome) {
	if w.shared == nil {
		return
	}
	if len(w.shared.twice) > 0 {
		w.t.Errorf("seed %d: %q have used a key twice", w.seed, w.shared.twice)
	}
	m := w.fleet.Method
	for release := 1; release <= m.Learning(); release++ {
		if m.Data(release) == m.Data(release-1) {
			continue
		}
		for _, e := range w.pairs() {
			a, ok := w.shared.last[keyUse{member: e[0], neighbor: e[1], release: release}]
			b, both := w.shared.last[keyUse{member: e[1], neighbor: e[0], release: release}]
			// After a takeover, the neighbors continue with the lost device's key for a while, if they received it.
			// Partners that are not neighbors may receive the new device's key later than the neighbors.
			far := !slices.Contains(w.fleet.Edges, e) && slices.Contains(e[:], w.fleet.Members[w.lost]) && !early(release, out)
			if !early(release, out) && (!ok || !both) || ok && both && a != b && !far {
				w.t.Errorf("seed %d: release %d, edge %q: %v %x and %v %x, after a takeover after release %d", w.seed, release, e,
					ok, a[:4], both, b[:4], out.recovered)
			}
		}
	}
}
