package wire

import (
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
	keyGrid
	keyPacked
	keyHeld
	keyLife
	keyPart
	keyOwn
	keyProof
	keyOther
	keyLedger
	keyCountersign
)

// frameNames are the names of the keys in errors.
var frameNames = []string{keyVersion: "version", keyKind: "kind", keyRound: "round", keyResent: "resent",
	keyVector: "vector", keyPlanes: "planes", keyGrid: "grid", keyPacked: "packed", keyHeld: "held", keyLife: "life", keyPart: "part",
	keyOwn: "own", keyProof: "proof", keyOther: "other", keyLedger: "ledger", keyCountersign: "countersign"}

// frameFields is a frame's map before its values are looked at.
type frameFields struct {
	Version item `cbor:"1,keyasint"`
	Kind    item `cbor:"2,keyasint"`
	Round   item `cbor:"3,keyasint"`
	Resent  item `cbor:"4,keyasint"`
	Vector  item `cbor:"5,keyasint"`
	Planes  item `cbor:"6,keyasint"`
	Grid    item `cbor:"7,keyasint"`
	Packed  item `cbor:"8,keyasint"`
	Held    item `cbor:"9,keyasint"`
	Life    item `cbor:"10,keyasint"`
	Part    item `cbor:"11,keyasint"`

	Own         item `cbor:"12,keyasint"`
	Proof       item `cbor:"13,keyasint"`
	Other       item `cbor:"14,keyasint"`
	Ledger      item `cbor:"15,keyasint"`
	Countersign item `cbor:"16,keyasint"`
}

// Codec writes and reads the frames of one run, all of one dimension. It holds the work space of the compression, of
// the order of 200 KB. One goroutine may Append while another Decodes, but neither method is for two goroutines at
// once.
type Codec struct {
	dim    int
	enc    packer
	dec    unpacker
	fields frameFields // of the frame that is being decoded
}

// NewCodec returns a codec for vectors of dim coordinates, dim in 1..MaxDim.
func NewCodec(dim int) (*Codec, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("wire: dimension: found %d, wanted 1..%d", dim, MaxDim)
	}
	return &Codec{dim: dim}, nil
}

// Append appends the encoding of f to dst and returns the extended slice. It appends at most [MaxFrame] bytes, and
// allocates no space for them if dst has that much to spare. It reads f.Vector and f.Grid only during the call. The
// error says what of f cannot be sent; dst is then returned as it came.
func (c *Codec) Append(dst []byte, f *Frame) ([]byte, error) {
	if err := c.check(f); err != nil {
		return dst, fmt.Errorf("wire: frame: %w", err)
	}
	pairs := uint64(3)
	if f.Resent {
		pairs++
	}
	switch f.Kind {
	case Message, Release:
		pairs++ // what it carries
	case Hail, Ask:
		pairs += 2 // held and life; life and part
	case Tell:
		pairs += 3
		if len(f.Vector)+len(f.Grid) > 0 {
			pairs++
		}
	}
	pairs += filled(len(f.Own), len(f.Proof), len(f.Other), len(f.Ledger), len(f.Countersign))
	if f.Kind == Message || f.Kind == Release || f.Kind == Tell {
		dst = slices.Grow(dst, MaxFrame(c.dim))
	}
	dst = appendHead(dst, majorMap, pairs)
	dst = append(dst, keyVersion, Version, keyKind, byte(f.Kind), keyRound)
	dst = appendHead(dst, majorUint, uint64(f.Round))
	if f.Resent {
		dst = append(dst, keyResent, cborTrue)
	}
	switch {
	case len(f.Vector) > 0:
		dst = c.appendVector(dst, f.Vector)
	case len(f.Grid) > 0:
		dst = c.appendGrid(dst, f.Grid)
	}
	if f.Kind == Hail || f.Kind == Tell {
		dst = appendHead(append(dst, keyHeld), majorUint, uint64(f.Held))
	}
	if f.Kind == Hail || f.Kind == Ask || f.Kind == Tell {
		dst = appendHead(append(dst, keyLife), majorUint, f.Life)
	}
	if f.Kind == Ask || f.Kind == Tell {
		dst = append(dst, keyPart, byte(f.Part))
	}
	for i, b := range f.signed() {
		if len(b) > 0 {
			dst = append(appendHead(append(dst, byte(keyOwn+i)), majorBytes, uint64(len(b))), b...)
		}
	}
	return dst, nil
}

// signed returns the opaque fields in the order of their keys.
func (f *Frame) signed() [5][]byte {
	return [5][]byte{f.Own, f.Proof, f.Other, f.Ledger, f.Countersign}
}

// signedFields says which of the opaque fields a frame of this kind may have, and whether it has to have all of these.
func (k Kind) signedFields() (may [5]bool, must bool) {
	switch k {
	case Message, Release:
		may = [5]bool{true}
	case Hail:
		may = [5]bool{true, true, true, true}
	case Done:
		may = [5]bool{1: true, 4: true}
	case Tell:
		may = [5]bool{true, true}
	case Double:
		return [5]bool{1: true, 2: true}, true
	}
	return may, false
}

// checkSigned reports what of the opaque fields cannot be sent, or taken.
func (f *Frame) checkSigned() error {
	may, must := f.Kind.signedFields()
	total := 0
	for i, b := range f.signed() {
		name := frameNames[keyOwn+i]
		switch {
		case len(b) > 0 && !may[i]:
			return fmt.Errorf("%s: found %d bytes, wanted none with kind %s", name, len(b), f.Kind)
		case len(b) == 0 && may[i] && must:
			return fmt.Errorf("%s: found nothing, wanted it with kind %s", name, f.Kind)
		case len(b) > MaxSigned:
			return fmt.Errorf("%s: found %d bytes, wanted at most %d", name, len(b), MaxSigned)
		}
		total += len(b)
	}
	if total > maxSigned {
		return fmt.Errorf("own, proof, other, ledger and countersign: found %d bytes, wanted at most %d together", total, maxSigned)
	}
	return nil
}

// check reports why f cannot be sent.
func (c *Codec) check(f *Frame) error {
	var round, vector, grid, held, life, part error
	if f.Round < 0 || f.Round > MaxRound {
		round = fmt.Errorf("round: found %d, wanted 0..%d", f.Round, MaxRound)
	}
	// What may be there, by kind; a Release has one of the two.
	wantVector, wantGrid := f.Kind == Message, false
	switch f.Kind {
	case Message, Done, Hail, Ask, Double:
	case Tell:
		vectors, grids := f.Part.forms()
		wantGrid = grids && len(f.Grid) > 0
		wantVector = vectors && !wantGrid && len(f.Vector) > 0
	case Release:
		wantVector, wantGrid = len(f.Grid) == 0, len(f.Grid) > 0
	default:
		return errors.Join(fmt.Errorf("kind: found %d, wanted 1 (message), 2 (done), 3 (release), 4 (hail), 5 (ask), 6 (tell) or 7 (double)", f.Kind), round)
	}
	switch {
	case wantVector && len(f.Vector) != c.dim:
		vector = fmt.Errorf("vector: found %d coordinates, wanted %d", len(f.Vector), c.dim)
	case wantVector:
		if err := checkFinite(f.Vector); err != nil {
			vector = fmt.Errorf("vector: %w", err)
		}
	case wantGrid && len(f.Vector) != 0:
		vector = fmt.Errorf("vector: found %d coordinates, wanted none beside a grid", len(f.Vector))
	case len(f.Vector) != 0:
		vector = fmt.Errorf("vector: found %d coordinates, wanted none with kind %s", len(f.Vector), f.Kind)
	}
	switch {
	case wantGrid && len(f.Grid) != c.dim:
		grid = fmt.Errorf("grid: found %d coordinates, wanted %d", len(f.Grid), c.dim)
	case !wantGrid && len(f.Grid) != 0:
		grid = fmt.Errorf("grid: found %d coordinates, wanted none with kind %s", len(f.Grid), f.Kind)
	}
	hasHeld, hasLife, hasPart := f.Kind.numbers()
	switch {
	case hasHeld && (f.Held < 0 || f.Held > MaxRound):
		held = fmt.Errorf("held: found %d, wanted 0..%d", f.Held, MaxRound)
	case !hasHeld && f.Held != 0:
		held = fmt.Errorf("held: found %d, wanted 0 with kind %s", f.Held, f.Kind)
	}
	if !hasLife && f.Life != 0 {
		life = fmt.Errorf("life: found %d, wanted 0 with kind %s", f.Life, f.Kind)
	}
	switch {
	case hasPart && f.Part > maxPart:
		part = fmt.Errorf("part: found %d, wanted 0..%d", f.Part, maxPart)
	case !hasPart && f.Part != 0:
		part = fmt.Errorf("part: found %d, wanted 0 with kind %s", f.Part, f.Kind)
	}
	return errors.Join(round, vector, grid, held, life, part, f.checkSigned())
}

// numbers says which numbers a frame of this kind has besides its round.
func (k Kind) numbers() (held, life, part bool) {
	return k == Hail || k == Tell, k == Hail || k == Ask || k == Tell, k == Ask || k == Tell
}

// forms says what a Tell of this part may carry.
func (p Part) forms() (vector, grid bool) {
	return p == Sent || p == AskerZ || p == TellerZ, p == Sent || p == AskerAt || p == TellerAt
}

// appendVector appends the vector's key and value in the shorter of the two forms.
func (c *Codec) appendVector(dst []byte, v []float32) []byte {
	start, plain := len(dst), 4*len(v)
	if dst, ok := c.enc.planes(openBytes(dst, keyPlanes, plain), v, plain); ok {
		return closeBytes(dst, start, plain)
	}
	dst, at := appendArray(append(dst, keyVector), tagFloat32LE, plain)
	putFloats(dst[at:], v)
	return dst
}

// appendGrid appends the grid's key and value in the shorter of the two forms.
func (c *Codec) appendGrid(dst []byte, g []int32) []byte {
	start, plain := len(dst), 4*len(g)
	if dst, ok := c.enc.grid(openBytes(dst, keyPacked, plain), g, plain); ok {
		return closeBytes(dst, start, plain)
	}
	dst, at := appendArray(append(dst, keyGrid), tagInt32LE, plain)
	putInts(dst[at:], g)
	return dst
}

// openBytes appends a key and room for the head of a byte string of fewer than limit bytes. The string's bytes go
// where they belong if the head is as long as it can be, and closeBytes moves them down if not.
func openBytes(dst []byte, key byte, limit int) []byte {
	dst = append(dst, key)
	return dst[:len(dst)+headSize(uint64(limit))]
}

// closeBytes writes the head that openBytes, called when dst had start bytes, left room for.
func closeBytes(dst []byte, start, limit int) []byte {
	payload := dst[start+1+headSize(uint64(limit)):]
	dst = appendHead(dst[:start+1], majorBytes, uint64(len(payload)))
	return append(dst, payload...) // to the same place or a lower one: append copies like memmove
}

// Decode reads one frame into f. It uses the storage of f.Vector and f.Grid if there is room for the codec's
// dimension, and leaves empty what the frame does not have. It keeps nothing of frame. The error says which field is
// wrong, what was found and what was wanted; f then holds nothing of use.
func (c *Codec) Decode(frame []byte, f *Frame) error {
	err := c.decode(frame, f)
	c.fields = frameFields{}
	if err != nil {
		return fmt.Errorf("wire: frame: %w", err)
	}
	return nil
}

func (c *Codec) decode(frame []byte, f *Frame) error {
	if most := MaxFrame(c.dim); len(frame) > most {
		return fmt.Errorf("found %d bytes, wanted at most %d for dimension %d", len(frame), most, c.dim)
	}
	m := &c.fields
	if err := unmarshal(frame, m, frameNames); err != nil {
		return err
	}
	if _, err := m.Version.uint("version", Version, Version); err != nil {
		return err
	}
	kind, err := m.Kind.uint("kind", uint64(Message), uint64(Double))
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
	if err := exact(frame, m.Version, m.Kind, m.Round, m.Resent, m.Vector, m.Planes, m.Grid, m.Packed, m.Held, m.Life, m.Part,
		m.Own, m.Proof, m.Other, m.Ledger, m.Countersign); err != nil {
		return err
	}
	*f = Frame{Kind: Kind(kind), Round: int(round), Resent: m.Resent != nil, Vector: f.Vector[:0], Grid: f.Grid[:0],
		Own: f.Own[:0], Proof: f.Proof[:0], Other: f.Other[:0], Ledger: f.Ledger[:0], Countersign: f.Countersign[:0]}
	if err := m.numbers(f); err != nil {
		return err
	}
	if err := m.signed(f); err != nil {
		return err
	}
	return c.decodePayload(m, f)
}

// numbers reads those numbers of a frame that its kind demands, and refuses others.
func (m *frameFields) numbers(f *Frame) error {
	hasHeld, hasLife, hasPart := f.Kind.numbers()
	held, err := m.Held.number(hasHeld, "held", MaxRound, f.Kind)
	if err != nil {
		return err
	}
	if f.Life, err = m.Life.number(hasLife, "life", math.MaxUint64, f.Kind); err != nil {
		return err
	}
	part, err := m.Part.number(hasPart, "part", uint64(maxPart), f.Kind)
	f.Held, f.Part = int(held), Part(part)
	return err
}

// signed copies the opaque fields. One that is there is not empty, so that a frame has one encoding.
func (m *frameFields) signed(f *Frame) error {
	dst := [5]*[]byte{&f.Own, &f.Proof, &f.Other, &f.Ledger, &f.Countersign}
	for i, it := range [5]item{m.Own, m.Proof, m.Other, m.Ledger, m.Countersign} {
		if it == nil {
			continue
		}
		b, err := it.bytes(frameNames[keyOwn+i])
		if err != nil {
			return err
		}
		if len(b) == 0 || len(b) > MaxSigned {
			return fmt.Errorf("%s: found %d bytes, wanted 1..%d", frameNames[keyOwn+i], len(b), MaxSigned)
		}
		*dst[i] = append(*dst[i], b...)
	}
	return f.checkSigned()
}

// number reads a number of 0 to most if a frame of this kind has it; then it must be there, and else not.
func (it item) number(has bool, name string, most uint64, kind Kind) (uint64, error) {
	if has {
		return it.uint(name, 0, most)
	}
	if it != nil {
		return 0, fmt.Errorf("%s: found %s, wanted none with kind %s", name, describe(it), kind)
	}
	return 0, nil
}

// decodePayload reads the one of a frame's vector, planes, grid and packed grid that it has, or none, as its kind
// demands.
func (c *Codec) decodePayload(m *frameFields, f *Frame) error {
	vectors, grids := false, false
	forms := [...]item{keyVector: m.Vector, keyPlanes: m.Planes, keyGrid: m.Grid, keyPacked: m.Packed}
	switch f.Kind {
	case Message:
		vectors = true
	case Release:
		vectors, grids = true, true
	case Tell:
		vectors, grids = f.Part.forms()
	}
	found := 0
	for key := keyVector; key <= keyPacked; key++ {
		switch {
		case forms[key] == nil:
		case key <= keyPlanes && !vectors, key > keyPlanes && !grids:
			return fmt.Errorf("%s: found %s, wanted none with kind %s", frameNames[key], describe(forms[key]), f.Kind)
		case found != 0:
			return fmt.Errorf("%s: found one and %s as well, wanted one of them", frameNames[found], frameNames[key])
		default:
			found = key
		}
	}
	switch found {
	case keyVector:
		return c.decodeVector(m.Vector, f)
	case keyPlanes:
		return c.decodePlanes(m.Planes, f)
	case keyGrid:
		return c.decodeGrid(m.Grid, f)
	case keyPacked:
		return c.decodePacked(m.Packed, f)
	}
	switch f.Kind {
	case Message:
		return errors.New("vector: found neither it nor planes, wanted one of them with kind message")
	case Release:
		return errors.New("vector: found neither it nor planes nor a grid, wanted one of them with kind release")
	}
	return nil
}

func (c *Codec) decodeVector(it item, f *Frame) error {
	b, err := it.array("vector", tagFloat32LE, c.dim)
	if err != nil {
		return err
	}
	f.Vector = room(f.Vector, c.dim)
	if err := getFloats(f.Vector, b); err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	return nil
}

func (c *Codec) decodePlanes(it item, f *Frame) error {
	b, err := it.shorter("planes", "vector", c.dim)
	if err != nil {
		return err
	}
	f.Vector = room(f.Vector, c.dim)
	if err := c.dec.planes(f.Vector, b); err != nil {
		return fmt.Errorf("planes: %w", err)
	}
	if err := checkFinite(f.Vector); err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	return nil
}

func (c *Codec) decodeGrid(it item, f *Frame) error {
	b, err := it.array("grid", tagInt32LE, c.dim)
	if err != nil {
		return err
	}
	f.Grid = room(f.Grid, c.dim)
	getInts(f.Grid, b)
	return nil
}

func (c *Codec) decodePacked(it item, f *Frame) error {
	b, err := it.shorter("packed", "grid", c.dim)
	if err != nil {
		return err
	}
	f.Grid = room(f.Grid, c.dim)
	if err := c.dec.grid(f.Grid, b); err != nil {
		return fmt.Errorf("packed: %w", err)
	}
	return nil
}
