package admm

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"slices"
)

// slot is a part of the disk: the content that survives a power loss, and what has been written since.
type slot struct {
	durable, cached []byte
	dirty           bool
	before          []byte // earlier durable content
}

// finite reports whether the state's floats can be encoded.
func (s State) finite() bool {
	bad := func(x []float32) bool {
		return slices.ContainsFunc(x, func(x float32) bool { return math.IsInf(float64(x), 0) || x != x })
	}
	return !bad(s.X) && !bad(s.Last) &&
		!slices.ContainsFunc(s.Edges, func(e EdgeState) bool { return bad(e.Z) || bad(e.PeerZ) })
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// marshal appends a state in slot format: its length first, a checksum last. Devices use SHA-256. A CRC suffices here,
// because nobody forges slots, and a mixture of two slots passes with probability 2^-64.
func marshal(b []byte, s State, head int) []byte {
	le := binary.LittleEndian
	floats := func(x []float32) {
		b = append(b, byte(len(x)))
		for _, v := range x {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	}
	ints := func(x []int32) {
		b = append(b, byte(len(x)))
		for _, v := range x {
			b = le.AppendUint32(b, uint32(v))
		}
	}
	b = le.AppendUint32(b, 0)
	b = append(b, byte(s.Round), byte(head))
	floats(s.X)
	ints(s.Grid)
	ints(s.Delta)
	floats(s.Last)
	b = le.AppendUint64(b, uint64(s.Queries))
	b = append(b, byte(len(s.Edges)))
	for _, e := range s.Edges {
		b = append(b, byte(e.Peer), byte(e.Heard), byte(e.Quarantine))
		floats(e.Z)
		floats(e.PeerZ)
		ints(e.Base)
		floats(e.Flow)
	}
	le.PutUint32(b, uint32(len(b)))
	return le.AppendUint64(b, crc64.Checksum(b, crcTable))
}

// unmarshal reads a slot into s, whose storage it reuses, and reports whether the slot holds a state. head is the
// number of ledger entries.
func unmarshal(b []byte, s *State, head *int, check bool) bool {
	le := binary.LittleEndian
	if check {
		if len(b) < 4 {
			return false
		}
		n := int(le.Uint32(b))
		if n < 4 || n > len(b)-8 || le.Uint64(b[n:]) != crc64.Checksum(b[:n], crcTable) {
			return false
		}
	}
	ok := true
	take := func(n int) []byte {
		if ok = ok && len(b) >= n; !ok {
			return make([]byte, n)
		}
		t := b[:n]
		b = b[n:]
		return t
	}
	floats := func(x *[]float32) {
		for i := range resized(x, int(take(1)[0])) {
			(*x)[i] = math.Float32frombits(le.Uint32(take(4)))
		}
	}
	ints := func(x *[]int32) {
		for i := range resized(x, int(take(1)[0])) {
			(*x)[i] = int32(le.Uint32(take(4)))
		}
	}
	take(4)
	s.Round, *head = int(take(1)[0]), int(take(1)[0])
	floats(&s.X)
	ints(&s.Grid)
	ints(&s.Delta)
	floats(&s.Last)
	s.Queries = int64(le.Uint64(take(8)))
	for i := range resized(&s.Edges, int(take(1)[0])) {
		e := &s.Edges[i]
		e.Peer, e.Heard, e.Quarantine = int(take(1)[0]), int(take(1)[0]), int(take(1)[0])
		floats(&e.Z)
		floats(&e.PeerZ)
		ints(&e.Base)
		floats(&e.Flow)
	}
	return ok
}
