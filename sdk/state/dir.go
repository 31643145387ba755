package state

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Dir is a [Store] in a directory with four files:
//
//	slot-0, slot-1   the states of even and of odd rounds, each with its SHA-256
//	releases.log     a line of JSON for every save; the file only grows
//	lock             locked while the store is open, so that no second process can open it
//
// Keep adds journal.jsonl. Reserve detects a full disk early; later saves overwrite the allocated
// blocks in place (except on copy-on-write file systems such as btrfs and ZFS).
type Dir struct {
	dir     string
	lock    io.Closer
	disk    disk
	slots   [2]file
	log     file
	logEnd  int64
	newest  int     // round of the newest state; -1 in a fresh store
	whole   [2]bool // which slots have a state
	remarks []string
	err     error // error for further calls: after a failed Save or after Close
}

const (
	logName  = "releases.log"
	lockName = "lock"
)

func slotName(i int) string { return fmt.Sprintf("slot-%d", i) }

// Open opens the store in a directory and creates the directory and the files if necessary. It repairs the effects of a
// crash; [Dir.Remarks] names the saves that it interrupted. On other damage it changes nothing and returns an error
// that names the files and the remedy. This error wraps [ErrRollback] if the state is older than the log.
func Open(dir string) (*Dir, error) {
	if err := makeDir(dir); err != nil {
		return nil, named(err)
	}
	if err := checkStore(dir); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, lockName), os.O_CREATE)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("state: another process has locked the store in %s, or this one has it open (%w): stop that process, or give "+
			"this node a directory of its own", dir, err)
	}
	if err != nil {
		return nil, named(err)
	}
	d, err := openOn(osDisk(dir), dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lock = lock
	return d, nil
}

// openOn does the work of Open on any disk; dir is the directory's name in messages.
func openOn(on disk, dir string) (*Dir, error) {
	s, err := scanDir(on, dir, true)
	if err != nil {
		return nil, err
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	d := &Dir{dir: dir, disk: on, newest: s.newest(), remarks: s.remarks()}
	for i, sl := range s.slots {
		d.whole[i] = sl.fault == nil
	}
	if err := d.prepare(s); err != nil {
		return nil, errors.Join(named(err), d.closeFiles())
	}
	return d, nil
}

// prepare makes the files ready for Save. It prepares the slots before the log, because the existence of the log means
// that the store is complete.
func (d *Dir) prepare(s *scan) error {
	var err error
	for i := range d.slots {
		if d.slots[i], err = d.disk.open(slotName(i), os.O_RDWR|os.O_CREATE); err != nil {
			return err
		}
		err = allocate(d.slots[i], slotOverhead)
		if err == nil && d.newest < 0 && s.slots[i].torn() {
			// If the next attempt at a first save used the other slot and was torn, too, both slots would be damaged,
			// and Open would reject them. The slot of the torn save is therefore cleared now.
			err = writeSync(d.slots[i], make([]byte, slotHeader), 0)
		}
		if err != nil {
			return err
		}
	}
	if d.log, err = d.disk.open(logName, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if err := d.disk.sync(); err != nil {
		return err
	}
	d.logEnd = int64(s.log.end)
	changed := len(s.log.text) > s.log.end
	if changed {
		if err := d.log.truncate(d.logEnd); err != nil {
			return err
		}
	}
	for _, slot := range s.whole() {
		if has, _ := s.log.find(slot.slot); has {
			continue
		}
		if err := d.append(slot.Record, slot.digest); err != nil {
			return err
		}
		changed = true
	}
	if changed {
		return d.log.sync()
	}
	return nil
}

// Reserve allocates slots for states of size bytes, so that a full disk is detected early; sdk.New calls it. Slots
// never shrink. Save still accepts a longer state and extends the slot. On error the slots keep their length.
func (d *Dir) Reserve(size int) error {
	if d.err != nil {
		return d.err
	}
	for i := range d.slots {
		if err := allocate(d.slots[i], int64(size)+slotOverhead); err != nil {
			return named(err)
		}
	}
	return nil
}

// allocate extends a file to at least size bytes of real blocks, so that later writes allocate nothing. On error it
// restores the old length.
func allocate(f file, size int64) error {
	old, err := f.size()
	if err != nil || old >= size {
		return err
	}
	zeros := make([]byte, min(size-old, 1<<18))
	for at := old; at < size && err == nil; at += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at)
	}
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		return errors.Join(err, f.truncate(old))
	}
	return nil
}

// String returns the path of the directory.
func (d *Dir) String() string { return d.dir }

// Remarks returns one sentence for each save that was interrupted before [Open], for the node's log.
func (d *Dir) Remarks() []string { return d.remarks }

// Load implements [Store]. The states share no memory.
func (d *Dir) Load() ([]Record, error) {
	if d.err != nil {
		return nil, d.err
	}
	s := scan{dir: d.dir}
	if err := s.readSlots(d.disk, false); err != nil {
		return nil, err
	}
	for i, whole := range d.whole {
		if sl := s.slots[i]; whole && sl.fault != nil {
			return nil, fmt.Errorf("state: %s was intact when it was opened, but now %w: the disk is failing, "+
				"or another program writes to the file", s.path(i), sl.fault)
		}
	}
	if s.newest() != d.newest {
		return nil, fmt.Errorf("state: the newest state in %s is that of round %d, want %d: another program writes to the files",
			d.dir, s.newest(), d.newest)
	}
	var records []Record
	for _, sl := range slices.Backward(s.whole()) {
		records = append(records, sl.Record)
	}
	return records, nil
}

// Save implements [Store]. It writes and syncs the slot of the round, even or odd, and then adds a line to the log
// without a sync: the next Open restores lost lines from the slots.
func (d *Dir) Save(r Record) error {
	if d.err != nil {
		return d.err
	}
	if err := d.save(r); err != nil {
		d.err = fmt.Errorf("%w (saving round %d; the store in %s accepts no more saves until it is opened again)", err, r.Round, d.dir)
		return d.err
	}
	return nil
}

func (d *Dir) save(r Record) error {
	switch newest := d.newest; {
	case r.Round < 0:
		return errors.New("state: the round is negative, want 0 or more")
	case newest >= 0 && r.Round != newest+1:
		return fmt.Errorf("state: the record has round %d, want %d, the round after the newest", r.Round, newest+1)
	case len(r.Note) > MaxNote:
		return fmt.Errorf("state: the note has %d bytes, want at most %d", len(r.Note), MaxNote)
	case r.Note != "" && !json.Valid([]byte(r.Note)):
		return errors.New("state: the note is not JSON")
	}
	i := r.Round & 1
	f := d.slots[i]
	digest, err := writeSlot(f, r)
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		// After a failed sync the system may treat the pages as written: the next process would read a complete slot
		// that is not on the disk. This write erases the digest, so that the slot is considered torn. Nothing more can
		// be done if this write fails.
		f.WriteAt(make([]byte, len(digest)), slotHeader+int64(len(r.State)+len(r.Note)))
		return named(err)
	}
	err = d.append(r, digest)
	if err == nil && d.newest < 0 {
		// An empty log means that nothing was ever released, and that a torn slot is a failed first save. The first
		// line must therefore be as durable as its slot.
		err = d.log.sync()
	}
	if err != nil {
		return named(err)
	}
	d.whole[i], d.newest = true, r.Round
	return nil
}

func (d *Dir) append(r Record, digest [sha256.Size]byte) error {
	line, err := releaseLine(r, digest)
	if err != nil {
		return fmt.Errorf("the note of round %d in %s: %w", r.Round, d.dir, err)
	}
	if _, err := d.log.WriteAt(line, d.logEnd); err != nil {
		return err
	}
	d.logEnd += int64(len(line))
	return nil
}

// Close implements [Store]. It syncs the log and releases the lock.
func (d *Dir) Close() error {
	if d.log == nil {
		return nil
	}
	var err error
	if d.err == nil {
		err = named(d.log.sync())
	}
	d.err = fmt.Errorf("state: the store in %s is closed", d.dir)
	return errors.Join(err, d.closeFiles())
}

// closeFiles closes all files, the lock last.
func (d *Dir) closeFiles() error {
	err := closeAll(d.slots[0], d.slots[1], d.log, d.lock)
	d.slots, d.log, d.lock = [2]file{}, nil, nil
	return err
}

// InUse reports whether any process has the store in a directory open. InUse creates no file. If no process has the
// store open, InUse holds the store's lock for a moment.
func InUse(dir string) (bool, error) {
	lock, err := lockFile(filepath.Join(dir, lockName), 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, errLocked):
		return true, nil
	case err != nil:
		return false, named(err)
	}
	return false, named(lock.Close())
}
