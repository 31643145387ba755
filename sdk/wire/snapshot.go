package wire

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// snapshotVersion is the only version of snapshots that this package writes and reads.
const snapshotVersion = 1

// Limits of a [Snapshot], in bytes.
const (
	maxFilter = 64 << 10
	maxLedger = 256
	// MaxFailure limits Failure.
	MaxFailure = 2 << 10
)

// Snapshot is the durable state of a node after a release: its owner, and everything that determines the bits of the
// next round. All floats are finite. Vectors of State that are not computed are nil; all other vectors, except Last,
// have the length of X.
type Snapshot struct {
	Fleet  [32]byte // SHA-256 of the fleet file's canonical form
	Member string   // owner of the state: 1 to 64 bytes of UTF-8
	Build  string   // version of the arithmetic that computed the state: 1 to 64 bytes of UTF-8

	// State is the machine's state. Its edges store no neighbor numbers: Peers has the names instead, and
	// DecodeSnapshot sets the numbers to 0. State.X has 1..MaxDim coordinates, State.Last up to MaxDim.
	State admm.State
	Peers []Peer // peers of the edges of State, in the same order; nil if there are none

	Filter []byte // state of the privacy filter, up to 64 KiB, opaque; nil if there is none
	Ledger string // head of the lifetime ledger, up to 256 bytes, opaque; "" if there is none
	Signed []byte // signed last release, up to maxField bytes, opaque; nil if it was not signed
	// Failure says why the last failed query had no loss: up to 2 KiB, opaque; nil if no query failed. The caller
	// pads it, so that all snapshots of a run have the same length.
	Failure []byte

	Data Data // the data to which State.Last belongs
}

// FailureText returns Failure without its padding.
func (s *Snapshot) FailureText() string { return strings.TrimRight(string(s.Failure), "\x00") }

// Data identifies a node's data without revealing anything about it to a reader who lacks Key.
type Data struct {
	Key     [32]byte // random; the same in all snapshots of a run, and in no file but these
	Digest  [32]byte // of the data, under Key; zero if unknown
	Changed []int32  // the releases before which the data changed, up to [MaxChanged]; nil if there are none
}

// String says in words before which releases the data changed. It returns "" if there are none.
func (d Data) String() string {
	if len(d.Changed) == 0 {
		return ""
	}
	text, more := "the data changed before release", ""
	if d.Digest == [32]byte{} {
		text = "the data, which the oracle does not identify, may have changed before release"
	}
	if len(d.Changed) > 1 {
		text += "s"
	}
	if len(d.Changed) == MaxChanged {
		more = " (and perhaps between the last two of these)"
	}
	return text + " " + strings.ReplaceAll(strings.Trim(fmt.Sprint(d.Changed), "[]"), " ", ", ") + more
}

// MaxChanged is the maximum length of [Data].Changed.
const MaxChanged = 256

// Peer is what a [Snapshot] holds about a neighbor in addition to the machine's state.
type Peer struct {
	Name   string // 1 to 64 bytes of UTF-8
	Signed []byte // its latest signed releases that this node received, up to 2*maxField bytes, opaque; nil for none
}

// snapshot is the encoded form of a [Snapshot]. Every field is always present, so the length of the encoding depends
// only on the lengths of the vectors and strings.
type snapshot struct {
	Version wide       `cbor:"1,keyasint"`
	Fleet   []byte     `cbor:"2,keyasint"`
	Member  string     `cbor:"3,keyasint"`
	Build   string     `cbor:"4,keyasint"`
	Round   wide       `cbor:"5,keyasint"`
	X       floats     `cbor:"6,keyasint"`
	Grid    integers   `cbor:"7,keyasint"`
	Delta   integers   `cbor:"8,keyasint"`
	Last    floats     `cbor:"9,keyasint"`
	Edges   []neighbor `cbor:"10,keyasint"`
	Queries wide       `cbor:"11,keyasint"`
	Failed  wide       `cbor:"12,keyasint"`
	Filter  []byte     `cbor:"13,keyasint"`
	Ledger  string     `cbor:"14,keyasint"`
	Signed  []byte     `cbor:"15,keyasint"`
	Failure []byte     `cbor:"16,keyasint"`
	Key     []byte     `cbor:"17,keyasint"`
	Digest  []byte     `cbor:"18,keyasint"`
	Changed integers   `cbor:"19,keyasint"`
}

// neighbor is the encoded form of an edge and its [Peer].
type neighbor struct {
	Peer       string   `cbor:"1,keyasint"`
	Heard      wide     `cbor:"2,keyasint"`
	Z          floats   `cbor:"3,keyasint"`
	PeerZ      floats   `cbor:"4,keyasint"`
	Base       integers `cbor:"5,keyasint"`
	Signed     []byte   `cbor:"6,keyasint"`
	Quarantine wide     `cbor:"7,keyasint"`
	Flow       floats   `cbor:"8,keyasint"`
}

// Bounds on the size of a snapshot in bytes, without the numbers in its vectors.
const (
	arrayBytes  = 1 + 5                                                        // key and head of a vector
	nameBytes   = 1 + 2 + MaxName                                              // key, head and text
	signedBytes = 1 + 3 + maxField                                             // key, head and signed bytes
	edgeBytes   = 1 + nameBytes + 2*10 + 4*arrayBytes + signedBytes + maxField // map, name, numbers, vectors, signed
	fixedBytes  = 1 + 3*(1+2+32) + 2*nameBytes +                               // map, fleet, key, digest, member and build
		4*arrayBytes + (1 + 5) + 4*10 + // vectors, head of the edges, numbers
		(1 + 3 + 4*MaxChanged) + (1 + 3 + MaxFailure) + // changed and failure
		(1 + 5 + maxFilter) + (1 + 3 + maxLedger) + signedBytes
)

// MaxSnapshot returns an upper bound on the length, in bytes, of a snapshot with dim coordinates, the given number of
// edges, and a vector Last for the given number of samples. dim and samples must be in 0..MaxDim. MaxSnapshot returns
// the largest int if the bound overflows.
func MaxSnapshot(dim, edges, samples int) int {
	vectors := 3*uint64(dim) + uint64(samples) // numbers in vectors
	most := fixedBytes + 4*vectors + uint64(edges)*(edgeBytes+16*uint64(dim))
	return int(min(most, math.MaxInt))
}

// AppendSnapshot appends the encoding of s to dst and returns the extended slice: at most [MaxSnapshot] bytes, and
// equally many for all snapshots with fields of the same lengths. AppendSnapshot allocates only if dst is too small.
// The error names the field that is out of range; dst is then returned unchanged.
func AppendSnapshot(dst []byte, s *Snapshot) ([]byte, error) {
	st := &s.State
	if len(s.Peers) != len(st.Edges) {
		return dst, fmt.Errorf("wire: snapshot: peers: found %d, wanted %d", len(s.Peers), len(st.Edges))
	}
	e := snapshot{Version: snapshotVersion, Fleet: s.Fleet[:], Member: s.Member, Build: s.Build, Round: wide(st.Round),
		X: st.X, Grid: st.Grid, Delta: st.Delta, Last: st.Last, Queries: wide(st.Queries),
		Failed: wide(st.Failed), Filter: s.Filter, Ledger: s.Ledger, Signed: s.Signed, Failure: s.Failure,
		Key: s.Data.Key[:], Digest: s.Data.Digest[:], Changed: s.Data.Changed}
	for i, n := range st.Edges {
		p := s.Peers[i]
		e.Edges = append(e.Edges, neighbor{Peer: p.Name, Heard: wide(n.Heard), Z: n.Z, PeerZ: n.PeerZ, Base: n.Base,
			Signed: p.Signed, Quarantine: wide(n.Quarantine), Flow: n.Flow})
	}
	if err := e.check(); err != nil {
		return dst, fmt.Errorf("wire: snapshot: %w", err)
	}
	return appendItem(dst, &e)
}

// limits holds a number, its name in errors, and the least and the greatest value that the number may have.
type limits struct {
	name      string
	n, lo, hi int64
}

func checkLimits(list []limits) (err error) {
	for _, l := range list {
		if l.n < l.lo || l.n > l.hi {
			err = errors.Join(err, fmt.Errorf("%s: found %d, wanted %d..%d", l.name, l.n, l.lo, l.hi))
		}
	}
	return err
}

// absentOr returns the limits for the length of a vector that is absent or has dim coordinates.
func absentOr(name string, n, dim int) limits {
	if n == 0 {
		dim = 0
	}
	return limits{name, int64(n), int64(dim), int64(dim)}
}

func (e *snapshot) check() error {
	dim := len(e.X)
	var ledger, edges error
	if !utf8.ValidString(e.Ledger) {
		ledger = fmt.Errorf("ledger: found %q, wanted valid UTF-8", e.Ledger)
	}
	for i := range e.Edges {
		if err := e.Edges[i].check(dim); err != nil {
			edges = errors.Join(edges, fmt.Errorf("edge %d: %w", i, err))
		}
	}
	return errors.Join(checkName("member", e.Member), checkName("build", e.Build), checkLimits([]limits{
		{"version", int64(e.Version), snapshotVersion, snapshotVersion},
		{"length of fleet", int64(len(e.Fleet)), 32, 32},
		{"length of key", int64(len(e.Key)), 32, 32},
		{"length of digest", int64(len(e.Digest)), 32, 32},
		{"length of changed", int64(len(e.Changed)), 0, MaxChanged},
		{"round", int64(e.Round), 0, maxRound},
		{"length of x", int64(dim), 1, MaxDim},
		{"length of last", int64(len(e.Last)), 0, MaxDim},
		{"queries", int64(e.Queries), 0, math.MaxInt64},
		{"failed", int64(e.Failed), 0, math.MaxInt64},
		{"length of filter", int64(len(e.Filter)), 0, maxFilter},
		{"length of ledger", int64(len(e.Ledger)), 0, maxLedger},
		{"length of signed", int64(len(e.Signed)), 0, maxField},
		{"length of failure", int64(len(e.Failure)), 0, MaxFailure},
		absentOr("length of grid", len(e.Grid), dim), absentOr("length of delta", len(e.Delta), dim),
	}), ledger, checkFinite("x", e.X), checkFinite("last", e.Last), edges)
}

func (n *neighbor) check(dim int) error {
	return errors.Join(checkName("peer", n.Peer), checkLimits([]limits{
		{"heard", int64(n.Heard), 0, maxRound},
		{"length of z", int64(len(n.Z)), int64(dim), int64(dim)},
		{"length of signed", int64(len(n.Signed)), 0, 2 * maxField},
		absentOr("length of peer z", len(n.PeerZ), dim), absentOr("length of peer grid", len(n.Base), dim),
		absentOr("length of flow", len(n.Flow), dim),
		{"quarantine", int64(n.Quarantine), 0, maxRound},
	}), checkFinite("z", n.Z), checkFinite("peer z", n.PeerZ), checkFinite("flow", n.Flow))
}

// DecodeSnapshot decodes a snapshot into s. It accepts only bytes that [AppendSnapshot] writes. Missing parts are nil.
// DecodeSnapshot keeps no reference to b. The error names the wrong field, the value found and the value wanted; s is
// then undefined.
func DecodeSnapshot(b []byte, s *Snapshot) error {
	var e snapshot
	err := decodeItem(b, &e)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return fmt.Errorf("wire: snapshot: %w", err)
	}
	*s = e.decoded()
	return nil
}

// decoded converts e, which must have been checked, to a Snapshot.
func (e *snapshot) decoded() Snapshot {
	s := Snapshot{Fleet: [32]byte(e.Fleet), Member: e.Member, Build: e.Build,
		Filter: present(e.Filter), Ledger: e.Ledger, Signed: present(e.Signed), Failure: present(e.Failure),
		Data: Data{[32]byte(e.Key), [32]byte(e.Digest), e.Changed}, State: admm.State{Round: int(e.Round),
			X: e.X, Grid: e.Grid, Delta: e.Delta, Last: e.Last, Queries: int64(e.Queries),
			Failed: int64(e.Failed)}}
	for _, n := range e.Edges {
		s.Peers = append(s.Peers, Peer{Name: n.Peer, Signed: present(n.Signed)})
		s.State.Edges = append(s.State.Edges, admm.EdgeState{Heard: int(n.Heard), Z: n.Z, PeerZ: n.PeerZ, Base: n.Base,
			Quarantine: int(n.Quarantine), Flow: n.Flow})
	}
	return s
}

// present returns b, or nil if it is empty.
func present(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
