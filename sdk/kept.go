package sdk

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Kept is what a [DirStore] holds of a node: its last release, and whose it is.
type Kept struct {
	Member   string
	Fleet    [32]byte  // [Fleet.Hash] of its fleet
	Build    string    // names the arithmetic that made it
	Round    int       // releases made, cool-down rounds included
	Model    []float32 // the last release, which is the model that the node holds
	Blank    int       // the last of the releases that a device in place of a lost one makes without data; 0 if none was lost
	Averaged []float32 // the mean of the releases; nil if the node does not keep it
	Ledger   string    // the ledger's [dpmech.Head] at that time, JSON; empty without a ledger
	Note     string    // of the save: JSON
}

// ReadKept reads what a node has kept last from the directory of its store, or from one slot, without the store's lock and
// without changing anything: also beside a node at work, of which it then finds one of the last two releases. It does not
// judge whether the store could be opened, see [InspectDir]. The error wraps fs.ErrNotExist if nothing was ever saved.
func ReadKept(path string) (*Kept, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, advise(err)
	}
	if !info.IsDir() {
		s, err := readWhole(path)
		if err != nil {
			return nil, fmt.Errorf("sdk: %s %w", path, err)
		}
		return keptIn(s, path)
	}
	// A node at work overwrites one slot while the other is whole. In between two reads it may have come to the other, and what
	// the first read found be older than the last two releases: one slot alone counts only if the other stays as it is. A node whose
	// rounds are shorter than a look at both slots is looked at again, for a while.
	const tries, patience = 5, 2 * time.Second
	var newest *slot
	var faults error
	began := time.Now()
	for try, before := 1, ""; ; try++ {
		newest, faults = nil, nil
		for i := range 2 {
			name := filepath.Join(path, slotName(i))
			s, err := readWhole(name)
			if err != nil {
				faults = errors.Join(faults, fmt.Errorf("sdk: %s %w", name, err))
			} else if newest == nil || s.Round > newest.Round {
				newest = &s
			}
		}
		if faults == nil || try >= tries && faults.Error() == before || time.Since(began) > patience {
			break
		}
		before = faults.Error()
	}
	if newest == nil {
		return nil, faults
	}
	return keptIn(*newest, path)
}

// readWhole reads a slot. The error says, after the file's name, why there is none.
func readWhole(name string) (s slot, err error) {
	f, err := osDisk("").open(name, false, false)
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("is missing: %w", fs.ErrNotExist)
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	size, err := f.size()
	if err != nil {
		return s, err
	}
	s, err = readSlot(f, size, true)
	switch {
	case errors.Is(err, errBlank):
		err = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	case err == nil && s.version != slotVersion:
		err = fmt.Errorf("is of format %d, and this build reads format %d", s.version, slotVersion)
	}
	return s, err
}

// keptIn decodes a slot's state.
func keptIn(s slot, path string) (*Kept, error) {
	var snap wire.Snapshot
	if err := wire.DecodeSnapshot(s.State, &snap); err != nil {
		return nil, fmt.Errorf("sdk: %s: stored state of release %d: %w", path, s.Round, err)
	}
	blank := 0
	if snap.Generation > 0 {
		blank = snap.State.Recovered + 2
	}
	return &Kept{Member: snap.Member, Fleet: snap.Fleet, Build: snap.Build, Round: snap.State.Round, Blank: blank, Model: snap.State.X,
		Averaged: snap.State.Mean, Ledger: snap.Ledger, Note: s.Note}, nil
}

// DirInUse says whether a process has the store in a directory open. It makes no file, and holds the store's lock for a
// moment if nobody has it: a store that is opened in this very moment may be refused.
func DirInUse(dir string) (bool, error) {
	name := filepath.Join(dir, "lock")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	lock, err := lockFile(name)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	if err != nil {
		return false, advise(err)
	}
	return false, advise(lock.Close())
}

// ModelHash names a model: the SHA-256 of its numbers as float32, little endian, in hex.
func ModelHash(x []float32) string { return hex.EncodeToString(hashOf(x)) }
