package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Snapshot is the last state that a node has saved in a [Dir].
type Snapshot struct {
	Member   string
	Fleet    [32]byte  // hash of its fleet
	Build    string    // names the arithmetic that made it
	Round    int       // releases made, cool-down rounds included
	Model    []float32 // the last release, which is the model that the node holds
	End      int       // the last round that touches data, if the run ends early; 0 otherwise
	Blank    int       // the last of the releases that a replacement device makes without data; 0 if none was lost
	Averaged []float32 // the mean of the releases; nil if the node does not keep it
	Ledger   string    // the ledger's [dpmech.Head] at that time, JSON; empty without a ledger
	Note     string    // of the save: JSON
}

// ReadSnapshot reads the last state of a node from the directory of its store, or from one slot, without the store's
// lock and without changing anything. While the node runs, it finds one of the last two releases. It does not decide
// whether the store could be opened, see [Inspect]. The error wraps fs.ErrNotExist if nothing was ever saved.
func ReadSnapshot(path string) (*Snapshot, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, named(err)
	}
	if !info.IsDir() {
		s, err := readSlotFile(path)
		if err != nil {
			return nil, err
		}
		return decodeSnapshot(s, path)
	}
	// A running node overwrites one slot while the other is whole, and may come to the other between two reads. So one
	// slot alone counts only if the other stays as it is; otherwise they are read again, for a while.
	const tries, patience = 5, 2 * time.Second
	var newest *slot
	var faults error
	began := time.Now()
	for try, before := 1, ""; ; try++ {
		newest, faults = nil, nil
		for i := range 2 {
			s, err := readSlotFile(filepath.Join(path, slotName(i)))
			if err != nil {
				faults = errors.Join(faults, err)
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
	return decodeSnapshot(*newest, path)
}

// readSlotFile reads a slot and its state.
func readSlotFile(path string) (s slot, err error) {
	dir, name := filepath.Split(path)
	var fault error
	err = withFile(osDisk(dir), name, false, func(f file, size int64) error {
		s, fault = readSlot(f, size, true)
		return nil
	})
	switch {
	case errors.Is(err, errMissing):
		fault = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	case err != nil:
		return s, err
	case errors.Is(fault, errEmpty):
		fault = fmt.Errorf("%w: %w", fault, fs.ErrNotExist)
	case fault == nil && s.version != slotVersion:
		fault = fmt.Errorf("is of format %d, and this build reads format %d", s.version, slotVersion)
	}
	if fault != nil {
		return s, fmt.Errorf("state: %s %w", path, fault)
	}
	return s, nil
}

// decodeSnapshot decodes a slot's state.
func decodeSnapshot(s slot, path string) (*Snapshot, error) {
	var snap wire.Snapshot
	if err := wire.DecodeSnapshot(s.State, &snap); err != nil {
		return nil, fmt.Errorf("state: %s: saved state of release %d: %w", path, s.Round, err)
	}
	blank, last := 0, &snap.State
	if snap.Generation > 0 {
		blank = last.Recovered + 2
	}
	return &Snapshot{
		Member: snap.Member, Fleet: snap.Fleet, Build: snap.Build, Round: last.Round, Model: last.X, Blank: blank,
		End: last.End, Averaged: last.Mean, Ledger: snap.Ledger, Note: s.Note,
	}, nil
}
