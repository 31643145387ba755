package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// frameVersion is the version of frames that this package writes and the only one it reads.
const frameVersion = 1

// Protocol is the version of what nodes say to each other, which a [Hello] carries. In 2, releases are signed and
// claims are proved.
const Protocol = 2

// Heartbeat is the frame of a node that has nothing else to say, an empty map. It is not to be changed.
var Heartbeat = []byte{0xa0}

// IsHeartbeat reports whether a frame is a [Heartbeat].
func IsHeartbeat(frame []byte) bool { return bytes.Equal(frame, Heartbeat) }

// maxRound is the highest round number that a frame takes.
const maxRound = math.MaxInt32

// MaxDim is the highest dimension of a [Codec]; its frames are of 1 GiB.
const MaxDim = 1 << 28

// maxField bounds, in bytes, each field of [admm.Signed], and maxSigned those of one frame together but for the offer.
const (
	maxField  = 256
	maxSigned = 3 * signed.Size
)

// frameRoom is what a frame takes beside the numbers of its vector or grid.
const frameRoom = 74 + maxSigned + signed.OfferSize + 4 + signed.MaxStops*signed.StopSize

// MaxFrame returns an upper bound, in bytes, of every frame of dimension dim and of every [Hello]: four bytes a
// coordinate and 1344 for all else. Plain vectors come close to it, and compressed ones are used only where they are
// shorter. It makes sense for dim in 1..MaxDim.
func MaxFrame(dim int) int { return frameRoom + 4*dim }

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
	keyDevice
	keyPart
	keyOwn
	keyProof
	keyOther
	keyLedger
	keyCountersign
	keyOffer
	keyStops
	keyEnd
)

// frameNames are the names of the keys in errors.
var frameNames = []string{keyVersion: "version", keyKind: "kind", keyRound: "round", keyResent: "resent",
	keyVector: "vector", keyPlanes: "planes", keyGrid: "grid", keyPacked: "packed", keyHeld: "held",
	keyDevice: "incarnation", keyPart: "part", keyOwn: "own", keyProof: "proof", keyOther: "other",
	keyLedger: "ledger", keyCountersign: "countersign", keyOffer: "offer", keyStops: "stops"}

// keys is a set of keys.
type keys uint32

const (
	vectorKeys  keys = 1<<keyVector | 1<<keyPlanes
	gridKeys    keys = 1<<keyGrid | 1<<keyPacked
	payloadKeys      = vectorKeys | gridKeys
	headKeys    keys = 1<<keyVersion | 1<<keyKind | 1<<keyRound
	probeKeys   keys = 1<<keyOwn | 1<<keyProof | 1<<keyOther | 1<<keyLedger | 1<<keyOffer | 1<<keyStops
)

// rules says, by kind, which keys a frame has to have, and which it may have as well.
var rules = [...]struct{ must, may keys }{
	admm.EdgeMessage:   {0, vectorKeys | 1<<keyResent | 1<<keyOwn | 1<<keyStops},
	admm.Done:          {0, 1<<keyResent | 1<<keyProof | 1<<keyCountersign | 1<<keyStops},
	admm.Release:       {0, payloadKeys | 1<<keyResent | 1<<keyOwn | 1<<keyStops},
	admm.Probe:         {1<<keyHeld | 1<<keyDevice, probeKeys},
	admm.StateRequest:  {1<<keyDevice | 1<<keyPart, 1 << keyResent},
	admm.StateResponse: {1<<keyHeld | 1<<keyDevice | 1<<keyPart, 1<<keyResent | 1<<keyOwn | 1<<keyProof | 1<<keyOther | 1<<keyStops},
	admm.Conflict:      {1<<keyProof | 1<<keyOther, 1 << keyResent},
	admm.ProbeReply:    {1<<keyHeld | 1<<keyDevice, probeKeys},
}

// rule returns the keys that a message has to have, and those that it may have.
func rule(m *admm.Message) (must, may keys) {
	must, may = rules[m.Kind].must, rules[m.Kind].may
	if m.Kind == admm.StateResponse {
		switch m.Part {
		case admm.SentRelease:
			may |= payloadKeys
		case admm.RequesterZ, admm.ResponderZ:
			may |= vectorKeys
		case admm.RequesterBase, admm.ResponderBase:
			may |= gridKeys
		}
	}
	return headKeys | must, headKeys | must | may
}

// checkKeys compares the keys that a message has with those that its kind has. found says what is there under a key.
func checkKeys(m *admm.Message, has keys, found func(key int) string) error {
	must, may := rule(m)
	if extra := has &^ may; extra != 0 {
		key := bits.TrailingZeros32(uint32(extra))
		return fmt.Errorf("%s: found %s, wanted none with kind %s", frameNames[key], found(key), m.Kind)
	}
	if missing := must &^ has; missing != 0 {
		return fmt.Errorf("%s: found nothing, wanted it with kind %s", frameNames[bits.TrailingZeros32(uint32(missing))],
			m.Kind)
	}
	payload := has & payloadKeys
	if payload == 0 && (m.Kind == admm.EdgeMessage || m.Kind == admm.Release) {
		return fmt.Errorf("vector: found neither it nor planes nor a grid, wanted one of them with kind %s", m.Kind)
	}
	if bits.OnesCount32(uint32(payload)) > 1 {
		first := bits.TrailingZeros32(uint32(payload))
		second := bits.TrailingZeros32(uint32(payload &^ (1 << first)))
		return fmt.Errorf("%s: found one and %s as well, wanted one of them", frameNames[first], frameNames[second])
	}
	return nil
}

// signedFields are the fields of [admm.Signed] in the order of their keys.
func signedFields(s *admm.Signed) [7]*[]byte {
	return [7]*[]byte{&s.Own, &s.Proof, &s.Other, &s.Ledger, &s.Countersign, &s.Offer, &s.Stops}
}

// mostOf returns the most bytes that the i-th of the signed fields may have.
func mostOf(i int) int {
	if keyOwn+i == keyStops {
		return signed.MaxStops * signed.StopSize
	}
	return maxField
}

// checkSigned reports what of the signed fields is too long.
func checkSigned(s *admm.Signed) error {
	total := 0
	for i, b := range signedFields(s) {
		if most := mostOf(i); len(*b) > most {
			return fmt.Errorf("%s: found %d bytes, wanted at most %d", frameNames[keyOwn+i], len(*b), most)
		}
		total += len(*b)
	}
	if n := len(s.Stops); n%signed.StopSize != 0 {
		return fmt.Errorf("stops: found %d bytes, wanted %d for each", n, signed.StopSize)
	}
	total -= len(s.Stops)
	if n := len(s.Offer); n > 0 {
		if n != signed.OfferSize {
			return fmt.Errorf("offer: found %d bytes, wanted %d", n, signed.OfferSize)
		}
		total -= n
	}
	if total > maxSigned {
		return fmt.Errorf("own, proof, other, ledger and countersign: found %d bytes, wanted at most %d together", total,
			maxSigned)
	}
	return nil
}

// Codec writes and reads the frames of one run, all of one dimension. It holds the work space of the compression, of
// the order of 200 KB. One goroutine may Append while another Decodes, but neither method is for two goroutines at
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

// Append appends the encoding of m, but for its From and To, to dst and returns the extended slice. It appends at most
// [MaxFrame] bytes, and allocates no space for them if dst has that much to spare. It reads m's slices only during the
// call. The error says what of m cannot be sent; dst is then returned as it came.
func (c *Codec) Append(dst []byte, m *admm.Message) ([]byte, error) {
	if err := c.check(m); err != nil {
		return dst, fmt.Errorf("wire: frame: %w", err)
	}
	has := present(m)
	if has&payloadKeys != 0 {
		dst = slices.Grow(dst, MaxFrame(c.dim))
	}
	w := cbor.Writer{B: dst}
	w.Map(bits.OnesCount32(uint32(has)))
	w.Uint(keyVersion, frameVersion)
	kind, resent := m.Kind, m.Resent
	if kind == admm.ProbeReply {
		kind, resent = admm.Probe, true
	}
	w.Uint(keyKind, uint64(kind))
	w.Uint(keyRound, uint64(m.Round))
	if resent {
		w.True(keyResent)
	}
	if len(m.Vector) > 0 && !appendPacked(&w, keyPlanes, m.Vector, c.enc.planes) {
		w.Floats(keyVector, "vector", m.Vector)
	}
	if len(m.Grid) > 0 && !appendPacked(&w, keyPacked, m.Grid, c.enc.grid) {
		w.Ints(keyGrid, m.Grid)
	}
	if has&(1<<keyHeld) != 0 {
		w.Uint(keyHeld, uint64(m.Held))
	}
	if has&(1<<keyDevice) != 0 {
		w.Uint(keyDevice, signed.PackDevice(m.Generation, m.Incarnation))
	}
	if has&(1<<keyPart) != 0 {
		w.Uint(keyPart, uint64(m.Part))
	}
	for i, b := range signedFields(&m.Signed) {
		w.Bytes(byte(keyOwn+i), *b)
	}
	return w.B, nil
}

// present returns the keys that a message has: those that its kind has to have, and those with a value. A vector and a
// grid have the keys of their plain form.
func present(m *admm.Message) keys {
	must, _ := rule(m)
	set := func(s keys, key int, is bool) keys {
		if is {
			s |= 1 << key
		}
		return s
	}
	must &^= 1<<keyProof | 1<<keyOther
	must = set(must, keyResent, m.Resent || m.Kind == admm.ProbeReply)
	must = set(must, keyVector, len(m.Vector) > 0)
	must = set(must, keyGrid, len(m.Grid) > 0)
	must = set(must, keyHeld, m.Held != 0)
	must = set(must, keyDevice, m.Generation != 0 || m.Incarnation != 0)
	must = set(must, keyPart, m.Part != 0)
	for i, b := range signedFields(&m.Signed) {
		must = set(must, keyOwn+i, len(*b) > 0)
	}
	return must
}

// check reports why m cannot be sent.
func (c *Codec) check(m *admm.Message) error {
	var errs [5]error
	if m.Round < 0 || m.Round > maxRound {
		errs[0] = fmt.Errorf("round: found %d, wanted 0..%d", m.Round, maxRound)
	}
	if m.Kind < admm.EdgeMessage || m.Kind > admm.ProbeReply {
		return errors.Join(fmt.Errorf("kind: found %d, wanted %d..%d", m.Kind, admm.EdgeMessage, admm.ProbeReply), errs[0])
	}
	has := present(m)
	if !m.Resent { // a probe reply has that key in itself
		has &^= 1 << keyResent
	}
	errs[1] = checkKeys(m, has, func(key int) string {
		switch key {
		case keyResent:
			return "true"
		case keyVector:
			return fmt.Sprintf("%d coordinates", len(m.Vector))
		case keyGrid:
			return fmt.Sprintf("%d coordinates", len(m.Grid))
		case keyHeld:
			return fmt.Sprint(m.Held)
		case keyDevice:
			return fmt.Sprintf("%d and %d", m.Generation, m.Incarnation)
		case keyPart:
			return fmt.Sprint(m.Part)
		}
		return fmt.Sprintf("%d bytes", len(*signedFields(&m.Signed)[key-keyOwn]))
	})
	errs[2] = c.checkPayload(m)
	switch {
	case m.Held < 0 || m.Held > maxRound:
		errs[3] = fmt.Errorf("held: found %d, wanted 0..%d", m.Held, maxRound)
	case m.Part > admm.ResponderBase:
		errs[3] = fmt.Errorf("part: found %d, wanted 0..%d", m.Part, admm.ResponderBase)
	case m.Incarnation > signed.MaxIncarnation:
		errs[3] = fmt.Errorf("incarnation: found %d, wanted 0..%d", m.Incarnation, uint64(signed.MaxIncarnation))
	}
	errs[4] = checkSigned(&m.Signed)
	return errors.Join(errs[:]...)
}

// checkPayload reports a vector or a grid that is not of the codec's dimension, and a vector that is not finite.
func (c *Codec) checkPayload(m *admm.Message) error {
	if n := len(m.Vector); n != 0 && n != c.dim {
		return fmt.Errorf("vector: found %d coordinates, wanted %d", n, c.dim)
	}
	if n := len(m.Grid); n != 0 && n != c.dim {
		return fmt.Errorf("grid: found %d coordinates, wanted %d", n, c.dim)
	}
	if err := cbor.CheckFinite(m.Vector); err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	return nil
}

// appendPacked writes numbers as pack compresses them. It writes nothing and reports false if that is not shorter than
// their plain form.
func appendPacked[T any](w *cbor.Writer, key byte, v []T, pack func([]byte, []T, int) ([]byte, bool)) bool {
	before, plain := w.B, 4*len(v)
	start := w.OpenBytes(key, plain)
	b, ok := pack(w.B, v, plain)
	if !ok {
		w.B = before
		return false
	}
	w.B = b
	w.CloseBytes(start, plain)
	return true
}

// Decode reads one frame into m, whose From and To it sets to 0. It uses the storage of m's slices if there is room,
// and leaves empty what the frame does not have. It keeps nothing of frame. The error says which field is wrong, what
// was found and what was wanted; m then holds nothing of use.
func (c *Codec) Decode(frame []byte, m *admm.Message) error {
	err := c.decode(frame, m)
	if err != nil {
		return fmt.Errorf("wire: frame: %w", err)
	}
	return nil
}

func (c *Codec) decode(frame []byte, m *admm.Message) error {
	if most := MaxFrame(c.dim); len(frame) > most {
		return fmt.Errorf("found %d bytes, wanted at most %d for dimension %d", len(frame), most, c.dim)
	}
	var fields [keyEnd]cbor.Item
	if err := cbor.Unmarshal(frame, fields[:], frameNames); err != nil {
		return err
	}
	if _, err := fields[keyVersion].Uint("version", frameVersion, frameVersion); err != nil {
		return err
	}
	kind, err := fields[keyKind].Uint("kind", uint64(admm.EdgeMessage), uint64(admm.Conflict))
	if err != nil {
		return err
	}
	round, err := fields[keyRound].Uint("round", 0, maxRound)
	if err != nil {
		return err
	}
	resent := fields[keyResent]
	if resent != nil && !resent.True() {
		return fmt.Errorf("resent: found %s, wanted true or no such field", resent)
	}
	if err := cbor.Exact(frame, fields[:]...); err != nil {
		return err
	}
	s := &m.Signed
	*m = admm.Message{Kind: admm.Kind(kind), Round: int(round), Resent: resent != nil, Vector: m.Vector[:0],
		Grid: m.Grid[:0],
		Signed: admm.Signed{Own: s.Own[:0], Proof: s.Proof[:0], Other: s.Other[:0], Ledger: s.Ledger[:0],
			Countersign: s.Countersign[:0], Offer: s.Offer[:0], Stops: s.Stops[:0]}}
	if m.Kind == admm.Probe && m.Resent {
		m.Kind, m.Resent = admm.ProbeReply, false
	}
	if err := decodeNumbers(&fields, m); err != nil {
		return err
	}
	var has keys
	for key, it := range fields {
		if it != nil && (key != keyResent || m.Resent) {
			has |= 1 << key
		}
	}
	if err := checkKeys(m, has, func(key int) string { return fields[key].String() }); err != nil {
		return err
	}
	for i, b := range signedFields(&m.Signed) {
		it := fields[keyOwn+i]
		if it == nil {
			continue
		}
		contents, err := it.Bytes(frameNames[keyOwn+i])
		if err != nil {
			return err
		}
		if most := mostOf(i); len(contents) == 0 || len(contents) > most {
			return fmt.Errorf("%s: found %d bytes, wanted 1..%d", frameNames[keyOwn+i], len(contents), most)
		}
		*b = append(*b, contents...)
	}
	if err := checkSigned(&m.Signed); err != nil {
		return err
	}
	return c.decodePayload(&fields, m)
}

// decodeNumbers reads those numbers of a frame that are there.
func decodeNumbers(fields *[keyEnd]cbor.Item, m *admm.Message) error {
	number := func(key int, most uint64) (uint64, error) {
		if fields[key] == nil {
			return 0, nil
		}
		return fields[key].Uint(frameNames[key], 0, most)
	}
	held, errHeld := number(keyHeld, maxRound)
	device, errDevice := number(keyDevice, math.MaxUint64)
	part, errPart := number(keyPart, uint64(admm.ResponderBase))
	m.Held, m.Part = int(held), admm.Part(part)
	m.Generation, m.Incarnation = signed.UnpackDevice(device)
	return cmp.Or(errHeld, errDevice, errPart)
}

// decodePayload reads the one of a frame's vector, planes, grid and packed grid that it has, if any.
func (c *Codec) decodePayload(fields *[keyEnd]cbor.Item, m *admm.Message) (err error) {
	switch {
	case fields[keyVector] != nil:
		m.Vector, err = fields[keyVector].Floats("vector", m.Vector, c.dim)
	case fields[keyGrid] != nil:
		m.Grid, err = fields[keyGrid].Ints("grid", m.Grid, c.dim)
	case fields[keyPlanes] != nil:
		b, err := shorter(fields[keyPlanes], "planes", "vector", c.dim)
		if err != nil {
			return err
		}
		m.Vector = cbor.Room(m.Vector, c.dim)
		if err := c.dec.planes(m.Vector, b); err != nil {
			return fmt.Errorf("planes: %w", err)
		}
		return c.checkPayload(m)
	case fields[keyPacked] != nil:
		b, err := shorter(fields[keyPacked], "packed", "grid", c.dim)
		if err != nil {
			return err
		}
		m.Grid = cbor.Room(m.Grid, c.dim)
		if err := c.dec.grid(m.Grid, b); err != nil {
			return fmt.Errorf("packed: %w", err)
		}
	}
	return err
}

// shorter returns the contents of a byte string that stands for the typed array called plain, of dim numbers, and is
// shorter.
func shorter(it cbor.Item, name, plain string, dim int) ([]byte, error) {
	b, err := it.Bytes(name)
	if err != nil {
		return nil, err
	}
	if len(b) >= 4*dim {
		return nil, fmt.Errorf("%s: found %d bytes, wanted fewer than the %d of the plain %s", name, len(b), 4*dim, plain)
	}
	return b, nil
}
