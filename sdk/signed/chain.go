package signed

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
)

// Chain holds a member's last signed releases, at most four, sorted by round.
type Chain []Statement

const maxChain = 4

// Last returns the newest release, or nil.
func (c Chain) Last() *Statement { return c.newest(func(*Statement) bool { return true }) }

func (c Chain) newest(matches func(r *Statement) bool) *Statement {
	for i := len(c) - 1; i >= 0; i-- {
		if matches(&c[i]) {
			return &c[i]
		}
	}
	return nil
}

// Of returns the release of a round, or nil.
func (c Chain) Of(round int) *Statement {
	return c.newest(func(r *Statement) bool { return r.Round == round })
}

// Proving returns the newest release of the given round or a later round. If there is none, it returns the newest
// release.
func (c Chain) Proving(round int) *Statement {
	return cmp.Or(c.newest(func(r *Statement) bool { return r.Round >= round }), c.Last())
}

// Add inserts a release, or replaces the release of the same round, and drops the oldest release if there are
// more than four. Add may modify c.
func (c Chain) Add(r Statement) Chain {
	at, known := slices.BinarySearchFunc(c, r, func(a, b Statement) int { return cmp.Compare(a.Round, b.Round) })
	if known {
		c[at] = r
		return c
	}
	c = slices.Insert(c, at, r)
	return c[max(0, len(c)-maxChain):]
}

// Evidence proves that a member's key signed two different releases of one round, so the member's device has a clone or
// was rolled back.
type Evidence struct {
	Member string    `json:"member"`
	Round  int       `json:"round"`
	First  Statement `json:"first"`
	Second Statement `json:"second"`
}

// NewEvidence returns evidence that consists of two releases of a member. It does not verify them.
func NewEvidence(member string, first, second *Statement) Evidence {
	return Evidence{member, first.Round, *first, *second}
}

// String returns a sentence that names the member and the round.
func (e Evidence) String() string {
	return fmt.Sprintf("%q has signed two different releases of round %d: its device was copied or rolled back", e.Member, e.Round)
}

// Check returns an error unless the evidence has two releases and the first of them belongs to Round.
func (e *Evidence) Check() error {
	if e.First.Kind != Release || e.Second.Kind != Release || e.First.Round != e.Round {
		return fmt.Errorf("signed: evidence: found %v of round %d and %v of round %d, want two releases of round %d",
			e.First.Kind, e.First.Round, e.Second.Kind, e.Second.Round, e.Round)
	}
	return nil
}

// Verify checks both signatures, and that the releases contradict each other. The arguments run and fleet are as in
// [NewScope].
func (e Evidence) Verify(run string, fleet [32]byte, keys []ed25519.PublicKey) error {
	scope := NewScope(run, fleet, e.Member)
	if err := errors.Join(e.Check(), e.First.Verify(scope, keys), e.Second.Verify(scope, keys)); err != nil {
		return err
	}
	if !e.First.Contradicts(&e.Second) {
		return fmt.Errorf("signed: invalid evidence: releases %d and %d of %q do not contradict each other",
			e.First.Round, e.Second.Round, e.Member)
	}
	return nil
}
