//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package state

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLockIsNotKeptByAStart checks that a child process that is just starting, and therefore shares all open files for
// a moment, does not keep the lock of a file that is closed at that moment.
func TestLockIsNotKeptByAStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(path, os.O_CREATE)
	must(t, err)
	started, err := syscall.Dup(int(first.(lockedFile).Fd()))
	must(t, err)
	defer syscall.Close(started)
	if f, err := lockFile(path, 0); !errors.Is(err, errLocked) {
		t.Errorf("a second lock: %v, %v", f, err)
	}
	must(t, first.Close())
	second, err := lockFile(path, 0)
	if err != nil {
		t.Fatalf("locked, closed, and still in use: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
