package trust

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Gossip compares what members were told, so that a member that signs different releases for different neighbors is found
// (equivocation). With each release a member sends digests of the statements that it was made from, and passes on digests
// that came with the releases it was made from, each once. Where two digests of one statement differ it asks everybody for
// the statement ([Question]). Digests and questions accuse nobody: only two signed statements of one slot do.
//
// Let members a and b use different statements of one slot, of release q, and be dist edges apart in the graph of honest
// members. Each member on the path between them sends its first digest of that slot by release q+dist, and those at the two
// ends are different, so two neighbors on the path differ and one of them knows it when it has all releases q+dist of its
// neighbors. Since a statement names the one before, all later slots differ as well. See PROOF.md, "One story".
//
// All that is compared, sent and answered is a function of the releases that a member's work began with, and of questions.
// What arrives during the work waits until the work after it begins, as the moment depends on data.
type Gossip struct {
	log     *Log
	members []string
	scopes  []signed.Scope
	self    int
	every   int // of so many releases of a member one is compared
	window  int // how many releases back statements are kept
	begun   int // the release in progress
	claims  map[Slot]*claim
	bad     map[int]uint16 // members with evidence against them, and up to which epoch, plus 1
	digests [2]carried     // of the last two releases, by number mod 2
}

// Slot names one statement of a release.
type Slot struct {
	Member int // its place among the fleet's members
	Epoch  uint16
	Round  int
}

// claim is what is known of a slot.
type claim struct {
	digest       digest
	known        bool              // a digest of it was heard, or the statement used
	held         *signed.Statement // nil if it has not been here
	asked        bool              // members differ about it, or somebody says so
	passed, told bool              // that it is asked for, and the statement, have been sent to all neighbors
}

type carried struct {
	round int
	list  []byte
}

// digest is the first bytes of [signed.Statement.ID]. Two statements with one digest take some 2^48 trials, within a round,
// and again for each later release.
type digest [12]byte

const (
	// DigestSize is the length in bytes of a digest with its slot: the member's number in two, then the epoch in two bits
	// and in fourteen how many releases back the slot is, big-endian, and the digest.
	DigestSize = 4 + len(digest{})
	// MaxDigests is how many may travel with a release.
	MaxDigests = signed.MaxDigests / DigestSize

	lagBits     = 14
	mostOf      = 8  // digests of one member and epoch in a frame
	perFrame    = 16 // digests in a frame, on average
	mostMembers = 1 << 16
)

// Digests returns how many digests a release carries on average among so many members: 0 with fewer than three.
func Digests(members int) float64 {
	if members < 3 || members > mostMembers {
		return 0
	}
	return float64(members-1) / float64(sparsity(members))
}

// sparsity returns of how many releases of a member one is compared.
func sparsity(members int) int { return (members - 1 + perFrame - 1) / perFrame }

// Compare makes the log one that compares, if the run signs releases and has three members or more. self is this member's
// place among them.
func (l *Log) Compare(run string, fleet [32]byte, members []string, self int) {
	if !l.Signing() || Digests(len(members)) == 0 {
		return
	}
	g := &Gossip{log: l, members: members, self: self, every: sparsity(len(members)), claims: map[Slot]*claim{},
		window: min(2*len(members)+4, 1<<lagBits-1), bad: map[int]uint16{}}
	for _, name := range members {
		g.scopes = append(g.scopes, signed.NewScope(run, fleet, name))
	}
	l.Gossip = g
}

// compared reports whether statements of a slot are compared: all releases of a member, or in a large fleet some of them.
func (g *Gossip) compared(s Slot) bool {
	return (s.Round+int(uint32(s.Member)*2654435761>>8))%g.every == 0 && g.bad[s.Member] <= s.Epoch
}

// Question asks all members for their statements of a slot, or shows one.
type Question struct {
	Slot
	Statement *signed.Statement
}

// duties returns what all neighbors are to be sent about a slot that is asked for: first a question without a statement,
// then the statement, each once. Whether the statement was here before the question changes nothing but the moment.
func (c *claim) duties(s Slot) (list []Question) {
	if !c.asked {
		return nil
	}
	if !c.passed {
		c.passed = true
		list = append(list, Question{s, nil})
	}
	if !c.told && c.held != nil {
		c.told = true
		list = append(list, Question{s, c.held})
	}
	return list
}

// Message returns the message that carries a question.
func (q *Question) Message() *admm.Message {
	m := &admm.Message{Kind: admm.Question, Round: q.Round, Signed: admm.Signed{Digests: appendDigest(nil, q.Slot, q.Round, digest{})}}
	if q.Statement != nil {
		m.Signed.Proof = q.Statement.Append(nil)
	}
	return m
}

// appendDigest appends a digest to dst, of a slot as a release tells of it.
func appendDigest(dst []byte, s Slot, release int, d digest) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(s.Member))
	return append(binary.BigEndian.AppendUint16(dst, s.Epoch<<lagBits|uint16(release-s.Round)), d[:]...)
}

// About returns what a message carries that is about a member: see [admm.Signed].
func About(member int, epoch uint16) []byte {
	return appendDigest(nil, Slot{Member: member, Epoch: epoch}, 0, digest{})
}

// about returns which member a message is about; -1 if it does not say so.
func (g *Gossip) about(m *admm.Message) int {
	s, _, err := g.parseDigest(m.Signed.Digests, max(1, m.Round))
	if err != nil || s.Member == g.self {
		return -1
	}
	return s.Member
}

// parseDigest reads what appendDigest wrote.
func (g *Gossip) parseDigest(b []byte, release int) (s Slot, d digest, err error) {
	if g == nil || len(b) != DigestSize {
		return s, d, fmt.Errorf("trust: a digest of %d bytes, want %d, in a run whose releases are compared", len(b), DigestSize)
	}
	at := binary.BigEndian.Uint16(b[2:])
	s = Slot{int(binary.BigEndian.Uint16(b)), at >> lagBits, release - int(at&(1<<lagBits-1))}
	copy(d[:], b[4:])
	if s.Member >= len(g.members) || s.Epoch > admm.MaxTakeovers || s.Round < 1 {
		err = fmt.Errorf("trust: a digest of release %d of member %d, epoch %d, want 1 or more, 0..%d and 0..%d", s.Round, s.Member,
			s.Epoch, len(g.members)-1, admm.MaxTakeovers)
	}
	return s, d, err
}

// check refuses digests that no member sends with a release.
func (g *Gossip) check(m *admm.Message) error {
	if g == nil {
		return nil
	}
	for b := range slices.Chunk(m.Signed.Digests, DigestSize) {
		if s, _, err := g.parseDigest(b, m.Round); err != nil {
			return err
		} else if s.Round == m.Round {
			return fmt.Errorf("trust: release %d comes with a digest of that release", m.Round)
		}
	}
	return nil
}

// of returns what is known of a slot, which is made if need be.
func (g *Gossip) of(s Slot) *claim {
	c := g.claims[s]
	if c == nil {
		c = new(claim)
		g.claims[s] = c
	}
	return c
}

// Used is a neighbor's release that this member's work begins with: who made it, its statement, and the digests with it.
type Used struct {
	From      int
	Statement signed.Statement
	Digests   []byte
}

// Take notes a neighbor's release that the machine has taken in, the first one of its number and epoch, with what came with
// it.
func (p *Peer) Take(m *admm.Message) {
	st, err := signed.Parse(m.Signed.Own, signed.Release) // it was checked
	if at := &p.taken[st.Round%2]; err == nil && (at.Statement.Round != st.Round || at.Statement.Epoch < st.Epoch) {
		*at = Used{m.From, st, m.Signed.Digests}
	}
}

// Taken returns one of a neighbor's last releases; nil if it is not known.
func (p *Peer) Taken(round int) *Used {
	if round < 1 || p.taken[round%2].Statement.Round != round {
		return nil
	}
	return &p.taken[round%2]
}

// Found is what [Gossip.Begin] has found.
type Found struct {
	Ask     []Question        // of all neighbors
	Doubles []signed.Evidence // against members
	Unaware []Unaware
}

// Unaware is a neighbor that still works with a member against which there is evidence.
type Unaware struct{ Neighbor, With int }

// Begin takes in the releases of the neighbors that the work on a release begins with, those of the number before. Call it
// once for each release, before it is made.
func (g *Gossip) Begin(release int, used []*Used) (f Found) {
	g.begun = release
	for s := range g.claims {
		if s.Round < release-g.window {
			delete(g.claims, s)
		}
	}
	var fresh []Slot
	for _, u := range used {
		st := u.Statement
		s := Slot{u.From, st.Epoch, st.Round}
		if !g.compared(s) {
			continue
		}
		c := g.of(s)
		if c.held != nil && c.held.Contradicts(&st) {
			f.Doubles = append(f.Doubles, signed.NewEvidence(g.members[s.Member], c.held, &st))
		}
		id := st.ID(g.scopes[s.Member])
		c.held, c.known, c.digest = &st, true, digest(id[:])
		fresh = append(fresh, s)
		f.Ask = append(f.Ask, c.duties(s)...)
	}
	for _, u := range used {
		for b := range slices.Chunk(u.Digests, DigestSize) {
			s, d, err := g.parseDigest(b, release-1)
			if err == nil && s.Round == release-2 && g.bad[s.Member] > s.Epoch && s.Member != u.From {
				f.Unaware = append(f.Unaware, Unaware{u.From, s.Member})
			}
			if err != nil || s.Member == g.self || s.Round < release-g.window || !g.compared(s) {
				continue
			}
			switch c := g.of(s); {
			case !c.known:
				c.known, c.digest = true, d
				fresh = append(fresh, s)
			case c.digest != d:
				c.asked = true
				f.Ask = append(f.Ask, c.duties(s)...)
			}
		}
	}
	g.digests[release%2] = carried{release, g.list(release, fresh)}
	return f
}

// list returns digests as a release carries them: of each member and epoch the newest, and in all as many as there is room
// for. Only digests that somebody has made up can take so much.
func (g *Gossip) list(release int, slots []Slot) (list []byte) {
	slices.SortFunc(slots, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(b.Round, a.Round))
	})
	count := 0
	for i, s := range slots {
		if count++; i == 0 || slots[i-1].Member != s.Member || slots[i-1].Epoch != s.Epoch {
			count = 1
		}
		if count <= mostOf && len(list) < signed.MaxDigests {
			list = appendDigest(list, s, release, g.claims[s].digest)
		}
	}
	return list
}

// Of returns the digests that go with one of the last two releases; none if they are not known any more.
func (g *Gossip) Of(release int) []byte {
	if g == nil || g.digests[release%2].round != release {
		return nil
	}
	return g.digests[release%2].list
}

// Begun returns the release in progress, as [Gossip.Begin] was told it.
func (g *Gossip) Begun() int { return g.begun }

// Convict makes an epoch of a member, and those before, one whose statements are not compared any more. It reports whether
// that is new.
func (g *Gossip) Convict(member int, epoch uint16) bool {
	if g.bad[member] > epoch {
		return false
	}
	g.bad[member] = epoch + 1
	return true
}

// Knows reports whether evidence is about a member, and an epoch of it, against which there is evidence already.
func (g *Gossip) Knows(m *admm.Message) bool {
	s, _, err := g.parseDigest(m.Signed.Digests, max(1, m.Round))
	return err == nil && g.bad[s.Member] > s.Epoch
}

// Question takes in a neighbor's question. It returns what to send to all neighbors, and the evidence that the question
// leads to, or nil.
func (g *Gossip) Question(m *admm.Message) (send []Question, double *signed.Evidence, err error) {
	s, _, err := g.parseDigest(m.Signed.Digests, m.Round)
	switch {
	case err != nil:
		return nil, nil, err
	case s.Round != m.Round || s.Round > g.begun+len(g.members): // who is n edges away is n releases ahead at most
		return nil, nil, fmt.Errorf("trust: a question about release %d in one of release %d, want at most %d", s.Round, m.Round,
			g.begun+len(g.members))
	case s.Member == g.self || s.Round < g.begun-g.window || !g.compared(s):
		return nil, nil, nil
	}
	var shown *signed.Statement
	if len(m.Signed.Proof) > 0 {
		if shown, err = g.shown(s, m.Signed.Proof); err != nil {
			return nil, nil, err
		}
	}
	c := g.of(s)
	c.asked = true
	switch {
	case c.held == nil:
		c.held = shown
	case shown != nil && c.held.Contradicts(shown):
		e := signed.NewEvidence(g.members[s.Member], c.held, shown)
		return nil, &e, nil
	}
	return c.duties(s), nil, nil
}

// shown reads and checks a statement of a slot.
func (g *Gossip) shown(s Slot, b []byte) (*signed.Statement, error) {
	if c := g.claims[s]; c != nil && c.held != nil && bytes.Equal(b, c.held.Append(nil)) {
		return c.held, nil // it was checked before
	}
	st, err := signed.Parse(b, signed.Release)
	if err == nil && (st.Round != s.Round || st.Epoch != s.Epoch) {
		err = fmt.Errorf("trust: release %d of epoch %d in a question about release %d of epoch %d", st.Round, st.Epoch, s.Round, s.Epoch)
	}
	if err == nil {
		err = st.Verify(g.scopes[s.Member], g.log.Keys(g.members[s.Member]))
	}
	return &st, err
}
