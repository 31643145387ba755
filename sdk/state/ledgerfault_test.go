package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var errFault = errors.New("planted fault")

// faulty is a file that fails in one way.
type faulty struct {
	file
	keep     int  // bytes of a write that reach the disk, -1 for all
	silent   bool // a short write returns no error
	syncErr  error
	lost     bool // the crash loses all unsynced writes
	attempts int
	written  int64 // number of bytes that Write was asked to write
}

func (f *faulty) WriteAt(p []byte, at int64) (int, error) {
	f.attempts++
	f.written += int64(len(p))
	if f.lost {
		return len(p), nil
	}
	if f.keep < 0 {
		return f.file.WriteAt(p, at)
	}
	n, err := f.file.WriteAt(p[:min(f.keep, len(p))], at)
	if err == nil && !f.silent {
		err = errFault
	}
	return n, err
}

func (f *faulty) sync() error { return errors.Join(f.syncErr, f.file.sync()) }

// TestLedgerFaults checks that a reservation that fails in any way has no effect, and that all later reservations fail.
// The next process finds every acknowledged reservation and perhaps the failed reservation, but no others.
func TestLedgerFaults(t *testing.T) {
	t.Parallel() // waits for the disk
	type fault struct {
		name string
		file faulty
		seq  int
	}
	faults := []fault{
		{name: "failing sync", file: faulty{keep: -1, syncErr: errFault}, seq: 4},
		{name: "failing sync, nothing written", file: faulty{lost: true, syncErr: errFault}, seq: 3},
		{name: "short write without an error", file: faulty{keep: 10, silent: true}, seq: 3},
	}
	for keep := 0; keep < 200; keep += 13 {
		faults = append(faults, fault{name: fmt.Sprintf("disk full after %d bytes", keep), file: faulty{keep: keep}, seq: 3})
	}
	for _, c := range faults {
		l, path := newLedger(t, nil)
		reserve(t, l, "run", 1, 3)
		markUpTo(t, l, "run", 3)
		before := l.Head()
		c.file.file = l.file
		l.file = &c.file
		err := l.Reserve(runID("run", fleetA, "a"), 4, noisy)
		if err == nil || !errors.Is(err, errFault) && !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("%s: %v, want the fault", c.name, err)
		}
		// The file works again, but what the disk holds is unknown, so reservations must still fail.
		c.file.keep, c.file.syncErr, c.file.lost = -1, nil, false
		tries := c.file.attempts
		for _, round := range []int{4, 5, 1} {
			if err := l.Reserve(runID("run", fleetA, "a"), round, noisy); err == nil ||
				!strings.Contains(err.Error(), "refuses all reservations") {
				t.Errorf("%s: round %d afterwards: %v", c.name, round, err)
			}
		}
		if err := l.Mark(runID("run", fleetA, "a"), 3); err == nil || !strings.Contains(err.Error(), "refuses all reservations") {
			t.Errorf("%s: a mark afterwards: %v", c.name, err)
		}
		if c.file.attempts != tries {
			t.Errorf("%s: something was written afterwards", c.name)
		}
		closeLedger(t, l)
		if looking, err := ReadLedger(path); err != nil || looking.Head().Seq != c.seq {
			t.Fatalf("%s: reading the ledger: %v", c.name, err)
		}
		l = reopen(t, path)
		if err := l.Contains(before); err != nil || l.Head().Seq != c.seq {
			t.Errorf("%s: %d reservations afterwards (%v), want %d", c.name, l.Head().Seq, err, c.seq)
		}
		if marked := l.Marked(runID("run", fleetA, "a")); marked != 3 {
			t.Errorf("%s: release %d is marked afterwards, want 3", c.name, marked)
		}
		reserve(t, l, "run", 4, 5)
		closeLedger(t, l)
		if l = reopen(t, path); l.Head().Seq != 5 {
			t.Errorf("%s: %d reservations at the end, want 5", c.name, l.Head().Seq)
		}
		closeLedger(t, l)
	}
}

// TestLedgerHoleInLastLine checks a torn line of full length: sectors of the last line that never reached the disk read
// as zeros.
func TestLedgerHoleInLastLine(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 1, 2)
	size, head := l.log.size(), l.Head()
	line, err := l.log.line(l.log.seq()+1, reserved(zeroRun, 3, noisy))
	if err != nil {
		t.Fatal(err)
	}
	closeLedger(t, l)
	clear(line[:len(line)/2]) // the newline at the end of the line is intact
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(line, size)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	l = reopen(t, path)
	if l.Head() != head {
		t.Errorf("head %+v, want %+v", l.Head(), head)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != size {
		t.Errorf("%v bytes (%v), want %d", st.Size(), err, size)
	}
}

func TestLedgerFileErrors(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Log("as the superuser, or on Windows, no permission is refused")
	} else {
		l, path := newLedger(t, nil)
		reserve(t, l, "run", 1, 1)
		dir := filepath.Dir(path)
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		l.markRoom = 0 // forces a new mark file, which the directory does not permit
		if err := l.Mark(runID("run", fleetA, "a"), 1); !errors.Is(err, fs.ErrPermission) ||
			!strings.Contains(err.Error(), markPath(path)) {
			t.Errorf("%v", err)
		}
		if _, err := CreateLedger(filepath.Join(dir, "new"), "x", "", nil, NeverUsed); !errors.Is(err, fs.ErrPermission) ||
			!strings.Contains(err.Error(), "new") {
			t.Errorf("%v", err)
		}
		closeLedger(t, l)
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLedger(path); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
	}
	if _, err := CreateLedger(filepath.Join(t.TempDir(), "none", "x"), "x", "", nil, NeverUsed); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
	// If the mark cannot be written, no partial ledger remains.
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Mkdir(markPath(path)+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateLedger(path, "x", "", nil, NeverUsed); err == nil {
		t.Error("CreateLedger succeeded without a mark")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a ledger was left behind (%v)", err)
	}
}

// TestLedgerWritesUnmarkedLinesAgain checks that OpenLedger rewrites and syncs the lines after the mark, because a line
// whose sync failed may be in the page cache but not on the disk. OpenLedger fails if it cannot do this. The lines stay
// unmarked.
func TestLedgerWritesUnmarkedLinesAgain(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 1, 2)
	markUpTo(t, l, "run", 2)
	marked := l.Head()
	l.file = &faulty{file: l.file, keep: -1, syncErr: errFault}
	if err := l.Reserve(runID("run", fleetA, "a"), 3, noisy); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	closeLedger(t, l)
	for _, fault := range []error{errFault, nil} {
		file, err := lockFile(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		disk := &faulty{file: file, keep: -1, syncErr: fault}
		l := &Ledger{path: path, file: disk}
		m, err := readMark(path)
		if err := errors.Join(err, l.openMark()); err != nil {
			t.Fatal(err)
		}
		if err := l.recover(m, nil); !errors.Is(err, fault) {
			t.Errorf("%v, want %v", err, fault)
		}
		if line := l.log.size() - l.log.lines[2].end; disk.attempts != 1 || disk.written != line {
			t.Errorf("%d bytes in %d writes, want the last line of %d", disk.written, disk.attempts, line)
		}
		if m, err := readMark(path); err != nil || m.Head != marked || l.Marked(runID("run", fleetA, "a")) != 2 {
			t.Errorf("with %v the mark is %+v (%v)", fault, m, err)
		}
		closeLedger(t, l)
	}
}

// TestLedgerMarkFails checks that, if a mark cannot be written, Mark returns the error and the ledger accepts nothing
// more. When the ledger is opened again, the old mark is in effect.
func TestLedgerMarkFails(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 1, 2)
	markUpTo(t, l, "run", 1)
	disk := &faulty{file: l.marks, keep: 10}
	l.marks = disk
	if err := l.Mark(runID("run", fleetA, "a"), 1); err != nil {
		t.Errorf("a mark that says nothing new: %v", err)
	}
	if err := l.Mark(runID("run", fleetA, "a"), 2); !errors.Is(err, errFault) {
		t.Errorf("%v, want the fault", err)
	}
	disk.keep = -1
	if err := errors.Join(l.Mark(runID("run", fleetA, "a"), 2), l.Reserve(runID("run", fleetA, "a"), 3, noisy)); err == nil ||
		strings.Count(err.Error(), "refuses all reservations") != 2 {
		t.Errorf("afterwards: %v", err)
	}
	closeLedger(t, l)
	l = reopen(t, path)
	if marked, last := l.Marked(runID("run", fleetA, "a")), l.Last(runID("run", fleetA, "a")); marked != 1 || last != 2 {
		t.Errorf("release %d of %d is marked, want 1 of 2", marked, last)
	}
	markUpTo(t, l, "run", 2)
}
