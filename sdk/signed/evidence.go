package signed

import (
	"crypto/ed25519"
	"errors"
	"fmt"
)

// Evidence shows that a member's key has signed two different releases of one round: a copy of its device is at work,
// or the device was set back and has made the round again. Everybody who has the member's public key can check it.
type Evidence struct {
	Member string    `json:"member"`
	Round  int       `json:"round"`
	First  Statement `json:"first"`
	Second Statement `json:"second"`
}

// NewEvidence returns the evidence that two releases of a member give. It does not verify them.
func NewEvidence(member string, first, second *Statement) Evidence {
	return Evidence{member, first.Round, *first, *second}
}

// String says what the evidence shows.
func (e Evidence) String() string {
	return fmt.Sprintf("%q has signed two different releases of round %d: it has a double, or was set back",
		e.Member, e.Round)
}

// Check reports what keeps evidence from being about two releases, the first of the round that it names.
func (e *Evidence) Check() error {
	if e.First.Kind != Release || e.Second.Kind != Release || e.First.Round != e.Round {
		return fmt.Errorf("signed: evidence: round is %d, and %v %d was signed, and %v %d", e.Round, e.First.Kind, e.First.Round,
			e.Second.Kind, e.Second.Round)
	}
	return nil
}

// Verify checks, for a run and a fleet as in [NewScope], both signatures and that they contradict each other.
func (e Evidence) Verify(run string, fleet [32]byte, keys []ed25519.PublicKey) error {
	scope := NewScope(run, fleet, e.Member)
	if err := errors.Join(e.Check(), e.First.Verify(scope, keys), e.Second.Verify(scope, keys)); err != nil {
		return err
	}
	if !e.First.Contradicts(&e.Second) {
		return fmt.Errorf("signed: evidence: releases %d and %d of %q do not contradict each other", e.First.Round, e.Second.Round,
			e.Member)
	}
	return nil
}
