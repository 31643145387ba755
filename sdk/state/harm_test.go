package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// harm is a change to the files in a store's directory.
type harm func(t *testing.T, dir string)

func remove(names ...string) harm {
	return func(t *testing.T, dir string) {
		for _, name := range names {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func edit(name string, change func([]byte) []byte) harm {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func flip(name string, at int) harm {
	return edit(name, func(b []byte) []byte { b[at] ^= 1; return b })
}

// from returns a harm that replaces the named files with files from another store, which has n rounds.
func from(n int, names ...string) harm {
	return func(t *testing.T, dir string) {
		other := filled(t, n)
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(other, name))
			if err != nil {
				t.Fatal(err)
			}
			edit(name, func([]byte) []byte { return b })(t, dir)
		}
	}
}

func all(harms ...harm) harm {
	return func(t *testing.T, dir string) {
		for _, h := range harms {
			h(t, dir)
		}
	}
}

// resealed returns a harm that changes a slot and updates its digest to match.
func resealed(name string, change func([]byte)) harm {
	return edit(name, func(b []byte) []byte {
		change(b)
		end := slotHeader + int(binary.LittleEndian.Uint64(b[24:])) + int(binary.LittleEndian.Uint32(b[12:]))
		sum := sha256.Sum256(b[:end])
		copy(b[end:], sum[:])
		return b
	})
}

var emptyLog = edit(logName, func([]byte) []byte { return nil })

// TestHarm checks that, after every kind of harm to a store of rounds 1 to 6, either Open succeeds and Load returns the
// listed states, or Open returns an error with the listed words.
func TestHarm(t *testing.T) {
	for name, c := range map[string]struct {
		harm    harm
		kept    []int    // rounds that Load returns; nil if Open rejects the store
		words   []string // expected words in the remarks or the error
		setBack bool     // the error wraps ErrRollback
	}{
		"nothing":            {harm: all(), kept: []int{6, 5}},
		"lock file gone":     {harm: remove("lock"), kept: []int{6, 5}},
		"older slot damaged": {harm: flip("slot-1", 40), kept: []int{6}, words: []string{"slot-1", "SHA-256", "round 6"}},
		"older slot missing": {harm: remove("slot-1"), kept: []int{6}, words: []string{"slot-1", "missing"}},
		"older slot short": {harm: edit("slot-1", func(b []byte) []byte { return b[:70] }), kept: []int{6},
			words: []string{"slot-1", "is shorter than its header states"}},
		"newer slot damaged": {harm: flip("slot-0", 40), setBack: true,
			words: []string{"slot-0", "slot-1", logName, "round 6", "round 5"}},
		"newer slot missing": {harm: remove("slot-0"), setBack: true, words: []string{"slot-0 is missing", "round 5"}},
		"newer slot emptied": {harm: edit("slot-0", func(b []byte) []byte { return b[:0] }), setBack: true,
			words: []string{"slot-0", "round 5"}},
		"both slots damaged": {harm: all(flip("slot-0", 40), flip("slot-1", 40)),
			words: []string{"slot-0", "slot-1", "no state is left"}},
		"both, and no log": {harm: all(flip("slot-0", 40), flip("slot-1", 40), remove(logName)),
			words: []string{"slot-0", "slot-1", "no state is left"}},
		"both, log emptied": {harm: all(flip("slot-0", 40), flip("slot-1", 40), emptyLog),
			words: []string{"slot-0", "slot-1", "no state is left"}},
		"damaged and missing": {harm: all(flip("slot-0", 40), remove("slot-1")), setBack: true,
			words: []string{"slot-0", "slot-1", "round 6"}},
		"both slots missing": {harm: remove("slot-0", "slot-1"), setBack: true,
			words: []string{"slot-0", "slot-1", "round 6"}},
		"only a torn line": {harm: all(remove("slot-0", "slot-1"),
			edit(logName, func([]byte) []byte { return []byte("{\"rou") })), setBack: true, words: []string{"slot-0", "slot-1"}},
		"slots set back": {harm: from(5, "slot-0", "slot-1"), setBack: true,
			words: []string{"slot-1", logName, "round 6", "round 5"}},
		"one slot set back": {harm: from(2, "slot-0"), setBack: true, words: []string{"round 5", "round 6"}},
		"old slot put back": {harm: from(3, "slot-1"), words: []string{"slot-0", "round 6", "slot-1", "round 3"}},
		"slots exchanged": {harm: func(t *testing.T, dir string) { swap(t, dir) },
			words: []string{"slot-0", "round 5", "belongs in"}},
		"log missing":       {harm: remove(logName), words: []string{logName, "missing"}},
		"log emptied":       {harm: emptyLog, kept: []int{6, 5}},
		"log cut in a line": {harm: edit(logName, func(b []byte) []byte { return b[:len(b)-10] }), kept: []int{6, 5}},
		"log ends in zeros": {harm: edit(logName, func(b []byte) []byte { return append(b, make([]byte, 500)...) }),
			kept: []int{6, 5}},
		"log lost lines": {harm: edit(logName, func(b []byte) []byte { return b[:len(b)/6*3] }), kept: []int{6, 5},
			words: []string{logName, "lacks the lines of rounds 4 to 4"}},
		"damaged line": {harm: edit(logName, func(b []byte) []byte { b[20] = 0; return b }), kept: []int{6, 5},
			words: []string{logName, "1 lines"}},
		"torn line of a later round": {harm: edit(logName, func(b []byte) []byte { return append(b, `{"round":7,"dig`...) }),
			setBack: true, words: []string{"round 7", "round 6"}},
		"another run's slot": {harm: resealed("slot-0", func(b []byte) { b[40]++ }),
			words: []string{"slot-0", logName, "round 6", "another run"}},
		"another build's slot": {harm: resealed("slot-1", func(b []byte) { b[8] = 2 }),
			words: []string{"slot-1", "format 2", "format 1"}},
		"a directory for a slot": {harm: all(remove("slot-0"), func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "slot-0"), 0o700); err != nil {
				t.Fatal(err)
			}
		}), words: []string{"slot-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, 6)
			c.harm(t, dir)
			before := files(t, dir)
			report, rerr := Inspect(dir)
			if got := files(t, dir); got != before {
				t.Fatal("Inspect changed something")
			}
			d, err := sized(Open(dir))(10 * testLimit)
			said := fmt.Sprint(err)
			if err == nil {
				defer d.Close()
				said = strings.Join(d.Remarks(), "\n")
				if !slices.Equal(report.Remarks, d.Remarks()) {
					t.Errorf("Inspect remarks %q, Open %q", report.Remarks, d.Remarks())
				}
			}
			if rerr == nil && fmt.Sprint(report.Refused) != fmt.Sprint(err) {
				t.Errorf("Inspect says %v, Open %v", report.Refused, err)
			}
			for _, w := range c.words {
				if !strings.Contains(said, w) {
					t.Errorf("%q is missing in: %s", w, said)
				}
			}
			if errors.Is(err, ErrRollback) != c.setBack {
				t.Errorf("ErrRollback should be %t in: %v", c.setBack, err)
			}
			if c.kept == nil {
				if err == nil {
					t.Fatalf("opened, with %v", loaded(t, d))
				}
				os.Remove(filepath.Join(dir, "lock"))
				if got := files(t, dir); got != before {
					t.Error("a refused directory was changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(c.words) == 0 && said != "" {
				t.Errorf("remarks: %s", said)
			}
			if got := loaded(t, d); !slices.Equal(got, c.kept) {
				t.Errorf("the store has %v, want %v", got, c.kept)
			}
			if err := errors.Join(d.Save(savedRound(7, 20)), d.Close()); err != nil {
				t.Fatal(err)
			}
			if log, err := os.ReadFile(filepath.Join(dir, logName)); err != nil || !bytes.HasSuffix(log, []byte("}\n")) ||
				bytes.Count(log, []byte("\n")) != bytes.Count(log, []byte(`{"round":`)) {
				t.Errorf("the log was repaired to %q, %v", log, err)
			}
			d = mustOpen(t, dir)
			if got := loaded(t, d); !slices.Equal(got, []int{7, 6}) {
				t.Errorf("a round later the store has %v", got)
			}
		})
	}
}

func swap(t *testing.T, dir string) {
	a, b, c := filepath.Join(dir, "slot-0"), filepath.Join(dir, "slot-1"), filepath.Join(dir, "slot")
	if err := errors.Join(os.Rename(a, c), os.Rename(b, a), os.Rename(c, b)); err != nil {
		t.Fatal(err)
	}
}

// files returns all files in a directory except the lock, for comparison.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() != "lock" {
			content, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			fmt.Fprintf(&b, "%s %q\n", e.Name(), content)
		}
	}
	return b.String()
}
