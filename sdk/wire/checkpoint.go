package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// CheckpointVersion is the version of checkpoints that this package writes and the only one it reads.
const CheckpointVersion = 1

// Limits of a [Checkpoint], in bytes.
const (
	MaxFilter = 64 << 10 // of Filter
	MaxLedger = 256      // of Ledger
)

// Checkpoint is the durable state of a node after a number of releases: what the next round's bits depend on, and what
// says whose state it is. All floats are finite. Vectors that are not kept are nil; the others have the length of X,
// but for Last.
type Checkpoint struct {
	Fleet  [32]byte // SHA-256 of the fleet file's canonical form
	Member string   // whose state it is: 1 to 64 bytes of UTF-8
	Build  string   // version of the arithmetic that made it, likewise
	Round  int      // releases made, 0..MaxRound

	X     []float32 // the last release, or the common start: 1..MaxDim coordinates
	Grid  []int32   // its place on the run's grid; nil in a run without one
	Delta []int32   // the change of the last release, as it was sent; nil without one
	Mean  []float32 // running mean of the releases; nil if not kept
	Last  []float32 // the last loss of each sample, for centered queries: up to MaxDim; nil if not kept

	Edges []CheckpointEdge // in the order of the neighbors' numbers; nil if there are none

	Queries int64  // queries answered so far, from 0 on
	Failed  int64  // those of them that failed for good, from 0 on
	Filter  []byte // state of the privacy filter, up to MaxFilter bytes, not looked at here; nil if there is none
	Ledger  string // head of the lifetime ledger, up to MaxLedger bytes, not looked at here; "" if there is none

	Device    int // how many devices of this name were lost before this one, 0..MaxDevice
	Recovered int // the release after which this device took over, 0..Round; 0 if none was lost before

	Signed []byte // what was signed of the last release, up to MaxSigned bytes, not looked at here; nil if nothing was
}

// MaxDevice is the highest number of a device: it is the upper quarter of the life that a [Hail] tells of.
const MaxDevice = 1<<16 - 1

// CheckpointEdge is what a [Checkpoint] holds of one neighbor.
type CheckpointEdge struct {
	Peer     string    // its name: 1 to 64 bytes of UTF-8
	Heard    int       // the highest of its releases that was ever here, 0..MaxRound
	Z        []float32 // z_ij, this node's variable of the edge
	PeerZ    []float32 // z_ji, the neighbor's; nil in a run that sends messages
	PeerGrid []int32   // place of the neighbor's last release on the run's grid; nil without one
	Device   int       // how many devices of the neighbor's name were lost before its present one, 0..MaxDevice
	Signed   []byte    // its latest signed releases that were ever here, up to 2*MaxSigned bytes, not looked at; nil for none
}

// Keys of a checkpoint's map and of an edge's, in the order in which they are written and must be read.
const (
	cpVersion = 1 + iota
	cpFleet
	cpMember
	cpBuild
	cpRound
	cpX
	cpGrid
	cpDelta
	cpMean
	cpLast
	cpEdges
	cpQueries
	cpFailed
	cpFilter
	cpLedger
	cpDevice
	cpRecovered
	cpSigned
)

const (
	edgePeer = 1 + iota
	edgeHeard
	edgeZ
	edgePeerZ
	edgePeerGrid
	edgeDevice
	edgeSigned
)

// Bounds of the bytes of a checkpoint that are not numbers of a vector.
const (
	arrayBytes  = 1 + 2 + 5                                                     // key and heads of a typed array
	nameBytes   = 1 + 2 + maxName                                               // key, head and text
	signedBytes = 1 + 3 + MaxSigned                                             // key, head and what was signed
	edgeBytes   = 1 + nameBytes + 2*10 + 3*arrayBytes + signedBytes + MaxSigned // map, name, heard, device, vectors
	fixedBytes  = 1 + 2 + (1 + 2 + 32) + 2*nameBytes +                          // map, version, fleet, member and build
		5*arrayBytes + (1 + 5) + 5*10 + // vectors, head of the edges, numbers
		(1 + 5 + MaxFilter) + (1 + 3 + MaxLedger) + signedBytes
)

// MaxCheckpoint returns an upper bound, in bytes, of every checkpoint of dim coordinates with so many edges and so many
// numbers in Last. It makes sense for dim and samples in 0..MaxDim and edges from 0 on; a bound that an int cannot hold
// comes out as the highest int.
func MaxCheckpoint(dim, edges, samples int) int {
	vectors := 4*uint64(dim) + uint64(samples) // numbers
	most := fixedBytes + 4*vectors + uint64(edges)*(edgeBytes+12*uint64(dim))
	return int(min(most, math.MaxInt))
}

// AppendCheckpoint appends the encoding of c to dst and returns the extended slice. It appends at most [MaxCheckpoint]
// bytes, as many for all checkpoints that have the same fields of the same lengths, and allocates no space for them if
// dst has that much to spare. The error names what is outside its limits; dst is then returned as it came.
func AppendCheckpoint(dst []byte, c *Checkpoint) ([]byte, error) {
	if err := c.check(); err != nil {
		return dst, fmt.Errorf("wire: checkpoint: %w", err)
	}
	w := mapWriter{edge: -1, b: slices.Grow(dst, c.bound())}
	w.b = append(appendHead(w.b, majorMap, c.pairs()), cpVersion, CheckpointVersion)
	w.bytes(cpFleet, c.Fleet[:])
	w.text(cpMember, c.Member)
	w.text(cpBuild, c.Build)
	w.number(cpRound, uint64(c.Round))
	w.floats(cpX, "x", c.X)
	w.ints(cpGrid, c.Grid)
	w.ints(cpDelta, c.Delta)
	w.floats(cpMean, "mean", c.Mean)
	w.floats(cpLast, "last", c.Last)
	w.b = appendHead(append(w.b, cpEdges), majorArray, uint64(len(c.Edges)))
	for i := range c.Edges {
		e := &c.Edges[i]
		w.edge = i
		w.b = appendHead(w.b, majorMap, e.pairs())
		w.text(edgePeer, e.Peer)
		w.number(edgeHeard, uint64(e.Heard))
		w.floats(edgeZ, "z", e.Z)
		w.floats(edgePeerZ, "peer z", e.PeerZ)
		w.ints(edgePeerGrid, e.PeerGrid)
		if e.Device > 0 {
			w.number(edgeDevice, uint64(e.Device))
		}
		w.bytes(edgeSigned, e.Signed)
	}
	w.edge = -1
	w.number(cpQueries, uint64(c.Queries))
	w.number(cpFailed, uint64(c.Failed))
	w.bytes(cpFilter, c.Filter)
	w.text(cpLedger, c.Ledger)
	if c.Device > 0 {
		w.number(cpDevice, uint64(c.Device))
	}
	if c.Recovered > 0 {
		w.number(cpRecovered, uint64(c.Recovered))
	}
	w.bytes(cpSigned, c.Signed)
	if w.err != nil {
		return dst, fmt.Errorf("wire: checkpoint: %w", w.err)
	}
	return w.b, nil
}

// check reports what of c is outside its limits, but for floats that are not finite, which are found while they are
// written.
func (c *Checkpoint) check() error {
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	dim := len(c.X)
	length := func(name string, n int) {
		if n != 0 && n != dim {
			add(fmt.Errorf("%s: found %d coordinates, wanted %d as in x", name, n, dim))
		}
	}
	add(checkName("member", c.Member))
	add(checkName("build", c.Build))
	if c.Round < 0 || c.Round > MaxRound {
		add(fmt.Errorf("round: found %d, wanted 0..%d", c.Round, MaxRound))
	}
	if dim < 1 || dim > MaxDim {
		add(fmt.Errorf("x: found %d coordinates, wanted 1..%d", dim, MaxDim))
	}
	length("grid", len(c.Grid))
	length("delta", len(c.Delta))
	length("mean", len(c.Mean))
	if len(c.Last) > MaxDim {
		add(fmt.Errorf("last: found %d numbers, wanted at most %d", len(c.Last), MaxDim))
	}
	for i := range c.Edges {
		if err := c.Edges[i].check(dim); err != nil {
			add(fmt.Errorf("edge %d: %w", i, err))
		}
	}
	if c.Queries < 0 {
		add(fmt.Errorf("queries: found %d, wanted 0 or more", c.Queries))
	}
	if c.Failed < 0 {
		add(fmt.Errorf("failed: found %d, wanted 0 or more", c.Failed))
	}
	if len(c.Filter) > MaxFilter {
		add(fmt.Errorf("filter: found %d bytes, wanted at most %d", len(c.Filter), MaxFilter))
	}
	add(checkLedger(c.Ledger))
	if c.Device < 0 || c.Device > MaxDevice {
		add(fmt.Errorf("device: found %d, wanted 0..%d", c.Device, MaxDevice))
	}
	if c.Recovered < 0 || c.Recovered > max(0, c.Round) || c.Recovered > 0 && c.Device == 0 {
		add(fmt.Errorf("recovered: found %d with device %d and round %d, wanted 0..round, and 0 for device 0", c.Recovered, c.Device, c.Round))
	}
	add(checkSigned(c.Signed, MaxSigned))
	return errors.Join(errs...)
}

// check reports the first thing of an edge that is outside its limits.
func (e *CheckpointEdge) check(dim int) error {
	if err := checkName("peer", e.Peer); err != nil {
		return err
	}
	if e.Heard < 0 || e.Heard > MaxRound {
		return fmt.Errorf("heard: found %d, wanted 0..%d", e.Heard, MaxRound)
	}
	if e.Device < 0 || e.Device > MaxDevice {
		return fmt.Errorf("device: found %d, wanted 0..%d", e.Device, MaxDevice)
	}
	if err := checkSigned(e.Signed, 2*MaxSigned); err != nil {
		return err
	}
	wrong := func(n int) bool { return n != 0 && n != dim }
	name, n := "", 0
	switch {
	case len(e.Z) != dim:
		name, n = "z", len(e.Z)
	case wrong(len(e.PeerZ)):
		name, n = "peer z", len(e.PeerZ)
	case wrong(len(e.PeerGrid)):
		name, n = "peer grid", len(e.PeerGrid)
	default:
		return nil
	}
	return fmt.Errorf("%s: found %d coordinates, wanted %d as in x", name, n, dim)
}

// checkSigned reports what was signed outside its limits.
func checkSigned(b []byte, most int) error {
	if len(b) > most {
		return fmt.Errorf("signed: found %d bytes, wanted at most %d", len(b), most)
	}
	return nil
}

// checkLedger reports a ledger's head outside its limits.
func checkLedger(s string) error {
	switch {
	case len(s) > MaxLedger:
		return fmt.Errorf("ledger: found %d bytes, wanted at most %d", len(s), MaxLedger)
	case !utf8.ValidString(s):
		return fmt.Errorf("ledger: found %q, wanted valid UTF-8", s)
	}
	return nil
}

// bound is MaxCheckpoint for the vectors that c has and the filter that it has.
func (c *Checkpoint) bound() int {
	n := len(c.X) + len(c.Grid) + len(c.Delta) + len(c.Mean) + len(c.Last)
	for i := range c.Edges {
		e := &c.Edges[i]
		n += len(e.Z) + len(e.PeerZ) + len(e.PeerGrid)
	}
	return fixedBytes - MaxFilter + len(c.Filter) + len(c.Edges)*edgeBytes + 4*n
}

// pairs returns how many fields c has that are not empty.
func (c *Checkpoint) pairs() uint64 {
	return 9 + filled(len(c.Grid), len(c.Delta), len(c.Mean), len(c.Last), len(c.Filter), len(c.Ledger), c.Device, c.Recovered, len(c.Signed))
}

func (e *CheckpointEdge) pairs() uint64 {
	return 3 + filled(len(e.PeerZ), len(e.PeerGrid), e.Device, len(e.Signed))
}

// filled counts the lengths above 0.
func filled(lengths ...int) (n uint64) {
	for _, l := range lengths {
		if l > 0 {
			n++
		}
	}
	return n
}

// DecodeCheckpoint reads a checkpoint into c, as strictly as can be: what it takes, [AppendCheckpoint] gives back byte
// for byte. It uses the storage of c's slices if there is room, and sets to nil those that the checkpoint does not have.
// It keeps nothing of b, and allocates no more than a small multiple of its length. The error says which is the first
// field that is wrong, what was found and what was wanted; c then holds nothing of use.
func DecodeCheckpoint(b []byte, c *Checkpoint) error {
	r := mapReader{b: b, edge: -1}
	r.checkpoint(c)
	if r.err != nil {
		return fmt.Errorf("wire: checkpoint: %w", r.err)
	}
	return nil
}

// checkpoint reads the whole of a checkpoint.
func (r *mapReader) checkpoint(c *Checkpoint) {
	pairs := r.head("map", majorMap, cpSigned)
	if r.must(cpVersion, "version") {
		if version := r.head("version", majorUint, math.MaxUint64); r.err == nil && version != CheckpointVersion {
			r.fail("version", "found %d, wanted %d", version, CheckpointVersion)
		}
	}
	if r.must(cpFleet, "fleet") {
		copy(c.Fleet[:], r.bytes("fleet", majorBytes, len(c.Fleet), len(c.Fleet)))
	}
	r.name(&c.Member, cpMember, "member")
	r.name(&c.Build, cpBuild, "build")
	c.Round = int(r.number(cpRound, "round", MaxRound))
	c.X = r.floats(c.X, r.must(cpX, "x"), "x", 1, MaxDim)
	dim := len(c.X)
	c.Grid = r.ints(c.Grid, r.at(cpGrid), "grid", dim)
	c.Delta = r.ints(c.Delta, r.at(cpDelta), "delta", dim)
	c.Mean = r.floats(c.Mean, r.at(cpMean), "mean", dim, dim)
	c.Last = r.floats(c.Last, r.at(cpLast), "last", 1, MaxDim)
	if r.must(cpEdges, "edges") {
		// What follows has room for so many edges with a name and a z, which bounds what is allocated.
		n := int(r.head("edges", majorArray, uint64(len(r.b)/(8+4*dim))))
		edges := slices.Grow(c.Edges[:0], n)[:n]
		if c.Edges = nil; n > 0 {
			c.Edges = edges
		}
		for r.edge = 0; r.edge < n && r.err == nil; r.edge++ {
			r.oneEdge(&c.Edges[r.edge], dim)
		}
		r.edge = -1
	}
	c.Queries = int64(r.number(cpQueries, "queries", math.MaxInt64))
	c.Failed = int64(r.number(cpFailed, "failed", math.MaxInt64))
	filter, ledger := c.Filter[:0], []byte(nil)
	if c.Filter = nil; r.at(cpFilter) {
		c.Filter = append(filter, r.bytes("filter", majorBytes, 1, MaxFilter)...)
	}
	if r.at(cpLedger) {
		ledger = r.bytes("ledger", majorText, 1, MaxLedger)
	}
	if setString(&c.Ledger, ledger); !utf8.ValidString(c.Ledger) {
		r.fail("ledger", "found %q, wanted valid UTF-8", c.Ledger)
	}
	c.Device = r.optional(cpDevice, "device", MaxDevice)
	c.Recovered = r.optional(cpRecovered, "recovered", c.Round)
	if r.err == nil && c.Recovered > 0 && c.Device == 0 {
		r.fail("recovered", "found %d, wanted none without a device", c.Recovered)
	}
	c.Signed = r.blob(c.Signed, cpSigned, "signed", MaxSigned)
	r.count(pairs, c.pairs())
	if r.err == nil && len(r.b) > 0 {
		r.fail("map", "found %d bytes after the last field, wanted none", len(r.b))
	}
}

// oneEdge reads one element of the edges.
func (r *mapReader) oneEdge(e *CheckpointEdge, dim int) {
	pairs := r.head("map", majorMap, edgeSigned)
	r.name(&e.Peer, edgePeer, "peer")
	e.Heard = int(r.number(edgeHeard, "heard", MaxRound))
	e.Z = r.floats(e.Z, r.must(edgeZ, "z"), "z", dim, dim)
	e.PeerZ = r.floats(e.PeerZ, r.at(edgePeerZ), "peer z", dim, dim)
	e.PeerGrid = r.ints(e.PeerGrid, r.at(edgePeerGrid), "peer grid", dim)
	e.Device = r.optional(edgeDevice, "device", MaxDevice)
	e.Signed = r.blob(e.Signed, edgeSigned, "signed", 2*MaxSigned)
	r.count(pairs, e.pairs())
}
