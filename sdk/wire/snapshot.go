package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// snapshotVersion is the version of snapshots that this package writes and the only one it reads.
const snapshotVersion = 1

// Limits of a [Snapshot], in bytes.
const (
	maxFilter = 64 << 10 // of Filter
	maxLedger = 256      // of Ledger
)

// Snapshot is the durable state of a node after a release: what the next round's bits depend on, and whose state it is.
// All floats are finite. Vectors of the State that are not computed are nil; the others have the length of X, but for
// Last.
type Snapshot struct {
	Fleet  [32]byte // SHA-256 of the fleet file's canonical form
	Member string   // whose state it is: 1 to 64 bytes of UTF-8
	Build  string   // version of the arithmetic that made it, likewise

	// State is the machine's. Its neighbors are stored by the names in Peers, and not by number: DecodeSnapshot sets the
	// numbers to 0. State.X has 1..MaxDim coordinates, State.Last up to MaxDim; State.Recovered is 0 in generation 0.
	State admm.State
	Peers []Peer // of the edges of State, in their order; nil if there are none

	Generation uint16 // how many devices of this name were lost before this one
	Filter     []byte // state of the privacy filter, up to 64 KiB, not looked at here; nil if there is none
	Ledger     string // head of the lifetime ledger, up to 256 bytes, not looked at here; "" if there is none
	Signed     []byte // what was signed of the last release, up to maxField bytes, not looked at here; nil if nothing was
}

// Peer is what a [Snapshot] holds of a neighbor beside the machine's state.
type Peer struct {
	Name   string // 1 to 64 bytes of UTF-8
	Signed []byte // its latest signed releases that were ever here, up to 2*maxField bytes, not looked at; nil for none
}

// Keys of a snapshot's map and of an edge's, in the order in which they are written and must be read.
const (
	snapVersion = 1 + iota
	snapFleet
	snapMember
	snapBuild
	snapRound
	snapX
	snapGrid
	snapDelta
	snapMean
	snapLast
	snapEdges
	snapQueries
	snapFailed
	snapFilter
	snapLedger
	snapGeneration
	snapRecovered
	snapSigned
	snapEnd
)

const (
	edgePeer = 1 + iota
	edgeHeard
	edgeZ
	edgePeerZ
	edgeBase
	edgeGeneration
	edgeSigned
	edgeMoved
	edgeCut
	edgeQuarantine
	edgeQuiet
)

// maxCut has the bits of the largest float32: those of numbers of 0 and more rise with them.
const maxCut = 0x7f7fffff

// Bounds of the bytes of a snapshot that are not numbers of a vector.
const (
	arrayBytes  = 1 + 2 + 5                                                    // key and heads of a typed array
	nameBytes   = 1 + 2 + MaxName                                              // key, head and text
	signedBytes = 1 + 3 + maxField                                             // key, head and what was signed
	edgeBytes   = 1 + nameBytes + 5*10 + 4*arrayBytes + signedBytes + maxField // map, name, numbers, vectors, signed
	fixedBytes  = 1 + 2 + (1 + 2 + 32) + 2*nameBytes +                         // map, version, fleet, member and build
		5*arrayBytes + (1 + 5) + 6*10 + // vectors, head of the edges, numbers
		(1 + 5 + maxFilter) + (1 + 3 + maxLedger) + signedBytes
)

// MaxSnapshot returns an upper bound, in bytes, of every snapshot of dim coordinates with so many edges and so many
// numbers in Last. It makes sense for dim and samples in 0..MaxDim and edges from 0 on; a bound that an int cannot hold
// comes out as the highest int.
func MaxSnapshot(dim, edges, samples int) int {
	vectors := 4*uint64(dim) + uint64(samples) // numbers
	most := fixedBytes + 4*vectors + uint64(edges)*(edgeBytes+16*uint64(dim))
	return int(min(most, math.MaxInt))
}

// AppendSnapshot appends the encoding of s to dst and returns the extended slice. It appends at most [MaxSnapshot]
// bytes, as many for all snapshots that have the same fields of the same lengths, and allocates no space for them if
// dst has that much to spare. The error names what is outside its limits; dst is then returned as it came.
func AppendSnapshot(dst []byte, s *Snapshot) ([]byte, error) {
	if err := s.check(); err != nil {
		return dst, fmt.Errorf("wire: snapshot: %w", err)
	}
	st := &s.State
	w := cbor.Writer{B: dst}
	w.Map(s.pairs())
	w.Uint(snapVersion, snapshotVersion)
	w.Bytes(snapFleet, s.Fleet[:])
	w.Text(snapMember, s.Member)
	w.Text(snapBuild, s.Build)
	w.Uint64(snapRound, uint64(st.Round))
	w.Floats(snapX, "x", st.X)
	w.Ints(snapGrid, st.Grid)
	w.Ints(snapDelta, st.Delta)
	w.Floats(snapMean, "mean", st.Mean)
	w.Floats(snapLast, "last", st.Last)
	w.Array(snapEdges, len(st.Edges))
	for i := range st.Edges {
		e, p, before := &st.Edges[i], &s.Peers[i], w.Err
		w.Err = nil
		w.Map(edgePairs(e, p))
		w.Text(edgePeer, p.Name)
		w.Uint64(edgeHeard, uint64(e.Heard))
		w.Floats(edgeZ, "z", e.Z)
		w.Floats(edgePeerZ, "peer z", e.PeerZ)
		w.Ints(edgeBase, e.Base)
		if e.Generation > 0 {
			w.Uint64(edgeGeneration, uint64(e.Generation))
		}
		w.Bytes(edgeSigned, p.Signed)
		w.Floats(edgeMoved, "moved", e.Moved)
		if e.Cut > 0 {
			w.Uint64(edgeCut, uint64(math.Float32bits(e.Cut)))
		}
		if e.Quarantine > 0 {
			w.Uint64(edgeQuarantine, uint64(e.Quarantine))
		}
		if e.Quiet > 0 {
			w.Uint64(edgeQuiet, uint64(math.Float32bits(e.Quiet)))
		}
		if w.Err != nil {
			before = errors.Join(before, fmt.Errorf("edge %d: %w", i, w.Err))
		}
		w.Err = before
	}
	w.Uint64(snapQueries, uint64(st.Queries))
	w.Uint64(snapFailed, uint64(st.Failed))
	w.Bytes(snapFilter, s.Filter)
	w.Text(snapLedger, s.Ledger)
	if s.Generation > 0 {
		w.Uint64(snapGeneration, uint64(s.Generation))
	}
	if st.Recovered > 0 {
		w.Uint64(snapRecovered, uint64(st.Recovered))
	}
	w.Bytes(snapSigned, s.Signed)
	if st.End > 0 {
		w.Uint64(snapEnd, uint64(st.End))
	}
	if w.Err != nil {
		return dst, fmt.Errorf("wire: snapshot: %w", w.Err)
	}
	return w.B, nil
}

// limits is a number with its limits.
type limits struct {
	name      string
	n, lo, hi int64
}

// checkLimits reports the numbers that are outside their limits.
func checkLimits(list []limits) (err error) {
	for _, l := range list {
		if l.n < l.lo || l.n > l.hi {
			err = errors.Join(err, fmt.Errorf("%s: found %d, wanted %d..%d", l.name, l.n, l.lo, l.hi))
		}
	}
	return err
}

// absentOr returns the limits of the length of a vector that is absent or has dim coordinates.
func absentOr(name string, n, dim int) limits {
	if n == 0 {
		dim = 0
	}
	return limits{name, int64(n), int64(dim), int64(dim)}
}

// check reports what of s is outside its limits, but for floats that are not finite, which are found while they are
// written.
func (s *Snapshot) check() error {
	st, dim := &s.State, len(s.State.X)
	var ledger, edges error
	if !utf8.ValidString(s.Ledger) {
		ledger = fmt.Errorf("ledger: found %q, wanted valid UTF-8", s.Ledger)
	}
	for i := range min(len(st.Edges), len(s.Peers)) {
		if err := checkEdge(&st.Edges[i], &s.Peers[i], dim); err != nil {
			edges = errors.Join(edges, fmt.Errorf("edge %d: %w", i, err))
		}
	}
	return errors.Join(checkName("member", s.Member), checkName("build", s.Build), checkLimits([]limits{
		{"round", int64(st.Round), 0, maxRound},
		{"length of x", int64(dim), 1, MaxDim},
		{"length of last", int64(len(st.Last)), 0, MaxDim},
		{"peers", int64(len(s.Peers)), int64(len(st.Edges)), int64(len(st.Edges))},
		{"queries", st.Queries, 0, math.MaxInt64},
		{"failed", st.Failed, 0, math.MaxInt64},
		{"length of filter", int64(len(s.Filter)), 0, maxFilter},
		{"length of ledger", int64(len(s.Ledger)), 0, maxLedger},
		{"recovered", int64(st.Recovered), 0, int64(max(0, st.Round)) * int64(min(1, s.Generation))},
		{"length of signed", int64(len(s.Signed)), 0, maxField},
		{"end", int64(st.End), 0, maxRound},
		absentOr("length of grid", len(st.Grid), dim), absentOr("length of delta", len(st.Delta),
			dim), absentOr("length of mean", len(st.Mean), dim),
	}), ledger, edges)
}

// checkEdge reports what of an edge is outside its limits.
func checkEdge(e *admm.EdgeState, p *Peer, dim int) error {
	return errors.Join(checkName("peer", p.Name), checkLimits([]limits{
		{"heard", int64(e.Heard), 0, maxRound},
		{"length of z", int64(len(e.Z)), int64(dim), int64(dim)},
		{"length of signed", int64(len(p.Signed)), 0, 2 * maxField},
		absentOr("length of peer z", len(e.PeerZ), dim), absentOr("length of peer grid", len(e.Base), dim),
		absentOr("length of moved", len(e.Moved), dim),
		{"bits of cut", int64(math.Float32bits(e.Cut)), 0, maxCut},
		{"quarantine", int64(e.Quarantine), 0, maxRound},
		{"bits of quiet", int64(math.Float32bits(e.Quiet)), 0, maxCut},
	}))
}

// pairs returns how many fields s has.
func (s *Snapshot) pairs() int {
	st := &s.State
	return 9 + filled(len(st.Grid), len(st.Delta), len(st.Mean), len(st.Last), len(s.Filter), len(s.Ledger),
		int(s.Generation), st.Recovered, len(s.Signed), st.End)
}

// edgePairs returns how many fields an edge has.
func edgePairs(e *admm.EdgeState, p *Peer) int {
	return 3 + filled(len(e.PeerZ), len(e.Base), int(e.Generation), len(p.Signed), len(e.Moved),
		int(math.Float32bits(e.Cut)), e.Quarantine, int(math.Float32bits(e.Quiet)))
}

// filled counts the numbers above 0.
func filled(lengths ...int) (n int) {
	for _, l := range lengths {
		n += min(l, 1)
	}
	return n
}

// DecodeSnapshot reads a snapshot into s, as strictly as can be: what it takes, [AppendSnapshot] gives back byte for
// byte. It uses the storage of s's slices if there is room, and sets to nil those that the snapshot does not have. It
// keeps nothing of b, and allocates no more than a small multiple of its length. The error says which is the first
// field that is wrong, what was found and what was wanted; s then holds nothing of use.
func DecodeSnapshot(b []byte, s *Snapshot) error {
	r := cbor.Reader{B: b}
	readSnapshot(&r, s)
	if r.Err != nil {
		return fmt.Errorf("wire: snapshot: %w", r.Err)
	}
	return nil
}

func readSnapshot(r *cbor.Reader, s *Snapshot) {
	st := &s.State
	pairs := r.Map("map", snapEnd)
	if r.Must(snapVersion, "version") {
		if version := r.Uint("version"); version != snapshotVersion {
			r.Fail("version", "found %d, wanted %d", version, snapshotVersion)
		}
	}
	if r.Must(snapFleet, "fleet") {
		copy(s.Fleet[:], r.Bytes("fleet", len(s.Fleet), len(s.Fleet)))
	}
	r.Text(&s.Member, r.Must(snapMember, "member"), "member", MaxName)
	r.Text(&s.Build, r.Must(snapBuild, "build"), "build", MaxName)
	st.Round = int(r.Uint64(snapRound, "round", maxRound))
	st.X = r.Floats(st.X, r.Must(snapX, "x"), "x", 1, MaxDim)
	dim := len(st.X)
	st.Grid = r.Ints(st.Grid, r.At(snapGrid), "grid", dim)
	st.Delta = r.Ints(st.Delta, r.At(snapDelta), "delta", dim)
	st.Mean = r.Floats(st.Mean, r.At(snapMean), "mean", dim, dim)
	st.Last = r.Floats(st.Last, r.At(snapLast), "last", 1, MaxDim)
	if r.Must(snapEdges, "edges") {
		// What follows has room for so many edges with a name and a z, which bounds what is allocated.
		n := r.Array("edges", len(r.B)/(8+4*dim))
		st.Edges, s.Peers = resized(st.Edges, n), resized(s.Peers, n)
		for i := 0; i < n && r.Err == nil; i++ {
			if readEdge(r, &st.Edges[i], &s.Peers[i], dim); r.Err != nil {
				r.Err = fmt.Errorf("edge %d: %w", i, r.Err)
			}
		}
	}
	st.Queries = int64(r.Uint64(snapQueries, "queries", math.MaxInt64))
	st.Failed = int64(r.Uint64(snapFailed, "failed", math.MaxInt64))
	s.Filter = r.OptionalBytes(s.Filter, snapFilter, "filter", maxFilter)
	r.Text(&s.Ledger, r.At(snapLedger), "ledger", maxLedger)
	s.Generation = uint16(r.OptionalUint64(snapGeneration, "generation", math.MaxUint16))
	st.Recovered = r.OptionalUint64(snapRecovered, "recovered", st.Round)
	if st.Recovered > 0 && s.Generation == 0 {
		r.Fail("recovered", "found %d, wanted none in generation 0", st.Recovered)
	}
	s.Signed = r.OptionalBytes(s.Signed, snapSigned, "signed", maxField)
	st.End = r.OptionalUint64(snapEnd, "end", maxRound)
	count(r, pairs, s.pairs())
	if len(r.B) > 0 {
		r.Fail("map", "found %d bytes after the last field, wanted none", len(r.B))
	}
}

// readEdge reads one element of the edges.
func readEdge(r *cbor.Reader, e *admm.EdgeState, p *Peer, dim int) {
	e.Peer = 0
	pairs := r.Map("map", edgeQuiet)
	r.Text(&p.Name, r.Must(edgePeer, "peer"), "peer", MaxName)
	e.Heard = int(r.Uint64(edgeHeard, "heard", maxRound))
	e.Z = r.Floats(e.Z, r.Must(edgeZ, "z"), "z", dim, dim)
	e.PeerZ = r.Floats(e.PeerZ, r.At(edgePeerZ), "peer z", dim, dim)
	e.Base = r.Ints(e.Base, r.At(edgeBase), "peer grid", dim)
	e.Generation = uint16(r.OptionalUint64(edgeGeneration, "generation", math.MaxUint16))
	p.Signed = r.OptionalBytes(p.Signed, edgeSigned, "signed", 2*maxField)
	e.Moved = r.Floats(e.Moved, r.At(edgeMoved), "moved", dim, dim)
	e.Cut = math.Float32frombits(uint32(r.OptionalUint64(edgeCut, "cut", maxCut)))
	e.Quarantine = r.OptionalUint64(edgeQuarantine, "quarantine", maxRound)
	e.Quiet = math.Float32frombits(uint32(r.OptionalUint64(edgeQuiet, "quiet", maxCut)))
	count(r, pairs, edgePairs(e, p))
}

// count compares the pairs that the head of a map tells of with the fields that were read.
func count(r *cbor.Reader, told, read int) {
	if told != read {
		r.Fail("map", "found %d pairs in its head, wanted the %d that follow", told, read)
	}
}

// resized returns n elements in v's storage if there is room, or nil for none.
func resized[T any](v []T, n int) []T {
	if n == 0 {
		return nil
	}
	return slices.Grow(v[:0], n)[:n]
}
