package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestLostMark checks that a used ledger that lost its mark, its main file or both cannot be opened and gets no new
// mark, and that the error states what is missing, what this means, and what to do. If both files are lost, the file of
// neighbors' statements still shows that the ledger existed.
func TestLostMark(t *testing.T) {
	for name, c := range map[string]struct {
		lines int
		heads bool
		lost  []string
		want  []string
	}{
		"mark": {2, false, []string{".mark"}, []string{"its mark ", "only the mark shows whether the ledger is the newest copy",
			"restore the newest copy of ledger and mark together", "declare all that the data set may have spent"}},
		"mark, cut off":         {0, true, []string{".mark"}, []string{"its mark ", "restore the newest copy of ledger and mark together"}},
		"ledger":                {2, false, []string{""}, []string{"the ledger was deleted, but its mark", "restore the newest copy of ledger and mark together"}},
		"ledger and mark":       {2, true, []string{"", ".mark"}, []string{"the ledger and its mark were deleted", "restore the newest copy of ledger and mark together"}},
		"never used":            {0, false, []string{"", ".mark"}, []string{"create a new ledger, and declare what earlier runs"}},
		"never used, with mark": {0, false, []string{""}, []string{"create a new ledger, and declare what earlier runs"}},
	} {
		path := filepath.Join(t.TempDir(), "ledger")
		l, err := CreateLedger(path, "patients", dpmech.Client, nil, NeverUsed)
		if err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= c.lines; round++ {
			id := runID("run", [32]byte{1}, "a")
			err = errors.Join(err, l.Reserve(id, round, dpmech.Gaussian{Clip: 1, Sigma: 8}), l.Mark(id, round))
		}
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		if c.heads {
			err = os.WriteFile(path+".neighbors", nil, 0o600)
		}
		for _, end := range c.lost {
			err = errors.Join(err, os.Remove(path+end))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, opened := OpenLedger(path)
		_, read := ReadLedger(path)
		for _, err := range []error{opened, read} {
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, err, want)
				}
			}
			if errors.Is(err, ErrNoLedger) != strings.HasPrefix(name, "never used") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(path + ".mark"); slices.Contains(c.lost, ".mark") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a mark was made", name)
		}
		if strings.HasPrefix(name, "never used") { // it can be created again, for another unit
			again, err := CreateLedger(path, "patients", dpmech.Record, nil, NeverUsed)
			if err == nil {
				err = again.Close()
			}
			if read, errRead := ReadLedger(path); err != nil || errRead != nil || read.Lifetime(1e-5).Unit != dpmech.Record {
				t.Errorf("%s: %v, %v", name, err, errRead)
			}
		}
	}
}
