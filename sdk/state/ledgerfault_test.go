package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

var errFault = errors.New("planted fault")

// faulty is a file that counts what is written to it, and whose sync may fail.
type faulty struct {
	file
	syncErr  error
	attempts int
	written  int64 // bytes
}

func (f *faulty) WriteAt(p []byte, at int64) (int, error) {
	f.attempts++
	f.written += int64(len(p))
	return f.file.WriteAt(p, at)
}

func (f *faulty) sync() error { return errors.Join(f.syncErr, f.file.sync()) }

// TestEveryStepFails makes each call to the disk fail once, in every possible way, while a node opens its files and makes
// releases, at the start of a run and in its middle. The call returns the error, and a store or ledger whose file failed
// refuses everything and writes nothing more. The next process finds each release that was sent, and no state whose sync
// failed: of a failed save it finds the state only if the line of the log failed.
func TestEveryStepFails(t *testing.T) {
	id := runID("run", fleetA, "a")
	refusals := [2]int{} // of the ledger and of the store
	for _, first := range []int{0, 3} {
		h := runNode(t, ledgerFiles(t, 9), first)
		start := h.after(len(h.steps))
		if first == 0 {
			start = h.start
		}
		for _, reason := range []error{syscall.EIO, syscall.ENOSPC, errShort} {
			for at, failed := 0, true; failed; at++ {
				d, calls, place := newSimDisk(start), 0, step{}
				d.fault = func(s step) error {
					if calls++; calls-1 == at {
						place = s
						return reason
					}
					return nil
				}
				n, err := openNode(d)
				sent, saved := first, first
				for k := first + 1; k <= first+2 && err == nil; k++ {
					if err = n.ledger.Reserve(id, k, noisy); err == nil {
						if err = n.dir.Save(savedRound(k, 20)); err == nil || place.name == logName {
							saved = k
						}
					}
					if err == nil {
						err = n.ledger.Mark(id, k)
					}
					if err == nil {
						sent = k
					}
				}
				if failed = err != nil; failed && (!errors.Is(err, reason) || !strings.Contains(err.Error(), place.name)) {
					t.Fatalf("%s of %q failed with %v, and the node with %v", place.kind, place.name, reason, err)
				}
				steps := len(d.steps)
				if n.ledger.broken != nil {
					refusals[0]++
					for _, err := range []error{n.ledger.Reserve(id, 1, noisy), n.ledger.Reserve(id, first+3, noisy), n.ledger.Mark(id, 1)} {
						if err == nil || !strings.Contains(err.Error(), "refuses all reservations") {
							t.Errorf("%s of %q failed with %v, and then %v", place.kind, place.name, reason, err)
						}
					}
				}
				if n.dir != nil && n.dir.err != nil {
					refusals[1]++
					if again := n.dir.Save(savedRound(saved+1, 20)); again != err {
						t.Errorf("after %v, Save returned %v", err, again)
					}
				}
				if len(d.steps) > steps {
					t.Errorf("%s of %q failed with %v, and %d steps followed", place.kind, place.name, reason, len(d.steps)-steps)
				}
				if found := resumes(t, d.files, sent); found.saved != saved {
					t.Errorf("%s of %q failed with %v, and round %d came back, want %d", place.kind, place.name, reason, found.saved, saved)
				}
			}
		}
	}
	if min(refusals[0], refusals[1]) < 2*3*2*4 { // starts, reasons and rounds, and a write and a sync of line and mark in each
		t.Errorf("ledger and store failed only %d times", refusals)
	}
}

func TestLedgerFileErrors(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Log("as the superuser, or on Windows, no permission is refused")
	} else {
		l, path := newLedger(t, nil)
		reserve(t, l, "run", 1, 1)
		dir := filepath.Dir(path)
		must(t, os.Chmod(dir, 0o500))
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
		must(t, l.Close())
		must(t, os.Chmod(path, 0o400))
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
	must(t, os.Mkdir(markPath(path)+".tmp", 0o700))
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
	l.file = &faulty{file: l.file, syncErr: errFault}
	if err := l.Reserve(runID("run", fleetA, "a"), 3, noisy); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	must(t, l.Close())
	for _, fault := range []error{errFault, nil} {
		file, err := lockFile(path, 0)
		must(t, err)
		disk := &faulty{file: file, syncErr: fault}
		l := &Ledger{path: path, file: disk}
		m, err := readMark(path)
		must(t, errors.Join(err, l.openMark()))
		if err := l.recover(m, nil); !errors.Is(err, fault) {
			t.Errorf("%v, want %v", err, fault)
		}
		if line := l.log.size() - l.log.lines[2].end; disk.attempts != 1 || disk.written != line {
			t.Errorf("%d bytes in %d writes, want the last line of %d", disk.written, disk.attempts, line)
		}
		if m, err := readMark(path); err != nil || m.Head != marked || l.Marked(runID("run", fleetA, "a")) != 2 {
			t.Errorf("with %v the mark is %+v (%v)", fault, m, err)
		}
		must(t, l.Close())
	}
}
