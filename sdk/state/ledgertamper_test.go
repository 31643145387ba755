package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// TestLedgerRollback checks that OpenLedger refuses an old copy, a ledger without its mark, and a ledger with the mark
// of another ledger. If an old copy is restored together with its mark, a head of the newer ledger reveals the
// rollback.
func TestLedgerRollback(t *testing.T) {
	l, path := newLedger(t, nil)
	mark := markPath(path)
	copyOf := func(path string) []byte {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put := func(path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reserve(t, l, "run", 1, 3)
	markUpTo(t, l, "run", 3)
	oldLedger, oldMark, oldHead := copyOf(path), copyOf(mark), l.Head()
	reserve(t, l, "run", 4, 9)
	markUpTo(t, l, "run", 9)
	newestLedger, newestMark, newest := copyOf(path), copyOf(mark), l.Head()
	if err := errors.Join(l.Contains(newest), l.Contains(oldHead),
		l.Contains(certificate.Head{ID: newest.ID, Seq: 0, Hash: l.log.head(0).Hash})); err != nil {
		t.Error(err)
	}
	closeLedger(t, l)

	put(path, oldLedger)
	refused(t, path, "ends with reservation 3", "reservation 9 was made", "rolled back")
	put(mark, oldMark) // both files are rolled back: only someone with a later head can detect this
	l = reopen(t, path)
	if err := l.Contains(newest); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("%v, want a rollback", err)
	}
	// The rolled-back ledger continues with other reservations in place of the lost ones. The newest head then reveals
	// that a line has changed.
	for round := 4; round <= 9; round++ {
		if err := l.Reserve(runID("run", fleetA, "a"), round, gauss(1, 16)); err != nil {
			t.Fatal(err)
		}
	}
	markUpTo(t, l, "run", 9)
	if err := l.Contains(newest); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("%v, want a changed line", err)
	}
	for _, h := range []certificate.Head{{}, {ID: newest.ID, Seq: -1}, {ID: newest.ID, Seq: 1, Hash: "x"}} {
		if l.Contains(h) == nil {
			t.Errorf("%+v is in the ledger", h)
		}
	}
	closeLedger(t, l)
	put(path, newestLedger)
	refused(t, path, "changed")

	put(mark, newestMark)
	closeLedger(t, reopen(t, path))
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "mark", "is missing")
	// sound returns a mark that has a valid SHA-256 and the given list of unsent reservations. The tests below pass
	// lists that no ledger writes.
	sound := func(unsent string) []byte { return markFile(t, newest, unsent) }
	put(mark, sound(""))
	if l := reopen(t, path); l.Head() != newest {
		t.Errorf("head %+v, want %+v", l.Head(), newest)
	} else {
		closeLedger(t, l)
	}
	for _, list := range []string{"[]", "null", "[0]", "[10]", "[4,4]", "[5,4]", "[4, 5]", `["4"]`} {
		put(mark, sound(`,"unsent":`+list))
		refused(t, path, "mark", "damaged")
	}
	both := string(newestMark)
	line, _, _ := strings.Cut(string(sound("")), " ")
	for _, b := range []string{"", "{}", "null", line, line + "\n", strings.ToUpper(both), strings.ReplaceAll(both, "seq", "Seq"),
		both + "x", both[:block], string(make([]byte, 2*block)), line + string(make([]byte, 2*block-len(line)))} {
		put(mark, []byte(b))
		refused(t, path, "mark", "damaged")
	}
	_, elsewhere := newLedger(t, nil)
	put(mark, copyOf(markPath(elsewhere)))
	refused(t, path, "this is a different ledger")
}

// TestLedgerIsTamperEvident checks that changing a byte, removing a line or exchanging two lines is always detected.
func TestLedgerIsTamperEvident(t *testing.T) {
	t.Parallel() // waits for the disk
	l, path := newLedger(t, limitOf(1000, 1e-5, dpmech.GDP))
	reserve(t, l, "run", 1, 4)
	markUpTo(t, l, "run", 4)
	closeLedger(t, l)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := readMark(path)
	if err != nil {
		t.Fatal(err)
	}
	mark := m.Head
	read := func(content []byte) error {
		b, _, err := readLedgerLog(content, &mark)
		if err == nil {
			err = b.contains(mark)
		}
		return err
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			if read(bad) == nil {
				t.Fatalf("byte %d: %q for %q was not detected", i, bad[i], good[i])
			}
		}
		if read(good[:i]) == nil {
			t.Fatalf("cut after %d of %d bytes: not detected", i, len(good))
		}
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	for i := range 5 {
		if read(bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)) == nil {
			t.Errorf("line %d taken out: not detected", i+1)
		}
		if i > 0 {
			swapped := append([][]byte{}, lines...)
			swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
			if read(bytes.Join(swapped, nil)) == nil {
				t.Errorf("lines %d and %d exchanged: not detected", i, i+1)
			}
		}
	}
	// A forger who states more noise and recomputes the hashes of all lines gets a different head.
	forged := new(ledgerLog)
	if err := forged.start(bytes.TrimSpace(lines[0])); err != nil {
		t.Fatal(err)
	}
	all := bytes.Clone(lines[0])
	for round := 1; round <= 4; round++ {
		line, err := forged.line(forged.seq()+1, reserved(zeroRun, round, gauss(1, 16)))
		if err != nil || forged.add(line[:len(line)-1]) != nil {
			t.Fatal(err)
		}
		all = append(all, line...)
	}
	if err := read(all); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a forged chain: %v", err)
	}
}

// TestLedgerLines checks that a line, even one after the mark, is accepted only if Reserve would write exactly these
// bytes at this place.
func TestLedgerLines(t *testing.T) {
	l, _ := newLedger(t, nil)
	reserve(t, l, "run", 1, 1)
	line, err := l.log.line(l.log.seq()+1, reserved(zeroRun, 2, noisy))
	if err != nil {
		t.Fatal(err)
	}
	good := strings.TrimSuffix(string(line), "\n")
	for _, c := range []struct{ old, new, want string }{
		{`"seq":2`, `"seq":3`, "seq is 3, want 2"},
		{`"seq":2`, `"seq":2,"seq":2`, "field seq is given twice"},
		{`"seq"`, `"Seq"`, `unknown field "Seq"`},
		{`"seq":`, `"seq": `, "was changed after it was written"},
		{`"clip":1`, `"clip":1.0`, "was changed after it was written"},
		{`"clip":1,`, ``, "was changed after it was written"},
		{`"sigma":8`, `"sigma":0`, "sigma is 0"},
		{`"sigma":8`, `"sigma":8,"more":1`, "unknown field"},
		{`"round":2`, `"round":0`, "round is 0"},
		{`"run":"run"`, `"run":""`, "run has 0 bytes"},
		{`"fleet":"00`, `"fleet":"`, "fleet hash"},
		{`"prev":"`, `"prev":"0`, "the previous line was changed"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if err := l.log.add([]byte(bad)); bad == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", bad, err, c.want)
		}
	}
	if err := l.log.add([]byte(good)); err != nil {
		t.Error(err)
	}
	// A second line for the same round is rejected, because Reserve never writes such a line.
	line, err = l.log.line(l.log.seq()+1, reserved(zeroRun, 2, noisy))
	if err != nil || l.log.add(line[:len(line)-1]) == nil {
		t.Errorf("a round was added twice (%v)", err)
	}
}

var badLines = []string{
	`{}`, `null`, `[]`, `"`, strings.Repeat(" ", 5000),
	`{"seq":1,"prev":"","run":"r","fleet":"","member":"a","round":1,"clip":1,"sigma":8}`,
	`{"seq":1,"prev":"x","run":"r","fleet":"","member":"a","round":1,"clip":1,"sigma":8,"x":1}`,
	`{"seq":1,"prev":"x","run":"r","fleet":"","member":"a","round":1e400,"clip":1,"sigma":8}`,
}

// FuzzReadLedger checks that ReadLedger accepts a file only if this package would write each of its lines.
func FuzzReadLedger(f *testing.F) {
	l, path := newLedger(f, limitOf(100, 1e-5, dpmech.ZCDP))
	reserve(f, l, "run", 1, 2)
	if err := l.Reserve(runID("other", fleetB, "b"), 3, gauss(0.1, 2.5)); err != nil {
		f.Fatal(err)
	}
	markUpTo(f, l, "run", 1)
	closeLedger(f, l)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	mark, err := os.ReadFile(markPath(path))
	if err != nil {
		f.Fatal(err)
	}
	first, _, _ := bytes.Cut(good, []byte("\n"))
	f.Add(good, mark)
	f.Add(good[:len(good)-3], mark)
	f.Add(append(good, "torn"...), mark)
	f.Add(good, []byte("{}"))
	f.Add([]byte{}, []byte{})
	for _, line := range badLines {
		f.Add([]byte(line+"\n"), mark)
		f.Add([]byte(string(first)+"\n"+line+"\n"), mark)
	}
	f.Fuzz(func(t *testing.T, file, markFile []byte) {
		var mark *certificate.Head
		m, err := parseMark(markFile)
		if err == nil {
			mark = &m.Head
		}
		b, torn, err := readLedgerLog(file, mark)
		if err != nil {
			return
		}
		if b.size()+int64(torn) != int64(len(file)) || torn > 0 && (mark == nil || b.contains(*mark) != nil) {
			t.Fatalf("%d bytes, of them %d torn, in a file of %d, with mark %+v", b.size(), torn, len(file), mark)
		}
		if mark != nil && b.contains(*mark) == nil {
			b.settle(*m)
			if !slices.IsSorted(b.unsent) || len(b.unsent) > b.seq() || len(b.unsent) < b.seq()-mark.Seq {
				t.Fatalf("unsent %v of %d with mark %+v", b.unsent, b.seq(), m)
			}
			for _, line := range b.lines[1:] {
				if marked := b.marked(line.RunID); marked > b.spent.Last(line.RunID) {
					t.Fatalf("%v is marked up to %d, and ends with %d", line.RunID, marked, b.spent.Last(line.RunID))
				}
			}
		}
		h, err := json.Marshal(b.header)
		if err != nil {
			t.Fatal(err)
		}
		again := append(h, '\n')
		for seq := 1; seq <= b.seq(); seq++ {
			line, err := b.line(seq, entry{reservation: b.lines[seq].reservation})
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, line...)
		}
		if !bytes.HasPrefix(file, again) || int64(len(again)) != b.size() {
			t.Fatalf("%q became %q", file, again)
		}
		if rho := b.spent.Lifetime(b.head(b.seq()), 1e-5).Rho; rho < 0 {
			t.Fatalf("rho %v", rho)
		}
		if old, err := b.at(b.seq()); err != nil || !reflect.DeepEqual(old, b.spent) {
			t.Fatalf("counted again: %+v (%v), want %+v", old, err, b.spent)
		}
	})
}
