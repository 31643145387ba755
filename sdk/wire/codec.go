package wire

import (
	"bytes"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// frameVersion is the only version of frames that this package writes and reads.
const frameVersion = 1

// Protocol is the version of the protocol between nodes, sent in each [Hello]. Version 2 requires that nodes sign their
// releases and prove what they claim about other nodes' releases.
const Protocol = 2

// Heartbeat is the frame that a node sends if it has no other message: an empty CBOR map. Do not modify the slice.
var Heartbeat = []byte{0xa0}

// IsHeartbeat reports whether a frame is a [Heartbeat].
func IsHeartbeat(frame []byte) bool { return bytes.Equal(frame, Heartbeat) }

const maxRound = math.MaxInt32

// MaxDim is the highest dimension of a [Codec]. A frame of this dimension takes up to 1 GiB.
const MaxDim = 1 << 28

// maxField is the largest length, in bytes, of each of the fields Own, Proof and Countersign of [admm.Signed].
// maxSigned is the largest total length of Own, Proof, Other and Countersign in one frame.
const (
	maxField  = 256
	maxOther  = signed.MaxEarlier * signed.EarlierSize
	maxSigned = 2*signed.Size + maxOther
)

// frameRoom is an upper bound, in bytes, on the size of a frame without the numbers of its vector or grid: the head of
// the map, then key and head of version, kind, round, resent, vector or grid, held, incarnation and four signed fields.
const frameRoom = 1 + 2 + 2 + 6 + 2 + 6 + 6 + 10 + 4*4 + maxSigned

// MaxFrame returns an upper bound on the length, in bytes, of every [Hello] and every frame of dimension dim in
// 1..MaxDim: four bytes for each coordinate, four for each block of 65,536 coordinates and 2197 for everything else.
func MaxFrame(dim int) int { return frameRoom + 4*dim + 4*(dim/blockSize+1) }

type frame struct {
	Version uint64  `cbor:"1,keyasint"`
	Kind    uint64  `cbor:"2,keyasint"`
	Round   uint64  `cbor:"3,keyasint"`
	Resent  bool    `cbor:"4,keyasint,omitempty"`
	Vector  []byte  `cbor:"5,keyasint,omitempty"`
	Grid    []byte  `cbor:"6,keyasint,omitempty"`
	Held    *uint64 `cbor:"7,keyasint,omitempty"`
	Device  *uint64 `cbor:"8,keyasint,omitempty"`
	statements
}

// statements is [admm.Signed] with the keys of its fields.
type statements struct {
	Own         []byte `cbor:"9,keyasint,omitempty"`
	Proof       []byte `cbor:"10,keyasint,omitempty"`
	Other       []byte `cbor:"11,keyasint,omitempty"`
	Countersign []byte `cbor:"12,keyasint,omitempty"`
}

// keys is a set of keys of a frame, with one bit for each.
type keys uint16

func keysOf(list ...int) (set keys) {
	for _, key := range list {
		set |= 1 << key
	}
	return set
}

func (set keys) has(key int) bool { return set>>key&1 != 0 }

// rules lists, by kind, the keys that a frame must have and those that it may have besides 1 to 3, as in FORMAT.md.
var rules = [...]struct{ must, may keys }{
	admm.Done:       {0, keysOf(4, 10, 12)},
	admm.Release:    {0, keysOf(4, 5, 6, 9)}, // and either 5 or 6
	admm.Probe:      {keysOf(7, 8), keysOf(9, 10, 11)},
	admm.Conflict:   {keysOf(10, 11), keysOf(4, 7, 9)},
	admm.ProbeReply: {keysOf(4, 7, 8), keysOf(9, 10, 11)},
}

// sent reports whether frames of a kind exist.
func sent(kind uint64) bool {
	return kind < uint64(len(rules)) && rules[kind].must|rules[kind].may != 0
}

// check returns an error if a field is out of range or not allowed in a frame of this kind.
func (f *frame) check(kind admm.Kind) error {
	if f.Round > maxRound {
		return fmt.Errorf("round: found %d, wanted at most %d", f.Round, maxRound)
	}
	for _, x := range [...]struct {
		key     int
		name    string
		there   bool
		n, most uint64 // the number and its maximum, or those of the bytes of a signed field
		unit    string
	}{
		{4, "resent", f.Resent, 0, 0, ""},
		{5, "vector", len(f.Vector) > 0, 0, 0, ""},
		{6, "grid", len(f.Grid) > 0, 0, 0, ""},
		{7, "held", f.Held != nil, valueOf(f.Held), maxRound, ""},
		{8, "incarnation", f.Device != nil, valueOf(f.Device), signed.MaxIncarnation, ""},
		{9, "own", len(f.Own) > 0, uint64(len(f.Own)), maxField, " bytes"},
		{10, "proof", len(f.Proof) > 0, uint64(len(f.Proof)), maxField, " bytes"},
		{11, "other", len(f.Other) > 0, uint64(len(f.Other)), uint64(maxOther), " bytes"},
		{12, "countersign", len(f.Countersign) > 0, uint64(len(f.Countersign)), maxField, " bytes"},
	} {
		must, may := rules[kind].must.has(x.key), rules[kind].may.has(x.key)
		switch {
		case x.there && !must && !may:
			return fmt.Errorf("%s: found in a frame of kind %s, wanted the field absent", x.name, kind)
		case must && !x.there:
			return fmt.Errorf("%s: not found, wanted in every frame of kind %s", x.name, kind)
		case x.n > x.most:
			return fmt.Errorf("%s: found %d%s, wanted at most %d", x.name, x.n, x.unit, x.most)
		}
	}
	if kind == admm.Release && (len(f.Vector) > 0) == (len(f.Grid) > 0) {
		return fmt.Errorf("vector: found %d bytes, and grid %d, wanted exactly one of the two fields", len(f.Vector), len(f.Grid))
	}
	if total := len(f.Own) + len(f.Proof) + len(f.Other) + len(f.Countersign); total > maxSigned {
		return fmt.Errorf("fields own, proof, other and countersign: found %d bytes in total, wanted at most %d", total, maxSigned)
	}
	return nil
}

// valueOf returns the number of an optional field, or 0 if the field is absent.
func valueOf(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// Codec encodes and decodes the frames of one run, all of one dimension, and holds the compression's work space. One
// goroutine may call Append while another goroutine calls Decode, but two goroutines must not call the same method at
// once.
type Codec struct {
	dim int
	enc packer
	dec unpacker
}

// NewCodec returns a codec for vectors of dim coordinates, dim in 1..MaxDim.
func NewCodec(dim int) (*Codec, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("wire: dimension: found %d, wanted 1..%d", dim, MaxDim)
	}
	return &Codec{dim: dim}, nil
}

// Append appends the encoding of m, without its From and To, to dst and returns the extended slice. The encoding takes
// at most [MaxFrame] bytes. Append allocates only if dst is too small, and keeps no reference to m. On error it returns
// dst unchanged.
func (c *Codec) Append(dst []byte, m *admm.Message) ([]byte, error) {
	var f frame
	if err := c.frame(&f, m); err != nil {
		return dst, err
	}
	return appendItem(dst, &f)
}

// frame converts a message to a frame and checks it. The frame's vector or grid is valid until the next call.
func (c *Codec) frame(f *frame, m *admm.Message) error {
	if err := c.fill(f, m); err != nil {
		return fmt.Errorf("wire: frame: %w", err)
	}
	return nil
}

func (c *Codec) fill(f *frame, m *admm.Message) error {
	switch {
	case !sent(uint64(m.Kind)):
		return fmt.Errorf("kind: found %d, wanted a known kind", m.Kind)
	case len(m.Vector) != 0 && len(m.Vector) != c.dim:
		return fmt.Errorf("vector: found %d coordinates, wanted %d", len(m.Vector), c.dim)
	case len(m.Grid) != 0 && len(m.Grid) != c.dim:
		return fmt.Errorf("grid: found %d coordinates, wanted %d", len(m.Grid), c.dim)
	}
	if err := checkFinite(m.Vector); err != nil {
		return err
	}
	*f = frame{Version: frameVersion, Kind: uint64(m.Kind), Round: uint64(m.Round), Resent: m.Resent, statements: statements(m.Signed)}
	if m.Kind == admm.ProbeReply {
		f.Kind, f.Resent = uint64(admm.Probe), true
	}
	must := rules[m.Kind].must
	if m.Held != 0 || must.has(7) {
		held := uint64(m.Held)
		f.Held = &held
	}
	if m.Incarnation != 0 || must.has(8) {
		f.Device = &m.Incarnation
	}
	f.Vector, f.Grid = c.enc.planes(m.Vector), c.enc.grid(m.Grid)
	return f.check(m.Kind)
}

// Decode decodes one frame into m and sets m.From and m.To to 0. It reuses the storage of m's vector and grid, empties
// fields that the frame lacks, and keeps no reference to b. The error names the wrong field, the value found and the
// value wanted; m is then undefined.
func (c *Codec) Decode(b []byte, m *admm.Message) error {
	if err := c.decode(b, m); err != nil {
		return fmt.Errorf("wire: frame: %w", err)
	}
	return nil
}

func (c *Codec) decode(b []byte, m *admm.Message) error {
	if most := MaxFrame(c.dim); len(b) > most {
		return fmt.Errorf("found %d bytes, wanted at most %d for dimension %d", len(b), most, c.dim)
	}
	var f frame
	if err := decodeItem(b, &f); err != nil {
		return err
	}
	if f.Version != frameVersion {
		return fmt.Errorf("version: found %d, wanted %d", f.Version, frameVersion)
	}
	kind := admm.Kind(f.Kind)
	switch {
	case !sent(f.Kind) || kind == admm.ProbeReply:
		return fmt.Errorf("kind: found %d, wanted a known kind", f.Kind)
	case kind == admm.Probe && f.Resent:
		kind = admm.ProbeReply
	}
	if err := f.check(kind); err != nil {
		return err
	}
	*m = admm.Message{Kind: kind, Round: int(f.Round), Resent: f.Resent && kind != admm.ProbeReply, Held: int(valueOf(f.Held)),
		Incarnation: valueOf(f.Device), Vector: m.Vector[:0], Grid: m.Grid[:0], Signed: admm.Signed(f.statements)}
	if len(f.Vector) > 0 {
		m.Vector = sized(m.Vector, c.dim)
		if err := c.dec.planes(m.Vector, f.Vector); err != nil {
			return fmt.Errorf("vector: %w", err)
		}
		return checkFinite(m.Vector)
	}
	if len(f.Grid) > 0 {
		m.Grid = sized(m.Grid, c.dim)
		if err := readGrid(m.Grid, f.Grid); err != nil {
			return fmt.Errorf("grid: %w", err)
		}
	}
	return nil
}
