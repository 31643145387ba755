package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// TestLedgerContains checks that a ledger contains its present and earlier heads and no others: of another ledger, of a
// line that it lost when it was set back together with its mark, or of one that it then wrote anew.
func TestLedgerContains(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 1, 3)
	markUpTo(t, l, "run", 3)
	ledger, errLedger := os.ReadFile(path)
	mark, errMark := os.ReadFile(markPath(path))
	old := l.Head()
	reserve(t, l, "run", 4, 9)
	newest := l.Head()
	if err := errors.Join(errLedger, errMark, l.Contains(newest), l.Contains(old), l.Contains(l.log.head(0))); err != nil {
		t.Error(err)
	}
	for _, h := range []certificate.Head{{}, {ID: newest.ID, Seq: -1}, {ID: newest.ID, Seq: 1, Hash: "x"}} {
		if l.Contains(h) == nil {
			t.Errorf("%+v is in the ledger", h)
		}
	}
	must(t, l.Close())
	must(t, errors.Join(os.WriteFile(path, ledger, 0o600), os.WriteFile(markPath(path), mark, 0o600)))
	l = reopen(t, path)
	if err := l.Contains(newest); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("%v, want a rollback", err)
	}
	for round := 4; round <= 9; round++ {
		must(t, l.Reserve(runID("run", fleetA, "a"), round, gauss(1, 16)))
	}
	if err := l.Contains(newest); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("%v, want a changed line", err)
	}
}

// TestLedgerMarkIsDamaged checks that OpenLedger refuses a damaged mark, one that no ledger writes, and that of another ledger.
func TestLedgerMarkIsDamaged(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 1, 9)
	markUpTo(t, l, "run", 9)
	newest := l.Head()
	must(t, l.Close())
	both := string(mustRead(t, markPath(path)))
	sound := markFile(t, newest, "")
	mustWrite(t, markPath(path), sound)
	must(t, reopen(t, path).Close())
	for _, list := range []string{"[]", "null", "[0]", "[10]", "[4,4]", "[5,4]", "[4, 5]", `["4"]`} {
		mustWrite(t, markPath(path), markFile(t, newest, `,"unsent":`+list))
		refused(t, path, "mark", "damaged")
	}
	line, _, _ := strings.Cut(string(sound), " ")
	for _, b := range []string{"", "{}", "null", line, line + "\n", strings.ToUpper(both), strings.ReplaceAll(both, "seq", "Seq"),
		both + "x", both[:block], string(make([]byte, 2*block)), line + string(make([]byte, 2*block-len(line)))} {
		mustWrite(t, markPath(path), []byte(b))
		refused(t, path, "mark", "damaged")
	}
	_, elsewhere := newLedger(t, nil)
	mustWrite(t, markPath(path), mustRead(t, markPath(elsewhere)))
	refused(t, path, "this is a different ledger")
}

// TestLedgerHasOneName checks that a ledger cannot be opened by another name, where its mark is not: what is marked there
// would be unmarked here.
func TestLedgerHasOneName(t *testing.T) {
	l, path := newLedger(t, nil)
	must(t, l.Close())
	for _, link := range []func(old, new string) error{os.Link, os.Symlink} {
		other := filepath.Join(t.TempDir(), "other.ledger")
		if err := link(path, other); err != nil {
			t.Logf("no links here: %v", err)
			continue
		}
		refused(t, other, "mark", "is missing")
	}
	must(t, reopen(t, path).Close())
}

// TestLedgerIsTamperEvident checks that changing a byte, removing a line or exchanging two lines is always detected.
func TestLedgerIsTamperEvident(t *testing.T) {
	t.Parallel() // waits for the disk
	l, path := newLedger(t, limitOf(1000, 1e-5, dpmech.GDP))
	reserve(t, l, "run", 1, 4)
	markUpTo(t, l, "run", 4)
	must(t, l.Close())
	good := mustRead(t, path)
	m, err := readMark(path)
	must(t, err)
	mark := m.Head
	read := func(content []byte) error {
		b, _, err := readLedgerLog(content, &mark)
		if err == nil {
			err = b.contains(mark)
		}
		return err
	}
	must(t, read(good))
	for i := range good {
		for _, flip := range []byte{1, []byte{0x20, 0x80}[i%2]} {
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
	must(t, forged.start(bytes.TrimSpace(lines[0])))
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
	must(t, err)
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
	must(f, l.Reserve(runID("other", fleetB, "b"), 3, gauss(0.1, 2.5)))
	markUpTo(f, l, "run", 1)
	must(f, l.Close())
	good := mustRead(f, path)
	mark := mustRead(f, markPath(path))
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
		must(t, err)
		again := append(h, '\n')
		for seq := 1; seq <= b.seq(); seq++ {
			line, err := b.line(seq, entry{reservation: b.lines[seq].reservation})
			must(t, err)
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
