package sdk_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/sim"
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

// models returns the models of a simulation with the recorded keys. If end is given, the run ends early: end is the
// number of its last round.
func (b *keyBook) models(t *testing.T, f *sdk.Fleet, end ...int) [][]float32 {
	t.Helper()
	cfgs, err := f.Machines(samples[:len(f.Members)], noise)
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	for i, c := range cfgs {
		if len(end) > 0 {
			c.End = end[0]
		}
		c.PairKey = func(peer, release int) [32]byte {
			key, ok := b.last[keyUse{member: f.Members[i], neighbor: f.Members[peer], release: release}]
			if back := b.last[keyUse{member: f.Members[peer], neighbor: f.Members[i], release: release}]; back != key || !ok {
				t.Errorf("%d and %d do not agree on release %d", i, peer, release)
			}
			return key
		}
		clients = append(clients, sim.Client{Config: c, Oracle: oracle(i)})
	}
	network, err := sim.New(clients)
	if err == nil {
		err = network.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return network.Models()
}

// agree checks that, in every release with noise, the two ends of each edge of the partner graph use the same key, and
// that no other members share noise.
func (b *keyBook) agree(t *testing.T, f *sdk.Fleet, noise *graph.Graph) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for use := range b.last {
		if e := [2]int{slices.Index(f.Members, use.member), slices.Index(f.Members, use.neighbor)}; !slices.Contains(noise.Neighbors(e[0]), e[1]) {
			t.Errorf("%q shares noise with %q, which is no partner", use.member, use.neighbor)
		}
	}
	for release := 1; release <= f.Method.Learning(); release += 1 + f.Method.Mixing {
		for _, e := range noise.Edges() {
			one, other := f.Members[e[0]], f.Members[e[1]]
			key, ok := b.last[keyUse{member: one, neighbor: other, release: release}]
			back, both := b.last[keyUse{member: other, neighbor: one, release: release}]
			if !ok || !both || key != back {
				t.Errorf("release %d: %q and %q do not share noise: %v %x, %v %x", release, one, other, ok, key[:4], both, back[:4])
			}
		}
	}
}
