package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Keys of a frame's map.
const (
	keyVersion = 1 + iota
	keyKind
	keyRound
	keyResent
	keyVector
	keyPlanes
)

// frameNames are the names of the keys in errors.
var frameNames = []string{keyVersion: "version", keyKind: "kind", keyRound: "round", keyResent: "resent",
	keyVector: "vector", keyPlanes: "planes"}

// frameFields is a frame's map before its values are looked at.
type frameFields struct {
	Version item `cbor:"1,keyasint"`
	Kind    item `cbor:"2,keyasint"`
	Round   item `cbor:"3,keyasint"`
	Resent  item `cbor:"4,keyasint"`
	Vector  item `cbor:"5,keyasint"`
	Planes  item `cbor:"6,keyasint"`
}

// tagFloat32LE marks a byte string as little-endian float32, RFC 8746 section 2.1.
const tagFloat32LE = 85

// Codec writes and reads the frames of one run, all of one dimension. It holds the work space of the compression, of
// the order of 200 KB. One goroutine may Append while another Decodes, but neither method is for two goroutines at
// once.
type Codec struct {
	dim int
	enc planeWriter
	dec planeReader
}

// NewCodec returns a codec for vectors of dim coordinates, dim in 1..MaxDim.
func NewCodec(dim int) (*Codec, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("wire: dimension: found %d, wanted 1..%d", dim, MaxDim)
	}
	return &Codec{dim: dim}, nil
}

// Append appends the encoding of f to dst and returns the extended slice. It appends at most [MaxFrame] bytes, and
// allocates no space for them if dst has that much to spare. It reads f.Vector only during the call. The error says
// what of f cannot be sent; dst is then returned as it came.
func (c *Codec) Append(dst []byte, f *Frame) ([]byte, error) {
	if err := c.check(f); err != nil {
		return dst, fmt.Errorf("wire: frame: %w", err)
	}
	pairs := uint64(3)
	if f.Resent {
		pairs++
	}
	if f.Kind == Message {
		pairs++
		dst = slices.Grow(dst, MaxFrame(c.dim))
	}
	dst = appendHead(dst, majorMap, pairs)
	dst = append(dst, keyVersion, Version, keyKind, byte(f.Kind), keyRound)
	dst = appendHead(dst, majorUint, uint64(f.Round))
	if f.Resent {
		dst = append(dst, keyResent, cborTrue)
	}
	if f.Kind == Message {
		dst = c.appendVector(dst, f.Vector)
	}
	return dst, nil
}

// check reports why f cannot be sent.
func (c *Codec) check(f *Frame) error {
	var kind, round, vector error
	if f.Round < 0 || f.Round > MaxRound {
		round = fmt.Errorf("round: found %d, wanted 0..%d", f.Round, MaxRound)
	}
	switch f.Kind {
	case Message:
		vector = checkFinite(f.Vector)
		if len(f.Vector) != c.dim {
			vector = fmt.Errorf("vector: found %d coordinates, wanted %d", len(f.Vector), c.dim)
		}
	case Done:
		if len(f.Vector) != 0 {
			vector = fmt.Errorf("vector: found %d coordinates, wanted none with kind done", len(f.Vector))
		}
	default:
		kind = fmt.Errorf("kind: found %d, wanted 1 (message) or 2 (done)", f.Kind)
	}
	return errors.Join(kind, round, vector)
}

// appendVector appends the vector's key and value in the shorter of the two forms.
func (c *Codec) appendVector(dst []byte, v []float32) []byte {
	// The planes go where they belong if the head of their byte string is as long as it can be, and move down if
	// not.
	start, plain := len(dst), 4*len(v)
	room := headSize(uint64(plain))
	dst = append(dst, keyPlanes)
	dst = dst[:len(dst)+room]
	if planes, ok := c.enc.append(dst, v, plain); ok {
		payload := planes[len(dst):]
		dst = appendHead(dst[:start+1], majorBytes, uint64(len(payload)))
		return append(dst, payload...) // to the same place or a lower one: append copies like memmove
	}
	dst = append(dst[:start], keyVector)
	dst = appendHead(dst, majorTag, tagFloat32LE)
	dst = appendHead(dst, majorBytes, uint64(plain))
	at := len(dst)
	dst = dst[:at+plain]
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[at+4*i:], math.Float32bits(x))
	}
	return dst
}

// Decode reads one frame into f. It uses the storage of f.Vector if there is room for the codec's dimension, and
// leaves it empty for a frame of kind done. It keeps nothing of frame. The error says which field is wrong, what was
// found and what was wanted; f then holds nothing of use.
func (c *Codec) Decode(frame []byte, f *Frame) error {
	if err := c.decode(frame, f); err != nil {
		return fmt.Errorf("wire: frame: %w", err)
	}
	return nil
}

func (c *Codec) decode(frame []byte, f *Frame) error {
	if most := MaxFrame(c.dim); len(frame) > most {
		return fmt.Errorf("found %d bytes, wanted at most %d for dimension %d", len(frame), most, c.dim)
	}
	var m frameFields
	if err := unmarshal(frame, &m, frameNames); err != nil {
		return err
	}
	if _, err := m.Version.uint("version", Version, Version); err != nil {
		return err
	}
	kind, err := m.Kind.uint("kind", uint64(Message), uint64(Done))
	if err != nil {
		return err
	}
	round, err := m.Round.uint("round", 0, MaxRound)
	if err != nil {
		return err
	}
	if m.Resent != nil && !(len(m.Resent) == 1 && m.Resent[0] == cborTrue) {
		return fmt.Errorf("resent: found %s, wanted true or no such field", describe(m.Resent))
	}
	if err := exact(frame, m.Version, m.Kind, m.Round, m.Resent, m.Vector, m.Planes); err != nil {
		return err
	}
	f.Kind, f.Round, f.Resent, f.Vector = Kind(kind), int(round), m.Resent != nil, f.Vector[:0]
	switch {
	case f.Kind == Done && m.Vector != nil:
		return errors.New("vector: found one, wanted none with kind done")
	case f.Kind == Done && m.Planes != nil:
		return errors.New("planes: found some, wanted none with kind done")
	case f.Kind == Done:
		return nil
	case m.Vector != nil && m.Planes != nil:
		return errors.New("vector: found one and planes as well, wanted one of them")
	case m.Vector != nil:
		return c.decodeVector(m.Vector, f)
	case m.Planes != nil:
		return c.decodePlanes(m.Planes, f)
	}
	return errors.New("vector: found neither it nor planes, wanted one of them with kind message")
}

func (c *Codec) decodeVector(it item, f *Frame) error {
	major, tag, rest, ok := head(it)
	if !ok || major != majorTag || tag != tagFloat32LE {
		return fmt.Errorf("vector: found %s, wanted tag %d", describe(it), tagFloat32LE)
	}
	b, err := item(rest).bytes("vector")
	if err != nil {
		return err
	}
	if len(b) != 4*c.dim {
		return fmt.Errorf("vector: found %d bytes, wanted %d, 4 for each of %d coordinates", len(b), 4*c.dim, c.dim)
	}
	f.Vector = c.room(f.Vector)
	for i := range f.Vector {
		f.Vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return checkFinite(f.Vector)
}

func (c *Codec) decodePlanes(it item, f *Frame) error {
	b, err := it.bytes("planes")
	if err != nil {
		return err
	}
	if len(b) >= 4*c.dim {
		return fmt.Errorf("planes: found %d bytes, wanted fewer than the %d of the plain vector", len(b), 4*c.dim)
	}
	f.Vector = c.room(f.Vector)
	if err := c.dec.read(f.Vector, b); err != nil {
		return fmt.Errorf("planes: %w", err)
	}
	return checkFinite(f.Vector)
}

// room returns a slice for one vector, v's own storage if it is large enough.
func (c *Codec) room(v []float32) []float32 {
	if cap(v) < c.dim {
		return make([]float32, c.dim)
	}
	return v[:c.dim]
}
