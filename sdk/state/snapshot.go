package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Snapshot is the last state that a node saved in a [Dir].
type Snapshot struct {
	Member   string
	Fleet    [32]byte  // SHA-256 of the fleet file
	Build    string    // names the arithmetic that computed the state
	Round    int       // releases made, including cool-down rounds
	Model    []float32 // last release, which is the model that the node holds
	End      int       // last round that uses data, if the run ends early; 0 otherwise
	Early    int       // number of the last release, if a neighbor's early end reduced it; 0 otherwise
	Replaced bool      // the device replaced a lost device
	Averaged []float32 // mean of the releases; nil if the node does not keep this mean
	Ledger   string    // the ledger's [dpmech.Head] when the state was saved, as JSON; empty without a ledger
	Note     string    // note of the save, see [Record]
}

// ReadSnapshot reads a node's last state from the directory of its store. It does not take the lock and changes
// nothing. While the node runs, the result is the state of one of the last two releases. ReadSnapshot makes fewer
// checks than [Open]; use [Inspect] to check the whole directory. The error wraps fs.ErrNotExist if nothing was ever
// saved.
func ReadSnapshot(dir string) (*Snapshot, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, named(err)
	}
	// A running node overwrites one slot at a time and may begin to overwrite the other slot between two reads. If only
	// one slot is complete, it is therefore used only if the other slot stays unchanged; otherwise both slots are read
	// again, up to a limit.
	const tries, patience = 5, 2 * time.Second
	began := time.Now()
	for try, before := 1, ""; ; try++ {
		s := scan{dir: dir}
		if err := s.readSlots(osDisk(dir), false); err != nil {
			return nil, err
		}
		faults := errors.Join(s.fault(0), s.fault(1))
		if faults == nil || try >= tries && faults.Error() == before || time.Since(began) > patience {
			for i := len(s.whole()) - 1; i >= 0; i-- {
				if one := s.whole()[i]; one.version == slotVersion {
					return decodeSnapshot(one.slot, dir)
				}
			}
			return nil, faults
		}
		before = faults.Error()
	}
}

// fault returns the reason why a slot has no readable state, or nil if it has one.
func (s *scan) fault(i int) error {
	switch sl := s.slots[i]; {
	case sl.fault == errMissing || sl.fault == errEmpty:
		return fmt.Errorf("state: %s %w: %w", s.path(i), sl.fault, fs.ErrNotExist)
	case sl.fault != nil:
		return fmt.Errorf("state: %s %w", s.path(i), sl.fault)
	case sl.version != slotVersion:
		return fmt.Errorf("state: %s has format %d, but this build reads format %d", s.path(i), sl.version, slotVersion)
	}
	return nil
}

func decodeSnapshot(s slot, path string) (*Snapshot, error) {
	var snap wire.Snapshot
	if err := wire.DecodeSnapshot(s.State, &snap); err != nil {
		return nil, fmt.Errorf("state: %s: saved state of release %d: %w", path, s.Round, err)
	}
	last := &snap.State
	return &Snapshot{
		Member: snap.Member, Fleet: snap.Fleet, Build: snap.Build, Round: last.Round, Model: last.X, Replaced: snap.Epoch > 0,
		End: last.End, Early: last.Early, Averaged: last.Mean, Ledger: snap.Ledger, Note: s.Note,
	}, nil
}
