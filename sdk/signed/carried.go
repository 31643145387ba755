package signed

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
)

// Earlier is a release or a checkpoint, possibly of an earlier run, to show to the member that signed it.
type Earlier struct {
	Scope Scope
	Statement
}

// EarlierSize is the length in bytes of an [Earlier] that [Earlier.Append] writes.
const EarlierSize = len(Scope{}) + Size

// MaxEarlier is the maximum number of statements of this kind in one message: one for each ledger of a member.
const MaxEarlier = 8

// NewCheckpoint returns the state of a ledger, signed in scope s with the member's key.
func NewCheckpoint(key ed25519.PrivateKey, s Scope, ledger Head) Earlier {
	e := Earlier{s, Statement{Kind: Checkpoint, Ledger: ledger}}
	e.Sign(key, s)
	return e
}

// Append appends the scope and the statement to dst.
func (e *Earlier) Append(dst []byte) []byte { return e.Statement.Append(append(dst, e.Scope[:]...)) }

// MarshalText returns the output of [Earlier.Append] in hexadecimal digits.
func (e Earlier) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, e.Append(nil)), nil }

// UnmarshalText parses the output of MarshalText.
func (e *Earlier) UnmarshalText(text []byte) (err error) {
	*e, err = fromHex(text, ParseEarlier)
	return err
}

// ParseEarlier parses the output of [Earlier.Append]. It does not check the signature.
func ParseEarlier(b []byte) (e Earlier, err error) {
	if len(b) != EarlierSize {
		return e, fmt.Errorf("signed: statement of an earlier run: found %d bytes, want %d", len(b), EarlierSize)
	}
	copy(e.Scope[:], b)
	e.Statement, err = Parse(b[len(e.Scope):], Release, Checkpoint)
	return e, err
}

// LedgerID returns the ledger's id in the form of [certificate.Head], or "" if the statement names no ledger.
func (e *Earlier) LedgerID() string {
	if e.Ledger == (Head{}) {
		return ""
	}
	return hex.EncodeToString(e.Ledger.ID[:])
}
