package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Report describes what [Inspect] found in the directory of a [Dir].
type Report struct {
	Round   int      // of the newest whole save; 0 before the first
	Journal Journal  // as stored; its signatures are not verified
	Remarks []string // one sentence for each save that was interrupted
	Refused error    // why a node would refuse to start with this directory; nil if it would start
}

// Inspect reads the store in a directory without its lock and changes nothing. If a node is running, the slot that it
// is writing may be reported as torn. Inspect fails only if the files cannot be read.
func Inspect(dir string) (Report, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return Report{}, named(err)
	}
	s, err := scanDir(osDisk(dir), dir, false)
	if err != nil {
		return Report{}, err
	}
	r := Report{Round: max(0, s.newest())}
	path := filepath.Join(dir, JournalName)
	text, err := readIfThere(path)
	if err == nil {
		if r.Journal, err = ParseJournal(text); err != nil {
			err = fmt.Errorf("%w: %s", err, path)
		}
	}
	if r.Refused = s.validate(); r.Refused == nil {
		r.Refused, r.Remarks = cmp.Or(checkStore(dir), err), s.remarks()
	}
	return r, nil
}

type scan struct {
	dir   string
	slots [2]scannedSlot
	log   releaseLog
	noLog bool
}

type scannedSlot struct {
	slot
	fault error // what is wrong with the slot; nil if it is whole
}

// torn reports whether the slot has been written but is not whole.
func (s scannedSlot) torn() bool {
	return s.fault != nil && s.fault != errEmpty && !errors.Is(s.fault, errFormat)
}

func (s *scan) path(i int) string { return filepath.Join(s.dir, slotName(i)) }
func (s *scan) logPath() string   { return filepath.Join(s.dir, logName) }

// whole returns the slots that are whole, the older slot first.
func (s *scan) whole() []scannedSlot {
	w := slices.DeleteFunc(slices.Clone(s.slots[:]), func(sl scannedSlot) bool { return sl.fault != nil })
	if len(w) == 2 && w[0].Round > w[1].Round {
		w[0], w[1] = w[1], w[0]
	}
	return w
}

// newest returns the round of the newest state, or -1 in a fresh store.
func (s *scan) newest() int {
	if w := s.whole(); len(w) > 0 {
		return w[len(w)-1].Round
	}
	return -1
}

// readSlots reads the slots. If settle is set, it first syncs each slot: a process killed between write and sync leaves
// a slot that is whole in memory but not on the disk.
func (s *scan) readSlots(on disk, settle bool) error {
	for i := range s.slots {
		sl := &s.slots[i]
		err := withFile(on, slotName(i), settle, func(f file, size int64) error {
			sl.slot, sl.fault = readSlot(f, size)
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			sl.fault = errEmpty
		} else if err != nil {
			return err
		}
	}
	return nil
}

// scanDir reads a directory. If settle is set, it first syncs the files, as readSlots does.
func scanDir(on disk, dir string, settle bool) (*scan, error) {
	s := &scan{dir: dir}
	if err := s.readSlots(on, settle); err != nil {
		return nil, err
	}
	var text []byte
	err := withFile(on, logName, settle, func(f file, size int64) error {
		text = make([]byte, size)
		if err := readAt(f, text, 0); err != nil {
			return fmt.Errorf("state: %s %w", s.logPath(), err)
		}
		return nil
	})
	if s.noLog = errors.Is(err, fs.ErrNotExist); s.noLog {
		err = nil
	}
	s.log = readLog(text)
	return s, err
}

// withFile opens a file, syncs it if settle is set, calls use with the file and its size, and closes the file.
func withFile(on disk, name string, settle bool, use func(f file, size int64) error) error {
	flag := os.O_RDONLY
	if settle {
		flag = os.O_RDWR
	}
	f, err := on.open(name, flag)
	if err != nil {
		return named(err)
	}
	size, err := f.size()
	if err == nil && settle {
		err = f.sync()
	}
	if err != nil {
		return errors.Join(named(err), f.Close())
	}
	return errors.Join(use(f, size), f.Close())
}

// anew ends the advice of each error about a state from which no node can continue.
const anew = "start this member in an empty directory, under a new run"

// validate returns an error if no sequence of saves and crashes can have left these files. It relies on two facts: the
// log exists before the first slot is written, and a slot is durable before its line is in the log.
func (s *scan) validate() error {
	for i := range s.slots {
		if err := s.validSlot(i); err != nil {
			return err
		}
	}
	switch a, b, newest := s.slots[0], s.slots[1], s.newest(); {
	case a.torn() && b.torn():
		return fmt.Errorf("state: %s %w, and %s %w: no state is left to continue from; restore the newest version of both files, not an "+
			"older one, or %s", s.path(0), a.fault, s.path(1), b.fault, anew)
	case s.noLog && (newest >= 0 || a.torn() || b.torn()):
		return fmt.Errorf("state: %s is missing, so the program cannot tell whether the slot files are the newest; restore the "+
			"missing file or, if you know that the slot files are the newest, create an empty file with that name", s.logPath())
	case newest < s.log.newest || newest < 0 && len(s.log.text) > 0:
		return s.rolledBack(newest)
	case a.fault == nil && b.fault == nil && a.Round-b.Round != 1 && b.Round-a.Round != 1:
		return fmt.Errorf("state: %s holds round %d and %s holds round %d, which no crash can cause: an old file was restored, or the "+
			"disk lost a save that it had confirmed; restore the newest file, or %s", s.path(0), a.Round, s.path(1), b.Round, anew)
	}
	return nil
}

// validSlot returns an error if a slot is of another build, in the place of the other one, or of another run.
func (s *scan) validSlot(i int) error {
	sl := s.slots[i]
	switch _, other := s.log.find(sl.slot); {
	case errors.Is(sl.fault, errFormat):
		return fmt.Errorf("state: %s %w", s.path(i), sl.fault)
	case sl.fault != nil:
		return nil
	case sl.Round&1 != i:
		return fmt.Errorf("state: %s holds round %d, which belongs in %s: files were renamed or copied; put each file back "+
			"in its place", s.path(i), sl.Round, s.path(1-i))
	case other:
		return fmt.Errorf("state: %s holds a state of round %d that does not match the entry in %s: the file is from "+
			"another run; restore the original file, or %s", s.path(i), sl.Round, s.logPath(), anew)
	}
	return nil
}

// rolledBack returns the error for a log with a release whose state no slot holds.
func (s *scan) rolledBack(newest int) error {
	last, left := "a release", "no slot holds a state"
	if s.log.newest >= 0 {
		last = fmt.Sprintf("the release of round %d", s.log.newest)
	}
	if newest >= 0 {
		left = fmt.Sprintf("the newest intact state, in %s, belongs to round %d", s.path(newest&1), newest)
	}
	for i, sl := range s.slots {
		if sl.fault != nil {
			left += fmt.Sprintf(" (%s %v)", s.path(i), sl.fault)
		}
	}
	return fmt.Errorf("state: %s has %s, but %s: %w, and continuing would make that release a second time with different "+
		"noise; restore the newer slots, or %s", s.logPath(), last, left, ErrRollback, anew)
}

// remarks returns one sentence for each save that was interrupted.
func (s *scan) remarks() (all []string) {
	newest := s.newest()
	for i, sl := range s.slots {
		switch {
		case sl.torn() && newest < 0:
			all = append(all, fmt.Sprintf("%s %v: the first save was interrupted, and nothing was released", s.path(i), sl.fault))
		case sl.torn():
			all = append(all, fmt.Sprintf("%s %v: a save was interrupted; round %d is intact", s.path(i), sl.fault, newest))
		}
	}
	return all
}

// ReadSnapshot reads a node's last state from the directory of its store. It does not take the lock and changes
// nothing. While the node runs, the result is the state of one of the last two releases. ReadSnapshot makes fewer
// checks than [Open]; use [Inspect] to check the whole directory. The error wraps fs.ErrNotExist if nothing was ever
// saved. State.Queries, State.Failed and Failure of the result depend on the data: keep them on the device.
func ReadSnapshot(dir string) (*wire.Snapshot, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, named(err)
	}
	// A running node may write to a slot while this function reads it. If a slot is torn, both slots are read again, up to a
	// limit, because the other slot may be out of date by then.
	const tries = 5
	for try := 1; ; try++ {
		s := scan{dir: dir}
		if err := s.readSlots(osDisk(dir), false); err != nil {
			return nil, err
		}
		if try < tries && (s.slots[0].torn() || s.slots[1].torn()) {
			continue
		}
		if whole := s.whole(); len(whole) > 0 {
			newest, snap := whole[len(whole)-1], new(wire.Snapshot)
			if err := wire.DecodeSnapshot(newest.State, snap); err != nil {
				return nil, fmt.Errorf("state: %s: saved state of release %d: %w", s.path(newest.Round&1), newest.Round, err)
			}
			return snap, nil
		}
		var faults []error
		for i, sl := range s.slots {
			if sl.fault == errEmpty {
				sl.fault = fmt.Errorf("%w: %w", errEmpty, fs.ErrNotExist)
			}
			faults = append(faults, fmt.Errorf("state: %s %w", s.path(i), sl.fault))
		}
		return nil, errors.Join(faults...)
	}
}
