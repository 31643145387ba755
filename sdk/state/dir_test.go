package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// savedRound returns the record of a round for tests: every byte of its state depends on the round.
func savedRound(round, length int) Record {
	b := make([]byte, length+round%3)
	for i := range b {
		b[i] = byte(i*7 + round*31 + 1)
	}
	return Record{Round: round, State: b, Note: fmt.Sprintf(`{"spent":%d}`, round)}
}

const testLimit = 24 // length of a state in most tests

func mustOpen(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := sized(Open(dir))(testLimit)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// filled creates a store, saves rounds 1 to n, and closes the store.
func filled(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	d := mustOpen(t, dir)
	for r := 1; r <= n; r++ {
		must(t, d.Save(savedRound(r, 20)))
	}
	must(t, d.Close())
	return dir
}

// rounds checks that states are complete, and returns their rounds.
func rounds(t *testing.T, kept []Record) []int {
	t.Helper()
	r := []int{}
	for _, s := range kept {
		want := savedRound(s.Round, 20)
		if !bytes.Equal(s.State, want.State) || s.Note != want.Note {
			t.Fatalf("round %d was kept as %v %q", s.Round, s.State, s.Note)
		}
		r = append(r, s.Round)
	}
	return r
}

func loaded(t *testing.T, d *Dir) []int {
	t.Helper()
	kept, err := d.Load()
	must(t, err)
	return rounds(t, kept)
}

// TestDirStore checks that a store has no state at first, one state after the first save, and the last two states after
// each later save. The next process finds the same states.
func TestDirStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on the way")
	for r := 0; r <= 6; r++ {
		d := mustOpen(t, dir)
		want := []int{r - 1, r - 2}[:min(r, 2)]
		if got := loaded(t, d); !slices.Equal(got, want) {
			t.Fatalf("before round %d the store has %v, want %v", r, got, want)
		}
		must(t, d.Save(savedRound(r, 20)))
		if got := loaded(t, d); got[0] != r {
			t.Fatalf("after round %d the store has %v", r, got)
		}
		if len(d.Remarks()) > 0 {
			t.Errorf("remarks on a sound store: %q", d.Remarks())
		}
		must(t, errors.Join(d.Close(), d.Close()))
		if err := d.Save(savedRound(r+1, 20)); err == nil {
			t.Error("a closed store saved")
		}
	}
	r, err := Inspect(dir)
	if err != nil || r.Refused != nil || len(r.Remarks) > 0 {
		t.Fatalf("Inspect: %+v, %v", r, err)
	}
	if r.Round != 6 {
		t.Errorf("the newest save is that of round %d", r.Round)
	}
	lines := logLines(t, dir)
	if len(lines) != 7 {
		t.Fatalf("%d lines in the log, want 7", len(lines))
	}
	for i, line := range lines {
		var l struct {
			Round  int
			Digest string
			Note   struct{ Spent int }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Round != i || l.Note.Spent != i {
			t.Errorf("line %d of the log is %s", i, line)
		}
		slot, err := os.ReadFile(filepath.Join(dir, slotName(i&1)))
		digest, errHex := hex.DecodeString(l.Digest)
		if i >= 5 && (errors.Join(err, errHex) != nil || !bytes.Contains(slot, digest)) {
			t.Errorf("round %d has digest %s in the log, which its slot does not end with: %v", i, l.Digest, err)
		}
	}
}

// TestSlotLayout pins the bytes of a slot, because later builds must be able to read slots of this build.
func TestSlotLayout(t *testing.T) {
	var b writerAt
	digest, err := writeSlot(&b, Record{Round: 0x0102, State: []byte("state"), Note: "{}"})
	must(t, err)
	want := []byte("SPADEslt\x01\x00\x00\x00\x02\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00state{}")
	sum := sha256.Sum256(want)
	if !bytes.Equal(b, append(want, sum[:]...)) || digest != sum {
		t.Errorf("a slot is %q", []byte(b))
	}
}

// writerAt is an in-memory file for sequential writes.
type writerAt []byte

func (w *writerAt) WriteAt(b []byte, off int64) (int, error) {
	*w = append((*w)[:off], b...)
	return len(b), nil
}

// Save rejects invalid records. Every rejection is final.
func TestSaveRefuses(t *testing.T) {
	for name, s := range map[string]Record{
		"skips a round":    savedRound(5, 20),
		"repeats a round":  savedRound(3, 20),
		"negative":         {Round: -1},
		"note is no JSON":  {Round: 4, Note: `{"spent":`},
		"note is too long": {Round: 4, Note: `"` + strings.Repeat("x", MaxNote) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, 3)
			d := mustOpen(t, dir)
			err := d.Save(s)
			if err == nil {
				t.Fatal("an invalid record was saved")
			}
			if again := d.Save(savedRound(4, 20)); again != err {
				t.Errorf("after %v a save returned %v", err, again)
			}
			if _, again := d.Load(); again != err {
				t.Errorf("after %v Load returned %v", err, again)
			}
			d.Close()
			if got := loaded(t, mustOpen(t, dir)); !slices.Equal(got, []int{3, 2}) {
				t.Errorf("the refusal left %v", got)
			}
		})
	}
}

// A note may span several lines; the log stores it on one line. A note of the maximum length fits even a slot with a
// state of the reserved size.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	long := `"` + strings.Repeat("x", MaxNote-2) + `"`
	err := errors.Join(d.Save(Record{Round: 1, Note: "{\n \"a\": 1\n}"}), d.Save(Record{Round: 2}),
		d.Save(Record{Round: 3, State: make([]byte, testLimit), Note: long}))
	must(t, err)
	r, err := Inspect(dir)
	lines := logLines(t, dir)
	if err != nil || len(lines) != 3 || !strings.HasSuffix(lines[0], `"note":{"a":1}}`) ||
		strings.Contains(lines[1], "note") || !strings.HasSuffix(lines[2], `"note":`+long+"}") || r.Round != 3 {
		t.Errorf("%+v, %q, %v", r, lines, err)
	}
	st, err := os.Stat(filepath.Join(dir, "slot-1"))
	if err != nil || st.Size() != testLimit+slotOverhead {
		t.Errorf("the slot is %v long, %v", st.Size(), err)
	}
}

// TestStateIsNotCopied checks that Save makes no copy of a state and that Load makes only one copy, because a state can
// take much of a small device's memory.
func TestStateIsNotCopied(t *testing.T) {
	const length = 2 << 20
	d, err := sized(Open(t.TempDir()))(length)
	must(t, err)
	defer d.Close()
	s := Record{Round: 1, State: make([]byte, length)}
	allocated := func(f func() error) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(t, f())
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated(func() error { return d.Save(s) }); n > length/16 {
		t.Errorf("Save allocated %d bytes", n)
	}
	if n := allocated(func() error { _, err := d.Load(); return err }); n > length+length/16 {
		t.Errorf("Load allocated %d bytes", n)
	}
}

// TestLock checks that one process at a time opens a store or a ledger, and that anyone may look.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	l, path := newLedger(t, nil)
	_, errDir := Open(dir)
	_, errLedger := OpenLedger(path)
	for where, err := range map[string]error{dir: errDir, path: errLedger} {
		if !errors.Is(err, errLocked) || !strings.Contains(err.Error(), where) {
			t.Errorf("a second open says %v", err)
		}
	}
	if _, err := Inspect(dir); err != nil {
		t.Errorf("inspecting an open store: %v", err)
	}
	must(t, errors.Join(d.Close(), l.Close()))
	mustOpen(t, dir)
	reopen(t, path)
}

// TestSystemRefuses checks that errors of the operating system are returned with the file's name and the remedy.
func TestSystemRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	mustWrite(t, file, nil)
	if _, err := sized(Open(file))(testLimit); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in place of the directory: %v", err)
	}
	if _, err := Inspect(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("inspecting what is not there: %v", err)
	}
	locked := filepath.Join(dir, "locked")
	must(t, os.Mkdir(locked, 0o500))
	if f, err := os.Create(filepath.Join(locked, "x")); err == nil {
		f.Close() // this user (such as root) or this system ignores the file mode
	} else if _, err := sized(Open(locked))(testLimit); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a directory without the right to write: %v", err)
	}
}

// must ends a test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

func mustWrite(t testing.TB, path string, b []byte) {
	t.Helper()
	must(t, os.WriteFile(path, b, 0o600))
}

func logLines(t *testing.T, dir string) []string {
	t.Helper()
	text := mustRead(t, filepath.Join(dir, logName))
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// FuzzSlot checks that, for any file, readSlot accepts only what writeSlot writes, and allocates no more memory than
// the length of the file.
func FuzzSlot(f *testing.F) {
	for _, s := range []Record{{}, savedRound(1, 3), savedRound(2, 40), {Round: 1 << 30, Note: `"x"`}} {
		var b writerAt
		if _, err := writeSlot(&b, s); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b))
		f.Add([]byte(b[:len(b)-1]))
		f.Add(append([]byte(b), 0, 1, 2))
		for _, at := range []int{3, 8, 12, 15, 16, 23, 24, 31} {
			bad := bytes.Clone(b)
			bad[at] ^= 0xff
			f.Add(bad)
		}
	}
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readSlot(bytes.NewReader(data), int64(len(data)))
		if len(s.State)+len(s.Note) > len(data) {
			t.Fatalf("%d bytes of state from a file of %d", len(s.State), len(data))
		}
		if err != nil {
			return
		}
		var b writerAt
		if _, err := writeSlot(&b, s.Record); err != nil || !bytes.HasPrefix(data, b) {
			t.Fatalf("%q was read as %+v", data, s)
		}
	})
}

// FuzzReleaseLog checks that the part of a log that readLog keeps ends with a complete line, and that it has the release
// that is appended to this part.
func FuzzReleaseLog(f *testing.F) {
	saved := slot{Record: savedRound(3, 3)}
	line, err := releaseLine(saved.Record, saved.digest)
	must(f, err)
	f.Add([]byte{})
	f.Add(line)
	f.Add(append(bytes.Clone(line), line[:30]...))
	f.Add([]byte("{\"round\":-1,}\n{\"round\":9999999999999999999999,\n\x00\x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := readLog(data)
		again := readLog(append(data[:l.end:l.end], line...))
		if has, _ := again.find(saved); l.end > 0 && data[l.end-1] != '\n' || !has || again.newest < 3 {
			t.Fatalf("%+v and then %+v", l, again)
		}
	})
}
