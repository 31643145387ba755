package signed

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
)

// Evidence shows that a member's key has signed two different releases of one round: a copy of its device is at work,
// or the device was set back and has made the round again. Everybody who has the member's public key can check it.
type Evidence struct {
	Member string `json:"member"`
	Round  int    `json:"round"`
	First  string `json:"first"`  // a release as [Statement.Append] writes it, in hexadecimal digits
	Second string `json:"second"` // likewise
}

// NewEvidence returns the evidence that two releases of a member give. It does not verify them.
func NewEvidence(member string, first, second *Statement) Evidence {
	return Evidence{
		Member: member, Round: first.Round,
		First: hex.EncodeToString(first.Append(nil)), Second: hex.EncodeToString(second.Append(nil)),
	}
}

// String says what the evidence shows.
func (e Evidence) String() string {
	return fmt.Sprintf("%q has signed two different releases of round %d: it has a double, or was set back",
		e.Member, e.Round)
}

// Verify checks, for a run and a fleet as in [NewScope], both signatures and that they contradict each other.
func (e Evidence) Verify(run string, fleet [32]byte, keys []ed25519.PublicKey) error {
	first, second, err := e.Releases()
	if err != nil {
		return err
	}
	scope := NewScope(run, fleet, e.Member)
	if err := errors.Join(first.Verify(scope, keys), second.Verify(scope, keys)); err != nil {
		return err
	}
	if !first.Contradicts(&second) {
		return fmt.Errorf("signed: evidence: releases %d and %d of %q do not contradict each other",
			first.Round, second.Round, e.Member)
	}
	return nil
}

// Releases returns the two signed releases, the first of which is of the round that the evidence names.
func (e Evidence) Releases() (first, second Statement, err error) {
	var list [2]Statement
	for i, text := range []string{e.First, e.Second} {
		b, err := hex.DecodeString(text)
		if err == nil {
			list[i], err = Parse(b, Release)
		}
		if err != nil {
			return first, second, fmt.Errorf("signed: evidence: %w", err)
		}
	}
	if list[0].Round != e.Round {
		err = fmt.Errorf("signed: evidence: round is %d, and release %d was signed", e.Round, list[0].Round)
	}
	return list[0], list[1], err
}
