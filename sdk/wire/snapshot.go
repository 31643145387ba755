package wire

import (
	"fmt"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// snapshotVersion is the only version of snapshots that this package writes and reads.
const snapshotVersion = 1

// Limits in bytes, on which [MaxSnapshot] relies.
const (
	maxLedger = 256
	// MaxFailure limits [Snapshot].Failure.
	MaxFailure = 2 << 10
)

// Snapshot is the durable state of a node after a release: its owner, and everything that determines the bits of the
// next round. Vectors of State that are not computed are nil; all other vectors, except Last, have the length of X.
type Snapshot struct {
	Fleet  [32]byte `cbor:"2,keyasint"` // SHA-256 of the fleet file's canonical form
	Member string   `cbor:"3,keyasint"` // owner of the state, up to MaxName bytes
	Build  string   `cbor:"4,keyasint"` // version of the arithmetic that computed the state, up to MaxName bytes

	// State is the machine's state. Its edges store no neighbor numbers: Peers has the names instead, and
	// DecodeSnapshot sets the numbers to 0.
	State admm.State `cbor:"-"`
	Peers []Peer     `cbor:"-"` // peers of the edges of State, in the same order; nil if there are none

	Ledger string `cbor:"13,keyasint"` // head of the lifetime ledger, up to 256 bytes, opaque; empty without a ledger
	Signed []byte `cbor:"14,keyasint"` // signed last release, up to maxField bytes, opaque; empty if it was not signed
	// Failure says why the last failed query had no loss: up to 2 KiB, opaque; empty if no query failed. The caller
	// pads it, so that all snapshots of a run have the same length.
	Failure []byte `cbor:"15,keyasint"`

	Data Data `cbor:"-"` // the data to which State.Last belongs
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
	Name   string // up to MaxName bytes of UTF-8
	Signed []byte // its latest signed releases that this node received, up to 2*maxField bytes, opaque; empty for none
}

// snapshot is the encoded form of a [Snapshot]. Every field is always present, so the length of the encoding depends
// only on the lengths of the vectors and strings.
type snapshot struct {
	Version wide `cbor:"1,keyasint"`
	*Snapshot
	Round   wide       `cbor:"5,keyasint"`
	X       floats     `cbor:"6,keyasint"`
	Grid    integers   `cbor:"7,keyasint"`
	Delta   integers   `cbor:"8,keyasint"`
	Last    floats     `cbor:"9,keyasint"`
	Edges   []neighbor `cbor:"10,keyasint"`
	Queries wide       `cbor:"11,keyasint"`
	Failed  wide       `cbor:"12,keyasint"`
	Key     [32]byte   `cbor:"16,keyasint"`
	Digest  [32]byte   `cbor:"17,keyasint"`
	Changed integers   `cbor:"18,keyasint"`
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
		(1 + 3 + maxLedger) + signedBytes
)

// MaxSnapshot returns an upper bound on the length, in bytes, of a snapshot with dim coordinates, the given number of
// edges, and a vector Last for the given number of samples. dim and samples must be in 0..MaxDim. MaxSnapshot returns
// the largest int if the bound overflows.
func MaxSnapshot(dim, edges, samples int) int {
	vectors := 3*uint64(dim) + uint64(samples) // numbers in vectors
	most := fixedBytes + 4*vectors + uint64(edges)*(edgeBytes+16*uint64(dim))
	return int(min(most, math.MaxInt))
}

// AppendSnapshot appends the encoding of s to dst and returns the extended slice: at most [MaxSnapshot] bytes if s is
// within the limits of its fields, and equally many for all snapshots with fields of the same lengths. AppendSnapshot
// fails only if the numbers of edges and peers differ; it then returns dst unchanged. So no number that a node has
// computed from data decides whether its state can be stored.
func AppendSnapshot(dst []byte, s *Snapshot) ([]byte, error) {
	st := &s.State
	if len(s.Peers) != len(st.Edges) {
		return dst, fmt.Errorf("wire: snapshot: peers: found %d, wanted %d", len(s.Peers), len(st.Edges))
	}
	b := new([]byte) // the scratch space of all vectors
	e := snapshot{Version: snapshotVersion, Snapshot: s, Round: wide(st.Round), X: floats{st.X, b}, Grid: integers{st.Grid, b},
		Delta: integers{st.Delta, b}, Last: floats{st.Last, b}, Queries: wide(st.Queries), Failed: wide(st.Failed),
		Key: s.Data.Key, Digest: s.Data.Digest, Changed: integers{s.Data.Changed, b}}
	for i, n := range st.Edges {
		p := s.Peers[i]
		e.Edges = append(e.Edges, neighbor{Peer: p.Name, Heard: wide(n.Heard), Z: floats{n.Z, b}, PeerZ: floats{n.PeerZ, b},
			Base: integers{n.Base, b}, Signed: p.Signed, Quarantine: wide(n.Quarantine), Flow: floats{n.Flow, b}})
	}
	return appendItem(dst, &e)
}

// DecodeSnapshot decodes a snapshot into s. It accepts only bytes that [AppendSnapshot] writes. It does not
// check the numbers: package state stores snapshots with a SHA-256, and [admm.Restore] checks what a machine needs.
// Missing vectors are nil. DecodeSnapshot keeps no reference to b. After an error s is undefined.
func DecodeSnapshot(b []byte, s *Snapshot) error {
	*s = Snapshot{}
	e := snapshot{Snapshot: s}
	err := decodeItem(b, &e)
	if err == nil && e.Version != snapshotVersion {
		err = fmt.Errorf("version: found %d, wanted %d", e.Version, snapshotVersion)
	}
	if err != nil {
		return fmt.Errorf("wire: snapshot: %w", err)
	}
	s.Data = Data{e.Key, e.Digest, e.Changed.list}
	s.State = admm.State{Round: int(e.Round), X: e.X.list, Grid: e.Grid.list, Delta: e.Delta.list, Last: e.Last.list,
		Queries: int64(e.Queries), Failed: int64(e.Failed)}
	for _, n := range e.Edges {
		s.Peers = append(s.Peers, Peer{Name: n.Peer, Signed: n.Signed})
		s.State.Edges = append(s.State.Edges, admm.EdgeState{Heard: int(n.Heard), Z: n.Z.list, PeerZ: n.PeerZ.list,
			Base: n.Base.list, Quarantine: int(n.Quarantine), Flow: n.Flow.list})
	}
	return nil
}
