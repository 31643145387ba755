package trust

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Gossip detects equivocation: a member that signs different releases for different neighbors. With each release a
// member sends digests of the statements that it used, and relays the digests that came with these statements, each
// digest once. If two digests of one slot differ, the member asks everybody for the statement ([Question]). Only two
// different signed statements of one slot are evidence; digests and questions are not.
//
// Each member on a path of honest members between two members that use different statements of a slot sends its first
// digest of the slot, so two neighbors on the path have different digests; see PROOF.md, "One story".
//
// What a member compares, sends and answers depends only on questions and on the releases that it held when it began
// the work on its release in progress. Releases that arrive during this work wait until the work on the next release
// begins, because the time that the work takes depends on data, and so does what arrives meanwhile.
type Gossip struct {
	log     *Log
	self    int
	every   int // one in this many releases of each member is compared
	window  int // for how many past releases statements are kept
	begun   int // release in progress
	claims  map[Slot]*claim
	bad     map[int]bool // convicted members
	digests [2]carried   // of the last two releases, by release number mod 2
}

// Slot identifies one signed release by member, epoch and round.
type Slot struct {
	Member int // index among the fleet's members
	Round  int
}

// claim is what a member knows about a slot.
type claim struct {
	digest       digest
	known        bool              // a digest was received, or the statement was used
	held         *signed.Statement // nil if never received
	asked        bool              // two digests differ, or a neighbor asks
	passed, told bool              // passed: the question was sent to all neighbors; told: the statement was
}

type carried struct {
	round int
	list  []byte
}

// digest is a prefix of [signed.Statement.ID]. A malicious member needs about 2^48 trials to find two statements with
// the same digest. It has only the time of one round for these trials, and needs a new collision for each later
// release.
type digest [12]byte

const (
	// DigestSize is the length in bytes of a digest with its slot, big-endian: the member's number (2 bytes), the epoch
	// (2 bits), how many releases back the slot is (14 bits), and the digest.
	DigestSize = 4 + len(digest{})

	lagBits     = 14
	mostOf      = 8  // maximum number of digests of one member and epoch in a frame
	perFrame    = 16 // digests in a frame, on average
	mostMembers = 1 << 16
)

// Digests returns the average number of digests that accompany a release in a fleet of the given number of members. For
// fewer than 3 or more than 65,536 members it returns 0, because such a fleet does not compare releases.
func Digests(members int) float64 {
	if members < 3 || members > mostMembers {
		return 0
	}
	return float64(members-1) / float64(sparsity(members))
}

// sparsity returns n such that one in n releases of a member is compared.
func sparsity(members int) int { return (members - 1 + perFrame - 1) / perFrame }

// Compare makes the log compare releases, if the run signs them and has three members or more.
func (l *Log) Compare() {
	n := len(l.members)
	if !l.Signing() || Digests(n) == 0 {
		return
	}
	l.Gossip = &Gossip{log: l, self: slices.Index(l.members, l.Name), every: sparsity(n), claims: map[Slot]*claim{},
		window: min(2*n+4, 1<<lagBits-1), bad: map[int]bool{}}
}

// compared reports whether statements of a slot are compared: one in g.every releases of each member, except releases
// of convicted epochs.
func (g *Gossip) compared(s Slot) bool {
	return (s.Round+int(uint32(s.Member)*2654435761>>8))%g.every == 0 && !g.bad[s.Member]
}

// Question asks all members for their statements of a slot. If Statement is not nil, the question shows them this
// statement instead.
type Question struct {
	Slot
	Statement *signed.Statement
}

// duties returns the questions about a slot that must still be sent to all neighbors: first the question without a
// statement, then the question with the statement, each only once. The order in which the question and the statement
// arrive affects only when they are passed on.
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

// appendDigest appends the digest of a slot, encoded relative to a release, to dst.
func appendDigest(dst []byte, s Slot, release int, d digest) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(s.Member))
	return append(binary.BigEndian.AppendUint16(dst, uint16(release-s.Round)), d[:]...)
}

// About returns the Digests field of [admm.Signed] for a message about a member and an epoch: a slot without a digest.
func About(member int) []byte {
	return appendDigest(nil, Slot{Member: member}, 0, digest{})
}

// about returns which member a message is about, or -1 if the message does not name one.
func (g *Gossip) about(m *admm.Message) int {
	s, _, err := g.parseDigest(m.Signed.Digests, max(1, m.Round))
	if err != nil || s.Member == g.self {
		return -1
	}
	return s.Member
}

func (g *Gossip) parseDigest(b []byte, release int) (s Slot, d digest, err error) {
	if g == nil || len(b) != DigestSize {
		return s, d, fmt.Errorf("trust: found a digest of %d bytes, want %d, or none if members do not compare releases", len(b), DigestSize)
	}
	at := binary.BigEndian.Uint16(b[2:])
	s = Slot{int(binary.BigEndian.Uint16(b)), release - int(at&(1<<lagBits-1))}
	copy(d[:], b[4:])
	if s.Member >= len(g.log.members) || s.Round < 1 {
		err = fmt.Errorf("trust: found a digest of release %d, member %d, want release 1 or later, member 0..%d", s.Round, s.Member, len(g.log.members)-1)
	}
	return s, d, err
}

// check rejects digests that an honest member does not send with a release.
func (g *Gossip) check(m *admm.Message) error {
	if g == nil {
		return nil
	}
	for b := range slices.Chunk(m.Signed.Digests, DigestSize) {
		if s, _, err := g.parseDigest(b, m.Round); err != nil {
			return err
		} else if s.Round == m.Round {
			return fmt.Errorf("trust: release %d carries a digest of itself", m.Round)
		}
	}
	return nil
}

// of returns the claim about a slot, and creates it if necessary.
func (g *Gossip) of(s Slot) *claim {
	c := g.claims[s]
	if c == nil {
		c = new(claim)
		g.claims[s] = c
	}
	return c
}

// Used is a neighbor's release that this member holds when it begins the work on its own next release: the neighbor's
// number, the statement of the release, and the digests sent with the release.
type Used struct {
	From      int
	Statement signed.Statement
	Digests   []byte
}

// Take records a neighbor's release that the machine accepted, with its digests. Of several releases with the same
// number and epoch, it keeps the first.
func (p *Peer) Take(m *admm.Message) {
	st, err := signed.Parse(m.Signed.Own, signed.Release) // already checked
	if at := &p.taken[st.Round%2]; err == nil && (at.Statement.Round != st.Round) {
		*at = Used{m.From, st, m.Signed.Digests}
	}
}

// Taken returns a neighbor's release of a round, or nil if the release is unknown. A Peer keeps only the neighbor's
// last two releases.
func (p *Peer) Taken(round int) *Used {
	if round < 1 || p.taken[round%2].Statement.Round != round {
		return nil
	}
	return &p.taken[round%2]
}

// Found is the result of [Gossip.Begin].
type Found struct {
	Ask     []Question        // to send to all neighbors
	Doubles []signed.Evidence // evidence of members' equivocation
	Unaware []Unaware
}

// Unaware is a neighbor that still works with a convicted member.
type Unaware struct{ Neighbor, With int }

// Begin processes the neighbors' releases with the number release-1, which this member holds when it begins the work on
// the given release. Call Begin once before making each release.
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
		s := Slot{u.From, st.Round}
		if !g.compared(s) {
			continue
		}
		c := g.of(s)
		if c.held != nil && c.held.Contradicts(&st) {
			f.Doubles = append(f.Doubles, signed.NewEvidence(g.log.members[s.Member], c.held, &st))
		}
		id := st.ID(g.log.scope(g.log.members[s.Member]))
		c.held, c.known, c.digest = &st, true, digest(id[:])
		fresh = append(fresh, s)
		f.Ask = append(f.Ask, c.duties(s)...)
	}
	for _, u := range used {
		for b := range slices.Chunk(u.Digests, DigestSize) {
			s, d, err := g.parseDigest(b, release-1)
			if err == nil && s.Round == release-2 && g.bad[s.Member] && s.Member != u.From {
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

// list returns the digests to send with a release: for each member and epoch, at most mostOf of the newest digests. It
// stops when the total size reaches signed.MaxDigests. Only invented digests can exceed these limits.
func (g *Gossip) list(release int, slots []Slot) (list []byte) {
	slices.SortFunc(slots, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(b.Round, a.Round))
	})
	count := 0
	for i, s := range slots {
		if count++; i == 0 || slots[i-1].Member != s.Member {
			count = 1
		}
		if count <= mostOf && len(list) < signed.MaxDigests {
			list = appendDigest(list, s, release, g.claims[s].digest)
		}
	}
	return list
}

// Of returns the digests to send with one of this member's last two releases, or nil for an older release.
func (g *Gossip) Of(release int) []byte {
	if g == nil || g.digests[release%2].round != release {
		return nil
	}
	return g.digests[release%2].list
}

// Begun returns the release in progress: the last one passed to [Gossip.Begin].
func (g *Gossip) Begun() int { return g.begun }

// Convict excludes an epoch of a member, and all earlier epochs, from comparison. Convict returns false if the epoch
// was already excluded.
func (g *Gossip) Convict(member int) { g.bad[member] = true }

// Knows reports whether m is evidence against a member that has already been convicted for the same epoch.
func (g *Gossip) Knows(m *admm.Message) bool {
	s, _, err := g.parseDigest(m.Signed.Digests, max(1, m.Round))
	return err == nil && g.bad[s.Member]
}

// Question processes a neighbor's question. It returns what to send to all neighbors, and the resulting evidence or
// nil.
func (g *Gossip) Question(m *admm.Message) (send []Question, double *signed.Evidence, err error) {
	s, _, err := g.parseDigest(m.Signed.Digests, m.Round)
	switch {
	case err != nil:
		return nil, nil, err
	case s.Round != m.Round || s.Round > g.begun+len(g.log.members): // a member n edges away is at most n releases ahead
		return nil, nil, fmt.Errorf("trust: found a question about release %d in a message of release %d, want the "+
			"same release in both, and at most release %d", s.Round, m.Round, g.begun+len(g.log.members))
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
		e := signed.NewEvidence(g.log.members[s.Member], c.held, shown)
		return nil, &e, nil
	}
	return c.duties(s), nil, nil
}

// shown parses a statement b and checks that the member of slot s signed it for this slot.
func (g *Gossip) shown(s Slot, b []byte) (*signed.Statement, error) {
	st, err := signed.Parse(b, signed.Release)
	if err == nil && st.Round != s.Round {
		err = fmt.Errorf("trust: found release %d in a question about release %d, want the same release", st.Round, s.Round)
	}
	if err == nil {
		name := g.log.members[s.Member]
		err = st.Verify(g.log.scope(name), g.log.Keys(name))
	}
	return &st, err
}
