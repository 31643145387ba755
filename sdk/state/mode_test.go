//go:build unix

package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLooseModes checks that files that other users can access are rejected, and that the error contains the command
// that fixes the mode of the files. After this command the files can be opened.
func TestLooseModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	ledger := filepath.Join(t.TempDir(), "ledger")
	open := func() error {
		d, err := sized(Open(dir))(100)
		if err == nil {
			err = d.Close()
		}
		return err
	}
	account := func() error {
		l, err := OpenLedger(ledger)
		if err == nil {
			err = l.Close()
		}
		return err
	}
	l, err := CreateLedger(ledger, "data", "", nil, NeverUsed)
	must(t, err)
	must(t, l.Close())
	for _, c := range []struct {
		path string
		mode os.FileMode
		open func() error
	}{
		{dir, 0o777, open},
		{filepath.Join(dir, "slot-0"), 0o640, open},
		{filepath.Join(dir, "releases.log"), 0o602, open},
		{ledger, 0o660, account},
		{markPath(ledger), 0o644, account},
	} {
		must(t, c.open())
		info, err := os.Stat(c.path)
		must(t, err)
		must(t, os.Chmod(c.path, c.mode))
		if err := c.open(); err == nil || !strings.Contains(err.Error(), "chmod") || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s with mode %o: error %v, want one with chmod", c.path, c.mode, err)
		}
		if r, err := Inspect(dir); err != nil || (r.Refused == nil) != strings.HasPrefix(c.path, ledger) {
			t.Errorf("%s with mode %o: Inspect says %v, error %v", c.path, c.mode, r.Refused, err)
		}
		must(t, os.Chmod(c.path, info.Mode().Perm()))
	}
}
