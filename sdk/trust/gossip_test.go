package trust_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// TestTwoStoriesAreFound simulates malicious members that, from release q on, sign different releases for their
// neighbors a and b. They send wrong digests, invent digests of future slots, do not answer, and ask without a reason.
// Let dist be the distance in the graph of honest members. If a path of honest members connects a and b, both must hold
// evidence once they have used the releases q+ceil(dist(a, b)/2).
func TestTwoStoriesAreFound(t *testing.T) {
	t.Parallel()
	found, apart := 0, map[int]int{}
	first, count := worldsWanted(t, 30)
	for seed := uint64(first); seed < uint64(first+count); seed++ {
		g, name := graphOf(t, seed)
		w := newWorld(t, seed, g, 1+int(seed/8%3))
		w.split = 1 + w.rnd.IntN(6)
		for round := 1; round <= w.split+g.N(); round++ {
			w.round(round, false)
			for of := range g.N() {
				for _, a := range g.Neighbors(of) {
					for _, b := range g.Neighbors(of) {
						dist := w.hops(a, b)
						if !w.bad[of] || w.bad[a] || w.bad[b] || dist < 1 || w.second(of, a) || !w.second(of, b) ||
							round != w.split+(dist+1)/2+1 {
							continue
						}
						if !w.proof[a][of] || !w.proof[b][of] {
							t.Fatalf("world %d, %s of %d: member %d tells %d and %d, %d apart, two stories from release %d on, and nobody "+
								"knows when release %d begins", seed, name, g.N(), of, a, b, dist, w.split, round)
						}
						found++
						apart[dist]++
					}
				}
			}
		}
	}
	t.Logf("%d pairs, by how far apart: %v", found, apart)
	if count >= 30 && (found < 4*count || len(apart) < 3) {
		t.Errorf("only %d pairs that were told two stories, at distances %v", found, apart)
	}
}

// TestDigestsAccuseNobody checks that no honest member is accused, and that without equivocation no member is accused,
// even if edges are dropped, devices are replaced, members restart, or a question takes one round to cross an edge.
func TestDigestsAccuseNobody(t *testing.T) {
	t.Parallel()
	asked, accused := 0, 0
	first, count := worldsWanted(t, 30)
	for seed := uint64(first); seed < uint64(first+count); seed++ {
		g, _ := graphOf(t, seed)
		w := newWorld(t, seed, g, 1+int(seed/8%3))
		w.behind = seed%2 == 0
		if seed%3 == 0 {
			w.split = 3
		}
		for round := 1; round <= 25; round++ {
			w.round(round, true) // learn fails the test on evidence against an honest member
		}
		asked += w.asked
		for i := range w.proof {
			accused += len(w.proof[i])
			if w.split == 0 && len(w.proof[i]) > 0 {
				t.Fatalf("world %d: evidence %v at member %d, and nobody has two stories", seed, w.proof[i], i)
			}
		}
	}
	t.Logf("%d questions, and %d members have evidence", asked, accused)
	if count >= 30 && (asked < 100*count || accused == 0) {
		t.Errorf("%d questions, and %d members have evidence", asked, accused)
	}
}

// TestHonestAskNothing checks that honest members ask no questions. A release carries one digest for each other member
// whose digest can already have arrived, and no other digests.
func TestHonestAskNothing(t *testing.T) {
	for seed := range uint64(8) {
		g, name := graphOf(t, seed)
		w := newWorld(t, seed, g, 0)
		for round := 1; round <= 12; round++ {
			w.round(round, false)
			for i, l := range w.logs {
				near := 0
				for j := range g.N() {
					if hops := w.hops(i, j); hops > 0 && hops < round {
						near++
					}
				}
				if n := len(l.Gossip.Of(round)); n != near*trust.DigestSize || w.asked > 0 {
					t.Fatalf("%s of %d: release %d of member %d carries %d bytes, want %d digests; %d questions", name, g.N(), round, i, n,
						near, w.asked)
				}
			}
		}
	}
}

// TestFewDigestsOfManyMembers checks that a large fleet compares only some of the releases: a frame carries few
// digests, but equivocation may be found some releases later.
func TestFewDigestsOfManyMembers(t *testing.T) {
	const n, rounds = 60, 24
	g, err := graph.Parse("er:0.1", n, 5)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 5, g, 0)
	bytes := 0
	for round := 1; round <= rounds; round++ {
		w.round(round, false)
		for _, l := range w.logs {
			bytes += len(l.Gossip.Of(round))
		}
	}
	mean := float64(bytes) / (n * rounds * float64(trust.DigestSize))
	if want := trust.Digests(n); want > 16 || mean > want || mean < want/2 || w.asked > 0 {
		t.Errorf("%.1f digests a release, want at most %.1f; %d questions", mean, want, w.asked)
	}
	w = newWorld(t, 5, g, 0)
	of, a, b := -1, -1, -1
	for a < 0 || b < 0 {
		of++
		is := func(second bool) func(j int) bool { return func(j int) bool { return w.second(of, j) == second } }
		list := append([]int{-1}, g.Neighbors(of)...)
		a, b = list[1+slices.IndexFunc(list[1:], is(true))], list[1+slices.IndexFunc(list[1:], is(false))]
	}
	w.bad[of], w.split = true, 3
	latest := w.split + (w.hops(a, b)+1)/2 + 4 // one in four releases is compared
	for round := 1; round <= latest; round++ {
		w.round(round, false)
	}
	if !w.proof[a][of] || !w.proof[b][of] {
		t.Errorf("members %d and %d, %d apart, were told two stories from release 3 on, and know nothing in release %d", a, b, w.hops(a, b),
			latest)
	}
}

// Question relays each question, and the statement that answers it, only once. Question rejects an invalid question,
// which then has no effect.
func TestWrongQuestions(t *testing.T) {
	g, _ := graphOf(t, 0)
	w := newWorld(t, 1, g, 0)
	for round := 1; round <= 3; round++ {
		w.round(round, false)
	}
	l := w.logs[0] // member 0 has finished its work on release 3
	of := func(member, round int, epoch uint16) signed.Statement {
		s := signed.Statement{Epoch: epoch, Kind: signed.Release, Round: round, Value: [32]byte{5}}
		s.Sign(w.logs[member].Key, w.logs[member].Scope)
		return s
	}
	ask := func(member, round int, epoch uint16, s *signed.Statement) *admm.Message {
		q := trust.Question{Slot: trust.Slot{Member: member, Epoch: epoch, Round: round}, Statement: s}
		return q.Message()
	}
	second, later, newer, unsigned := of(1, 2, 0), of(1, 3, 0), of(1, 2, 1), of(1, 2, 0)
	unsigned.Signature[3]++
	long := ask(1, 2, 0, nil)
	long.Signed.Digests = append(long.Signed.Digests, 0)
	moved := ask(1, 2, 0, nil)
	moved.Signed.Digests[3] = 1 // names the slot one release back
	for name, m := range map[string]*admm.Message{
		"no such member": ask(5, 2, 0, nil), "no such epoch": ask(1, 2, 3, nil), "no release": ask(1, 0, 0, nil),
		"far ahead": ask(1, 3+5+1, 0, nil), "another length": long, "another release": moved,
		"a statement of another release": ask(1, 2, 0, &later), "a statement of another epoch": ask(1, 2, 0, &newer),
		"not signed": ask(1, 2, 0, &unsigned),
	} {
		if list, double, err := l.Gossip.Question(m); err == nil || double != nil || list != nil {
			t.Errorf("%s: %v, %v, %v", name, list, double, err)
		}
	}
	if list, double, err := l.Gossip.Question(ask(0, 2, 0, nil)); list != nil || double != nil || err != nil {
		t.Errorf("about the member itself: %v, %v, %v", list, double, err)
	}
	// Member 0 answers at once with the statement of release 2, but answers with the statement of release 3 only after
	// it begins the work on release 4.
	for i, want := range []int{2, 0} {
		if list, _, err := l.Gossip.Question(ask(1, 2, 0, nil)); err != nil || len(list) != want || want > 0 && list[0].Statement != nil ||
			want > 0 && list[1].Statement.Round != 2 {
			t.Errorf("question %d: %v, %v", i, list, err)
		}
	}
	if list, _, err := l.Gossip.Question(ask(1, 3, 0, nil)); err != nil || len(list) != 1 || list[0].Statement != nil {
		t.Errorf("before the work on release 4 begins: %v, %v", list, err)
	}
	if f := l.Gossip.Begin(4, []*trust.Used{l.Peers[1].Taken(3)}); len(f.Ask) != 1 || f.Ask[0].Statement == nil {
		t.Errorf("once it has begun: %+v", f)
	}
	list, double, err := l.Gossip.Question(ask(1, 2, 0, &second))
	if err != nil || list != nil || double == nil || double.Verify("worlds", worldFleet, l.Keys("m1")) != nil {
		t.Errorf("a second statement: %v, %v, %v", list, double, err)
	}
}

// Begin names a neighbor whose release used a release of a convicted member, so that the node can send the neighbor the
// evidence. A digest that the neighbor only relays does not count. Begin neither compares nor relays releases of the
// convicted member.
func TestUnawareNeighbors(t *testing.T) {
	g, err := graph.Parse("ring", 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 1, g, 0)
	for round := 1; round <= 4; round++ {
		w.round(round, false)
	}
	l := w.logs[0] // member 0 has the neighbors 4 and 1, of which only 1 is a neighbor of member 2
	l.Gossip.Convict(2, 0)
	f := l.Gossip.Begin(5, []*trust.Used{l.Peers[1].Taken(4), l.Peers[4].Taken(4)})
	if len(f.Ask) > 0 || len(f.Doubles) > 0 || !slices.Equal(f.Unaware, []trust.Unaware{{Neighbor: 1, With: 2}}) {
		t.Errorf("found %+v", f)
	}
	for b := range slices.Chunk(l.Gossip.Of(5), trust.DigestSize) {
		if member := binary.BigEndian.Uint16(b); member == 2 {
			t.Errorf("a digest of member %d is passed on", member)
		}
	}
	if n := len(l.Gossip.Of(5)); n != 3*trust.DigestSize {
		t.Errorf("%d bytes of digests, want those of 3 members", n)
	}
}

// FuzzDigests checks that arbitrary digests and questions are rejected or have no effect: they create a bounded number
// of slots, and yield no evidence.
func FuzzDigests(f *testing.F) {
	g, _ := graphOf(f, 0)
	w := newWorld(f, 1, g, 0)
	for round := 1; round <= 3; round++ {
		w.round(round, false)
	}
	st := w.logs[1].Own.Last().Append(nil)
	about := trust.About(1, 0)
	f.Add(3, w.logs[1].Gossip.Of(3), []byte(nil))
	f.Add(3, about, st)
	f.Add(2, about, st)
	f.Add(1<<31-1, trust.About(4, 3), st[:190])
	f.Add(0, []byte{0, 1}, []byte(nil))
	f.Fuzz(func(t *testing.T, round int, digests, proof []byte) {
		l := w.logs[0]
		m := &admm.Message{Kind: admm.Question, From: 1, Round: max(0, min(round, 1<<31-1)),
			Signed: admm.Signed{Digests: digests[:min(len(digests), signed.MaxDigests)], Proof: proof}}
		list, double, err := l.Gossip.Question(m)
		if double != nil || err != nil && list != nil || len(list) > 2 {
			t.Fatalf("%+v, %+v, %v", list, double, err)
		}
		for i := range list {
			again := list[i].Message()
			if len(again.Signed.Digests) != trust.DigestSize || again.Round != m.Round {
				t.Fatalf("passed on as %+v", again)
			}
		}
		m.Kind, m.Round, m.Vector, m.Signed.Own = admm.Release, 3, []float32{1}, st
		_, refused := l.Release(l.Peers[1], m)
		if (refused == nil) != (len(digests)%trust.DigestSize == 0) && refused == nil {
			t.Fatalf("digests of %d bytes are taken", len(digests))
		}
		found := l.Gossip.Begin(4, []*trust.Used{{From: 1, Statement: *w.logs[1].Own.Last(), Digests: m.Signed.Digests}})
		if len(found.Doubles) > 0 || len(found.Unaware) > 0 || len(found.Ask) > 2+2*signed.MaxDigests/trust.DigestSize {
			t.Fatalf("%d questions, evidence %+v, %+v", len(found.Ask), found.Doubles, found.Unaware)
		}
	})
}
