package sdk

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"sync/atomic"
)

// DirStore is a [Store] in a directory of four files:
//
//	slot-0, slot-1   the states of even and of odd rounds, each with a SHA-256 over it
//	releases.log     a line of JSON for every save, only ever added to, to be read by people and by [InspectDir]
//	lock             held while the store is open, against a second process
//
// The slots get their full size when the store is made, so that a full disk is found then and a save writes in place. (A
// file system that copies on write, such as btrfs or ZFS, allots new blocks all the same and can run full later. That ends
// the process as any failed write does, and costs nothing but the time to start again.)
//
// What is promised holds as far as the disk does what it says. Some flash reports a sync as done and loses the data
// with the power: a store that went back to an earlier save as a whole looks sound from inside. The node finds out from its
// neighbors, who tell it on start the highest round that they hold of it.
type DirStore struct {
	dir     string
	limit   int // of a state, in bytes
	lock    io.Closer
	disk    disk
	slots   [2]diskFile
	log     diskFile
	logEnd  int64
	written atomic.Int64
	held    [2]bool // which slots are whole
	newest  int     // round; -1 in a fresh store
	remarks []string
	err     error // what Save failed with, or that the store is closed
}

const logName = "releases.log"

func slotName(i int) string { return fmt.Sprintf("slot-%d", i) }

var errLocked = errors.New("another process has the lock")

// OpenDir opens the store in a directory, and makes it, directory included, if there is none. size is the length in bytes of
// the longest state that will be saved; slots that are too small for it grow.
//
// What a crash leaves behind is mended and listed by [DirStore.Remarks]. Anything else is refused, with an error that names
// the files and says what to do: a store in use by another process, two damaged slots, slots that are missing, from
// another build or not of successive rounds, a missing log, and, with [ErrRollback], a state older than the
// log. A directory that is refused is left as it was found.
func OpenDir(dir string, size int) (*DirStore, error) {
	if size < 0 || size > math.MaxInt-slotOverhead {
		return nil, fmt.Errorf("sdk: the size of a state is %d bytes, must be 0 to %d", size, math.MaxInt-slotOverhead)
	}
	if err := makeDir(dir); err != nil {
		return nil, advise(err)
	}
	name := filepath.Join(dir, "lock")
	lock, err := lockFile(name)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("sdk: %w of the store in %s (%s): stop that process, or give this node a directory of its own", err, dir, name)
	}
	if err != nil {
		return nil, advise(err)
	}
	d, err := openStore(osDisk(dir), dir, size)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lock = lock
	return d, nil
}

// openStore is OpenDir on any disk; dir is for messages.
func openStore(on disk, dir string, size int) (*DirStore, error) {
	found, err := look(on, dir, true)
	if err != nil {
		return nil, err
	}
	v, err := found.judge()
	if err != nil {
		return nil, err
	}
	d := &DirStore{dir: dir, limit: size, disk: on, held: v.held, newest: v.newest, remarks: v.remarks}
	if err := d.prepare(found); err != nil {
		return nil, errors.Join(err, d.release())
	}
	return d, nil
}

// prepare brings the files into the shape that Save expects: slots first, since the log stands for a store that is complete.
func (d *DirStore) prepare(found *sight) error {
	for i := range d.slots {
		f, err := d.disk.open(slotName(i), true, true)
		if err != nil {
			return advise(err)
		}
		d.slots[i] = f
		if err := allot(f, int64(d.limit)+slotOverhead); err != nil {
			return advise(err)
		}
		if d.newest < 0 && found.slots[i].torn() {
			// The next first save may go to the other slot and be torn as well: two damaged slots would be refused.
			if _, err := f.WriteAt(make([]byte, slotHeader), 0); err != nil {
				return advise(err)
			}
			if err := f.sync(); err != nil {
				return advise(err)
			}
		}
	}
	var err error
	if d.log, err = d.disk.open(logName, true, true); err != nil {
		return advise(err)
	}
	if err := d.disk.sync(); err != nil {
		return advise(err)
	}
	d.logEnd = found.log.end
	if found.log.size > d.logEnd {
		if err := d.log.truncate(d.logEnd); err != nil {
			return advise(err)
		}
	}
	added := false
	for _, s := range found.whole() {
		if has, _ := found.log.find(s.slot); has {
			continue
		}
		if err := d.append(s.Saved, s.digest); err != nil {
			return err
		}
		added = true
	}
	if added || found.log.size > found.log.end {
		return advise(d.log.sync())
	}
	return nil
}

// allot makes a file at least size bytes long, of blocks that are its own and not of a hole: later writes go in
// place. If that fails, the file gets its old length back.
func allot(f diskFile, size int64) error {
	old, err := f.size()
	if err != nil || old >= size {
		return err
	}
	zeros := make([]byte, 1<<18)
	for at := old; at < size; {
		n := min(size-at, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], at); err != nil {
			return errors.Join(err, f.truncate(old))
		}
		at += n
	}
	if err := f.sync(); err != nil {
		return errors.Join(err, f.truncate(old))
	}
	return nil
}

// String returns the directory, for messages about what was found there.
func (d *DirStore) String() string { return d.dir }

// Remarks returns what [OpenDir] found that was not as it should be and did no harm, such as a slot torn by a crash: one
// sentence each, for the node's log.
func (d *DirStore) Remarks() []string { return d.remarks }

// Load implements [Store]. Each state is read into a buffer of its own.
func (d *DirStore) Load() ([]Saved, error) {
	if d.err != nil {
		return nil, d.err
	}
	var kept []Saved
	for back := range 2 {
		i := (d.newest - back) & 1
		if d.newest < 0 || !d.held[i] {
			continue
		}
		name := filepath.Join(d.dir, slotName(i))
		size, err := d.slots[i].size()
		if err != nil {
			return nil, advise(err)
		}
		s, err := readSlot(d.slots[i], size, true)
		if err == nil && s.Round != d.newest-back {
			err = fmt.Errorf("holds round %d instead of %d", s.Round, d.newest-back)
		}
		if err != nil {
			return nil, fmt.Errorf("sdk: %s was whole before, and now %w: the disk is failing, or something else writes there", name, err)
		}
		kept = append(kept, s.Saved)
	}
	return kept, nil
}

// Save implements [Store]. It writes the slot of the round, even or odd, syncs it, and then adds a line to the log. The log is not synced every round: a power cut can take its last lines, and the next OpenDir puts back
// those that the slots still know.
func (d *DirStore) Save(s Saved) error {
	if d.err != nil {
		return d.err
	}
	if err := d.save(s); err != nil {
		d.err = fmt.Errorf("%w (saving round %d; the store in %s takes nothing more until it is opened again)", err, s.Round, d.dir)
		return d.err
	}
	return nil
}

func (d *DirStore) save(s Saved) error {
	switch {
	case s.Round < 0:
		return errors.New("sdk: a round is negative")
	case d.newest >= 0 && s.Round != d.newest+1:
		return fmt.Errorf("sdk: the newest state is of round %d, and the next must be of the round after", d.newest)
	case len(s.State) > d.limit:
		return fmt.Errorf("sdk: the state is %d bytes long, the store was opened for %d", len(s.State), d.limit)
	case len(s.Note) > MaxNote:
		return fmt.Errorf("sdk: the note is %d bytes long, must be at most %d", len(s.Note), MaxNote)
	case s.Note != "" && !json.Valid([]byte(s.Note)):
		return errors.New("sdk: the note is not JSON")
	}
	i := s.Round & 1
	f := d.slots[i]
	d.written.Add(int64(slotHeader + len(s.State) + len(s.Note) + sha256.Size))
	d.held[i] = false
	digest, err := writeSlot(f, s)
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		// After a sync that failed, a system may count the pages as written: the next process would read a whole slot
		// that is not on the disk. Without its digest it reads a torn one. Nothing more can be done if this fails too.
		f.WriteAt(make([]byte, len(digest)), slotHeader+int64(len(s.State)+len(s.Note)))
		return advise(err)
	}
	if err := d.append(s, digest); err != nil {
		return err
	}
	if d.newest < 0 {
		// An empty log means that nothing was ever released, so that a torn slot is known for a first save that
		// failed. The first line has to be as durable as its slot.
		if err := d.log.sync(); err != nil {
			return advise(err)
		}
	}
	d.held[i], d.newest = true, s.Round
	return nil
}

// Written returns how many bytes Save has handed to the files, slots and log, since the store was opened: the state and about
// half a kilobyte a round. What the file system makes of them, journal and whole pages, comes on top. It may be called from any
// goroutine.
func (d *DirStore) Written() int64 { return d.written.Load() }

// append adds the line of a save to the log.
func (d *DirStore) append(s Saved, digest [32]byte) error {
	line, err := releaseLine(s, digest)
	if err != nil {
		return fmt.Errorf("sdk: the note of round %d in %s: %w", s.Round, d.dir, err)
	}
	d.written.Add(int64(len(line)))
	if _, err := d.log.WriteAt(line, d.logEnd); err != nil {
		return advise(err)
	}
	d.logEnd += int64(len(line))
	return nil
}

// Close implements [Store]. It syncs the log and gives up the lock.
func (d *DirStore) Close() error {
	if d.lock == nil && d.log == nil {
		return nil
	}
	var err error
	if d.err == nil {
		err = advise(d.log.sync())
	}
	d.err = fmt.Errorf("sdk: the store in %s is closed", d.dir)
	return errors.Join(err, d.release())
}

// release closes all files, the lock last.
func (d *DirStore) release() error {
	var errs []error
	for _, f := range []diskFile{d.slots[0], d.slots[1], d.log} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	d.slots, d.log, d.lock = [2]diskFile{}, nil, nil
	return errors.Join(errs...)
}
