package signed

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// Earlier is a release or a checkpoint, possibly of an earlier run, to send to the member that signed it.
type Earlier struct {
	Scope Scope
	Statement
	Text []byte // of a checkpoint, as [dpmech.Checkpoint.Encode] returns it; empty for a release
}

// MaxEarlier is the maximum length in bytes of an [Earlier] that [Earlier.Append] writes.
const MaxEarlier = len(Scope{}) + Size + dpmech.MaxCheckpoint

// NewCheckpoint returns the checkpoint of a ledger, signed in scope s with the member's key.
func NewCheckpoint(key ed25519.PrivateKey, s Scope, ledger Head, c dpmech.Checkpoint) Earlier {
	text := c.Encode()
	e := Earlier{s, Statement{Kind: Checkpoint, Value: sha256.Sum256(text), Ledger: ledger}, text}
	e.Sign(key, s)
	return e
}

// Append appends the scope, the statement and the text to dst.
func (e *Earlier) Append(dst []byte) []byte {
	return append(e.Statement.Append(append(dst, e.Scope[:]...)), e.Text...)
}

// MarshalText returns the output of [Earlier.Append] in hexadecimal digits.
func (e Earlier) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, e.Append(nil)), nil }

// UnmarshalText parses the output of MarshalText.
func (e *Earlier) UnmarshalText(text []byte) (err error) {
	*e, err = fromHex(text, ParseEarlier)
	return err
}

// ParseEarlier parses the output of [Earlier.Append]. It checks and copies the text; it does not check the signature.
func ParseEarlier(b []byte) (e Earlier, err error) {
	const text = len(Scope{}) + Size
	if len(b) < text {
		return e, fmt.Errorf("signed: statement of an earlier run: found %d bytes, want %d or more", len(b), text)
	}
	copy(e.Scope[:], b)
	if e.Statement, err = Parse(b[len(Scope{}):text], Release, Checkpoint); err != nil {
		return e, err
	}
	e.Text = append([]byte(nil), b[text:]...)
	switch {
	case e.Kind == Release && len(e.Text) == 0:
		return e, nil
	case e.Kind == Release || e.Ledger == (Head{}) || sha256.Sum256(e.Text) != e.Value:
		return e, fmt.Errorf("signed: the %d bytes after the %v differ from what was signed, or the ledger is missing", len(e.Text), e.Kind)
	}
	_, err = dpmech.ParseCheckpoint(e.Text)
	return e, err
}

// Spent returns the cost of all runs on the data and the limit of the ledger, both as stated in the checkpoint. If the
// argument but is the scope of the checkpoint, the cost excludes the checkpoint's own run. For a release the cost is
// zero.
func (e *Earlier) Spent(but Scope) (cost dpmech.Amount, limit *dpmech.Limit) {
	c, err := dpmech.ParseCheckpoint(e.Text)
	switch {
	case err != nil:
		return cost, nil
	case e.Scope == but:
		return c.Elsewhere, c.Limit
	}
	return c.Whole(), c.Limit
}

// LedgerID returns the ledger's id in the form of [dpmech.Head], or "" if the statement names no ledger.
func (e *Earlier) LedgerID() string {
	if e.Ledger == (Head{}) {
		return ""
	}
	return hex.EncodeToString(e.Ledger.ID[:])
}

// Relayed is a statement that members pass on, together with the member that signed it.
type Relayed struct {
	Member int // index among the fleet's members
	Statement
}

// RelayedSize is the length in bytes of a relayed statement that [Relayed.Append] writes.
const RelayedSize = 4 + Size

// Append appends the member, as four big-endian bytes, and the statement to dst.
func (r *Relayed) Append(dst []byte) []byte {
	return r.Statement.Append(binary.BigEndian.AppendUint32(dst, uint32(r.Member)))
}

// ParseRelayed parses the output of [Relayed.Append] for a statement of the given kind. It does not check
// the signature.
func ParseRelayed(b []byte, kind Kind) (Relayed, error) {
	if len(b) != RelayedSize {
		return Relayed{}, fmt.Errorf("signed: relayed %v: found %d bytes, want %d", kind, len(b), RelayedSize)
	}
	member := binary.BigEndian.Uint32(b)
	if member > math.MaxInt32 {
		return Relayed{}, fmt.Errorf("signed: relayed %v: found member %d, want 0..%d", kind, member, math.MaxInt32)
	}
	s, err := Parse(b[4:], kind)
	return Relayed{int(member), s}, err
}
