package state

import (
	"errors"
	"fmt"
)

// Store keeps the state behind a node's releases. A node saves the state of a round, marks the release in the ledger
// and then sends it, so that after a crash it sends the same bits again instead of drawing new noise. The store keeps
// two states because a neighbor can be one round behind, but never more, and then needs the earlier release again.
//
// A store belongs to one node, and only one goroutine at a time may call its methods. [Dir] is a store in files.
type Store interface {
	// Load returns the last two complete saves, newest first. It returns one save if the other save was torn by a crash
	// or never made, and none in a fresh store. The caller owns the slices. After an error the stored state cannot be
	// trusted, and the node must not start, even from an empty state.
	Load() ([]Record, error)

	// Save commits the state of a round: once it returns nil, Load finds the state after a crash or a power cut. Save
	// replaces the older of the two states. r.Round is the round after the newest state; in a fresh store any r.Round
	// >= 0 is valid. Save reads r.State only during the call and does not change it. An error is final: the state may
	// or may not have been written, nothing that depends on it may be sent, and all later calls except Close fail.
	Save(r Record) error

	// Kept returns what Keep stored under a name, or nil if nothing is stored.
	Kept(name string) ([]byte, error)

	// Keep durably stores a few kilobytes under a name and replaces earlier data: after a crash or an error, either the
	// old or the new data is stored. After an error the store remains usable.
	Keep(name string, data []byte) error

	// Close closes the store. Further calls of Close do nothing and return nil.
	Close() error
}

// Record is one commit of a [Store].
type Record struct {
	Round int    // number of the release, counted by the node
	State []byte // everything that the next round depends on; opaque to the store
	Note  string // for the log of releases: empty, or one JSON value of at most MaxNote bytes
}

// MaxNote is the maximum length in bytes of the note of a [Record].
const MaxNote = 4096

// ErrRollback is wrapped by the errors for two cases: the state on disk is older than a release that was made, or the
// ledger is older than a line that was signed. Continuing would repeat a release with different noise, and the two
// releases together reveal more than the privacy cost covers.
var ErrRollback = errors.New("the state was rolled back")

// ErrLost is an [ErrRollback] for a state that is missing or old although the ledger or a neighbor has a record of
// later releases. The device is out of this run unless its newest state is restored.
var ErrLost = fmt.Errorf("%w", ErrRollback)
