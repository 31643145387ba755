package tinytest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// CheckStore checks a store against the promises of [state.Store], and returns one error with a line for each broken
// rule. open opens the store, which is new at first; CheckStore calls it again, after Close, to check the content after
// a restart. size is the length in bytes of the longest state that the store must accept, at least 1. CheckStore cannot
// check the effect of a power failure.
func CheckStore(open OpenStore, size int) error {
	if size < 1 {
		return fmt.Errorf("tinytest: store: size is %d, want at least 1", size)
	}
	c := &storeTrial{open: open, size: size}
	// Each rule starts with the content that the rules before it left, so a lostError ends the check. The last rule
	// leaves the store broken.
	rules := []rule{
		{"a fresh store has no states", c.fresh},
		{"Load finds the last two saves, newest first, at once and after a restart", c.lastTwo},
		{"states of any bytes and length, and notes of up to MaxNote bytes, come back as they were", c.contents},
		{"what Load returns belongs to the caller, and what Save is given is not kept", c.ownership},
		{"a further Close returns nil", c.closes},
		{"an error of Save is final, and leaves what was saved before", c.final},
	}
	lost := false
	for i, r := range rules {
		rules[i].check = func() (err error) {
			if !lost {
				err = r.check()
				lost = errors.As(err, new(lostError))
			}
			return err
		}
	}
	err := tryRules("store", rules)
	if c.store != nil {
		_ = c.store.Close()
	}
	return err
}

// lostError means that the store is in an unknown state.
type lostError struct{ error }

type storeTrial struct {
	open  OpenStore
	size  int
	store state.Store
	kept  []state.Record // expected content, newest first
}

func (c *storeTrial) restart() (err error) {
	if c.store != nil {
		if err := c.store.Close(); err != nil {
			return lostError{fmt.Errorf("Close: %w", err)}
		}
	}
	if c.store, err = c.open(); err != nil {
		c.store = nil
		return lostError{fmt.Errorf("the store does not open: %w", err)}
	}
	return nil
}

// save commits the next round.
func (c *storeTrial) save(content []byte, note string) error {
	round := 3
	if len(c.kept) > 0 {
		round = c.kept[0].Round + 1
	}
	given := state.Record{Round: round, State: bytes.Clone(content), Note: note}
	if err := c.store.Save(given); err != nil {
		const format = "Save of round %d, %d bytes and a note of %d: %w"
		return lostError{fmt.Errorf(format, round, len(content), len(note), err)}
	}
	if !bytes.Equal(given.State, content) {
		return fmt.Errorf("Save of round %d has changed the state it was given", round)
	}
	for i := range given.State { // the store must have made a copy by now
		given.State[i] ^= 0xff
	}
	c.kept = lastTwo([]state.Record{{Round: round, State: bytes.Clone(content), Note: note}}, c.kept)
	return nil
}

// check compares the result of Load with the expected content.
func (c *storeTrial) check() error {
	got, err := c.store.Load()
	if err != nil {
		return fmt.Errorf("Load: %w", err)
	}
	if len(got) != len(c.kept) {
		return fmt.Errorf("Load finds %d states, want %d", len(got), len(c.kept))
	}
	for i, want := range c.kept {
		switch g := got[i]; {
		case g.Round != want.Round:
			return fmt.Errorf("state %d of Load is of round %d, want %d", i, g.Round, want.Round)
		case !bytes.Equal(g.State, want.State):
			return fmt.Errorf("the state of round %d has come back as %d other bytes, want the %d that were saved",
				g.Round, len(g.State), len(want.State))
		case g.Note != want.Note:
			return fmt.Errorf("the note of round %d is %.40q, want %.40q", g.Round, g.Note, want.Note)
		}
	}
	return nil
}

// both compares Load with the expected content twice: at once, and after a restart.
func (c *storeTrial) both() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.restart(); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	return nil
}

// keeps commits a round with the given content, and checks the store at once and after a restart.
func (c *storeTrial) keeps(content []byte, note string) error {
	if err := c.save(content, note); err != nil {
		return err
	}
	return c.both()
}

func (c *storeTrial) fresh() error {
	if err := c.restart(); err != nil {
		return err
	}
	return c.both()
}

func (c *storeTrial) lastTwo() error {
	for i := range 5 {
		if err := c.keeps(pattern(i, min(c.size, 20)), ""); err != nil {
			return err
		}
	}
	for i := range 3 { // without a restart in between
		if err := c.save(pattern(i, min(c.size, 20)), ""); err != nil {
			return err
		}
	}
	return c.both()
}

// pattern returns bytes that identify round and position.
func pattern(round, length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + round*31 + 1)
	}
	return b
}

func (c *storeTrial) contents() error {
	for _, s := range []struct {
		state []byte
		note  string
	}{
		{pattern(1, c.size), `{"spent":1}`},
		{nil, ""},
		{make([]byte, c.size), `"` + strings.Repeat("x", state.MaxNote-2) + `"`},
		{bytes.Repeat([]byte{0xff}, (c.size+1)/2), "[]"},
		{pattern(2, 1), "null"},
	} {
		if err := c.keeps(s.state, s.note); err != nil {
			return err
		}
	}
	return nil
}

func (c *storeTrial) ownership() error {
	if err := c.save(pattern(3, c.size), ""); err != nil {
		return err
	}
	got, err := c.store.Load()
	if err != nil {
		return fmt.Errorf("Load: %w", err)
	}
	for _, s := range got {
		clear(s.State)
	}
	if err := c.check(); err != nil {
		return fmt.Errorf("after the caller has changed what Load returned: %w", err)
	}
	return nil
}

func (c *storeTrial) closes() error {
	err := errors.Join(c.store.Close(), c.store.Close())
	c.store = nil
	if lost := c.restart(); lost != nil || err != nil {
		return cmp.Or(lost, err)
	}
	return c.check()
}

// final saves a round that does not follow the last saved round. A store may refuse this round, but then all later
// calls must fail until the store is opened again, and the last state must survive.
func (c *storeTrial) final() error {
	round := c.kept[0].Round
	if c.store.Save(state.Record{Round: round + 7}) == nil {
		return nil
	}
	if c.store.Save(state.Record{Round: round + 1}) == nil {
		return errors.New("after a Save that failed another one returned nil")
	}
	if _, err := c.store.Load(); err == nil {
		return errors.New("after a Save that failed Load returned no error")
	}
	if err := c.restart(); err != nil {
		return err
	}
	got, err := c.store.Load()
	if err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	for _, s := range got {
		if s.Round == round && bytes.Equal(s.State, c.kept[0].State) {
			return nil
		}
	}
	return fmt.Errorf("the state of round %d is gone", round)
}
