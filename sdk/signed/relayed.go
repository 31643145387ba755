package signed

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
)

// Relayed is a statement that members pass on, and whose it is.
type Relayed struct {
	Member int // its place among the fleet's members
	Statement
}

// RelayedSize is the length in bytes of a relayed statement as [Relayed.Append] writes it.
const RelayedSize = 4 + Size

// Append appends the member in four bytes, big-endian, and the statement to dst.
func (r *Relayed) Append(dst []byte) []byte {
	return r.Statement.Append(binary.BigEndian.AppendUint32(dst, uint32(r.Member)))
}

// MarshalText returns what [Relayed.Append] writes, in hexadecimal digits.
func (r Relayed) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, r.Append(nil)), nil }

// UnmarshalText reads what MarshalText wrote of a [Stop], the one kind that members pass on.
func (r *Relayed) UnmarshalText(text []byte) (err error) {
	*r, err = fromHex(text, func(b []byte) (Relayed, error) { return ParseRelayed(b, Stop) })
	return err
}

// ParseRelayed reads a statement of one of some kinds as [Relayed.Append] wrote it. It does not look at the signature.
func ParseRelayed(b []byte, kinds ...Kind) (Relayed, error) {
	if len(b) != RelayedSize {
		return Relayed{}, fmt.Errorf("signed: relayed %v: found %d bytes, want %d", kinds, len(b), RelayedSize)
	}
	member := binary.BigEndian.Uint32(b)
	if member > math.MaxInt32 {
		return Relayed{}, fmt.Errorf("signed: relayed %v: found member %d, want 0..%d", kinds, member, math.MaxInt32)
	}
	s, err := Parse(b[4:], kinds...)
	return Relayed{int(member), s}, err
}
