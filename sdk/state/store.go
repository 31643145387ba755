package state

import (
	"errors"
	"fmt"
	"sync"
)

// Store keeps what a node must not forget: the state behind its releases. A node saves the state of a round first,
// marks the release in the ledger second, and sends it third. So after a crash it sends the same bits again instead of
// drawing other noise.
//
// Two states are kept because a neighbor can be one round behind, and never more, and need the earlier release again.
//
// A store belongs to one node, and its methods to one goroutine at a time. [Dir] keeps it in files.
type Store interface {
	// Load returns the last two saves that are whole, newest first: one if the other was torn by a crash or if there
	// was no other, none in a fresh store. The slices belong to the caller. An error means that what is kept cannot be
	// trusted; it is never a reason to start afresh.
	Load() ([]Record, error)

	// Save commits the state of a round: once it has returned nil, Load will find the state after a crash and after a
	// power cut. It replaces the older of the two kept. r.Round is one more than that of the newest state, any in a
	// fresh store, and never negative. r.State is read during the call and not kept.
	//
	// An error is final. Whether the state was written is unknown, nothing that rests on it may be sent, and every
	// later call except Close fails. The process ends, and the next one finds out from Load.
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
