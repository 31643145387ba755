//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPromises checks that every way to open a state fails on a system that cannot keep it, and leaves no file.
func TestNoPromises(t *testing.T) {
	dir := t.TempDir()
	for what, open := range map[string]func() error{
		"store":     func() error { _, err := Open(dir); return err },
		"new store": func() error { _, err := Open(filepath.Join(dir, "new")); return err },
		"new ledger": func() error {
			_, err := CreateLedger(filepath.Join(dir, "ledger.json"), "data", "", nil, NeverUsed)
			return err
		},
		"ledger": func() error { _, err := OpenLedger(filepath.Join(dir, "ledger.json")); return err },
	} {
		if err := open(); !errors.Is(err, errors.ErrUnsupported) || strings.Count(err.Error(), "state: ") != 1 {
			t.Errorf("%s: error %v, want one that names the system", what, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("left behind: %v", left)
	}
}
