package signed

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math"
)

// Stop is a member's wish that a run end early: with a round as the last that touches data. It says nothing of when the
// wish was made.
type Stop struct {
	Member    int // its place among the fleet's members
	Last      int // the round, 1..MaxInt32
	Signature [ed25519.SignatureSize]byte
}

// StopSize is the length in bytes of a stop as [Stop.Append] writes it. MaxStops is how many may travel together.
const (
	StopSize = stopBody + ed25519.SignatureSize
	MaxStops = 8
)

const (
	stopBody = 4 + 4
	stopTag  = "spade-edge stop 1\n"
)

// Append appends the stop to dst: the member and the round in four bytes each, big-endian, and the signature.
func (s *Stop) Append(dst []byte) []byte { return append(s.appendBody(dst), s.Signature[:]...) }

func (s *Stop) appendBody(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(s.Member)), uint32(s.Last))
}

// ParseStop reads what [Stop.Append] wrote. It does not look at the signature.
func ParseStop(b []byte) (Stop, error) {
	if len(b) != StopSize {
		return Stop{}, fmt.Errorf("signed: stop: found %d bytes, want %d", len(b), StopSize)
	}
	member, last := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if member > math.MaxInt32 || last < 1 || last > math.MaxInt32 {
		return Stop{}, fmt.Errorf("signed: stop: found member %d and round %d, want 0..%d and 1..%[3]d", member, last,
			math.MaxInt32)
	}
	return Stop{int(member), int(last), [ed25519.SignatureSize]byte(b[stopBody:])}, nil
}

func (s *Stop) message(scope Scope) []byte { return s.appendBody(append([]byte(stopTag), scope[:]...)) }

// Sign signs the stop in the member's scope with its key.
func (s *Stop) Sign(key ed25519.PrivateKey, scope Scope) {
	copy(s.Signature[:], ed25519.Sign(key, s.message(scope)))
}

// Verify reports whether one of the member's keys has signed the stop in its scope. The error wraps [ErrSignature].
func (s *Stop) Verify(scope Scope, keys []ed25519.PublicKey) error {
	return verify(keys, s.message(scope), s.Signature[:], "stop after round %d", s.Last)
}
