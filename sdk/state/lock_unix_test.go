//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package state

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A child process that is just starting shares all open files for a moment. If a locked file is closed at that moment,
// the child does not keep the lock.
func TestLockIsNotKeptByAStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(path, os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	started, err := syscall.Dup(int(first.(lockedFile).Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(started)
	if f, err := lockFile(path, 0); !errors.Is(err, errLocked) {
		t.Errorf("a second lock: %v, %v", f, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := lockFile(path, 0)
	if err != nil {
		t.Fatalf("locked, closed, and still in use: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
