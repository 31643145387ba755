package state

import (
	"errors"
	"fmt"
	"sync"
)

// Store keeps the state behind a node's releases. A node saves the state of a round, marks the release in the ledger, and
// then sends it, so that after a crash it sends the same bits again instead of drawing other noise. Two states are kept
// because a neighbor can be one round behind, and never more, and need the earlier release again.
//
// A store belongs to one node, and its methods to one goroutine at a time. [Dir] keeps it in files.
type Store interface {
	// Load returns the last two whole saves, newest first: one if the other was torn by a crash or never made, none in a
	// fresh store. The slices belong to the caller. After an error what is kept cannot be trusted, and the node must not
	// start afresh.
	Load() ([]Record, error)

	// Save commits the state of a round: once it returns nil, Load finds the state after a crash and a power cut. It
	// replaces the older of the two kept. r.Round is one more than that of the newest state; in a fresh store any that is
	// not negative. r.State is only read during the call. An error is final: whether the state was written is unknown,
	// nothing that rests on it may be sent, and every later call except Close fails.
	Save(r Record) error

	// Kept returns what Keep has kept under a name, nil for nothing.
	Kept(name string) ([]byte, error)

	// Keep keeps a few kilobytes under a name, durably, in place of what was kept before: after a crash there is the old or
	// the new. nil removes it. After an error either may be there, and the store goes on.
	Keep(name string, data []byte) error

	// Close closes the store. Further calls do nothing and return nil.
	Close() error
}

// Serial returns a store of which one method at a time is at work.
func Serial(s Store) Store { return &serial{Store: s} }

type serial struct {
	mu sync.Mutex
	Store
}

func (s *serial) Save(r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Save(r)
}

func (s *serial) Keep(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Keep(name, data)
}

// Record is one commit of a [Store].
type Record struct {
	Round int    // of which release, counted by the node
	State []byte // all that the next round depends on; opaque to the store
	Note  string // for the log of releases: empty, or one JSON value of at most MaxNote bytes
}

// MaxNote is the length in bytes of the longest note of a [Record].
const MaxNote = 4096

// ErrRollback is wrapped by an error that says: the state on disk is older than a release that was already made, the
// ledger is older than a line that was already signed, or another device has taken the place of this one. Continuing
// would release a round a second time with other noise, and the two together reveal more than was paid for.
var ErrRollback = errors.New("the state was set back")

// ErrLost is an [ErrRollback] for a state that is missing or old while the ledger or a neighbor has releases that it lacks:
// another device, or this one with nothing, can take the place of the lost one.
var ErrLost = fmt.Errorf("%w", ErrRollback)
