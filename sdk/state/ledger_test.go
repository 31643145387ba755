package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

var (
	fleetA = [32]byte{1}
	fleetB = [32]byte{2}
	noisy  = gauss(1, 8)
)

// zeroRun is the run that forged lines are of.
var zeroRun = dpmech.RunID{Run: "run", Fleet: strings.Repeat("0", 64), Member: "a"}

func gauss(clip, sigma float64) dpmech.Gaussian { return dpmech.Gaussian{Clip: clip, Sigma: sigma} }

func limitOf(epsilon, delta float64, a dpmech.Accounting) *dpmech.Limit {
	return &dpmech.Limit{Epsilon: epsilon, Delta: delta, Accounting: a}
}

func newLedger(t testing.TB, limit *dpmech.Limit) (*Ledger, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patients.ledger")
	l, err := CreateLedger(path, "patients <2025>", limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

func reserve(t testing.TB, l *Ledger, run string, from, to int) {
	t.Helper()
	for round := from; round <= to; round++ {
		if err := l.Reserve(run, fleetA, "a", round, noisy); err != nil {
			t.Fatal(err)
		}
	}
}

func markUpTo(t testing.TB, l *Ledger, run string, round int) {
	t.Helper()
	if err := l.Mark(run, fleetA, "a", round); err != nil {
		t.Fatal(err)
	}
}

func closeLedger(t testing.TB, l *Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func reopen(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// refused opens a ledger in both ways and expects the same error.
func refused(t *testing.T, path string, want ...string) {
	t.Helper()
	for name, open := range map[string]func(string) (*Ledger, error){"OpenLedger": OpenLedger, "ReadLedger": ReadLedger} {
		l, err := open(path)
		if err == nil {
			_ = l.Close()
			t.Fatalf("%s took a ledger that should have been refused with %q", name, want)
		}
		for _, w := range append(want, filepath.Base(path), "state: ") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: no %q in %q", name, w, err)
			}
		}
	}
}

// A run on a data set starts where the others have left it, whatever it is called; what is repeated costs nothing.
func TestLedgerSumsRuns(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "tuning", 1, 3)
	if err := l.Reserve("tuning", fleetB, "a", 1, noisy); err != nil { // another fleet file, another run
		t.Fatal(err)
	}
	closeLedger(t, l)
	l = reopen(t, path)
	reserve(t, l, "final", 1, 2)
	reserve(t, l, "tuning", 2, 4) // two of them are there already
	if err := l.Reserve("final", fleetA, "b", 7, gauss(1, 4)); err != nil {
		t.Fatal(err)
	}
	check := func(l *Ledger) {
		t.Helper()
		life := l.Lifetime(1e-5)
		if want := 7*noisy.Rho() + gauss(1, 4).Rho(); life.Rho != want || life.Ledger.Seq != 8 || len(life.Runs) != 4 {
			t.Errorf("lifetime %+v, want rho %v over 8 reservations in 4 runs", life, want)
		}
		if want := dpmech.CostOf(dpmech.Total{Rho: life.Rho, All: life.Rho}, 1e-5); life.Cost != want || life.Dataset != "patients <2025>" ||
			life.Ledger != l.Head() {
			t.Errorf("lifetime %+v, want %+v", life, want)
		}
		first := life.Runs[0]
		if first.Run != "tuning" || first.Member != "a" || first.Rho != 4*noisy.Rho() ||
			fmt.Sprint(first.Spends) != fmt.Sprint([]dpmech.Spend{{First: 1, Rounds: 4, Clip: 1, Sigma: 8}}) {
			t.Errorf("first run %+v", first)
		}
		if l.Last("tuning", fleetA, "a") != 4 || l.Last("final", fleetA, "b") != 7 || l.Last("final", fleetB, "b") != 0 {
			t.Error("last rounds are wrong")
		}
	}
	check(l)
	looking, err := ReadLedger(path) // while it is open
	if err != nil {
		t.Fatal(err)
	}
	check(looking)
	if err := looking.Reserve("final", fleetA, "a", 3, noisy); err == nil {
		t.Error("a ledger that is only read took a reservation")
	}
	closeLedger(t, l)
	if err := l.Reserve("final", fleetA, "a", 3, noisy); err == nil || l.Close() != nil {
		t.Errorf("a closed ledger took a reservation, or did not stay closed")
	}
	check(reopen(t, path))
}

func TestLedgerRefusesReservations(t *testing.T) {
	l, _ := newLedger(t, nil)
	reserve(t, l, "run", 1, 2)
	before := l.Head()
	for _, c := range []struct {
		run, member string
		round       int
		g           dpmech.Gaussian
		want        string
	}{
		{"run", "a", 2, gauss(1, 9), "cannot be reserved again"},
		{"run", "a", 0, noisy, "round is 0"},
		{"run", "a", 3, gauss(1, 0), "sigma is 0"},
		{"run", "a", 3, gauss(1, 1e-6), "nothing is protected"},
		{"", "a", 3, noisy, "run has 0 bytes"},
		{"run", strings.Repeat("x", 201), 3, noisy, "201 bytes"},
		{"a\nb", "a", 3, noisy, "printable"},
		{"run", "\xff", 3, noisy, "printable"},
	} {
		if err := l.Reserve(c.run, fleetA, c.member, c.round, c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q, round %d, %v: %v, want %q", c.run, c.member, c.round, c.g, err, c.want)
		}
	}
	if l.Head() != before {
		t.Error("what was refused is in the ledger")
	}
	// The longest names there are, each of their bytes escaped to six.
	long := strings.Repeat("<", 200)
	if err := l.Reserve(long, fleetA, long, math.MaxInt32, gauss(1.2345678901234567e-10,
		1.2345678901234567e-9)); err != nil {
		t.Error(err)
	}
	closeLedger(t, l)
	reopen(t, l.path)
}

// The lifetime limit counts all runs.
func TestLedgerLimit(t *testing.T) {
	l, path := newLedger(t, limitOf(8, 1e-5, dpmech.GDP))
	sigma, err := dpmech.SigmaFor(1, 50, 8, 1e-5, dpmech.GDP)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := l.Reserve(fmt.Sprint("run ", i%7), fleetA, "a", 1+i/7, gauss(1, sigma)); err != nil {
			t.Fatal(err)
		}
	}
	closeLedger(t, l)
	l = reopen(t, path)
	for _, run := range []string{"run 1", "a new run"} {
		err = l.Reserve(run, fleetA, "a", 50, gauss(1, sigma))
		if !errors.Is(err, dpmech.ErrBudget) || !strings.Contains(err.Error(), "lifetime") ||
			!strings.Contains(err.Error(), run) {
			t.Errorf("%v, want a refusal", err)
		}
	}
	if err := l.Reserve("run 0", fleetA, "a", 1, gauss(1, sigma)); err != nil {
		t.Errorf("a repetition on an empty budget: %v", err)
	}
	if l.Head().Seq != 50 {
		t.Errorf("%d reservations", l.Head().Seq)
	}
}

// Never afresh by itself: a missing ledger, a deleted one, and one in the place where another is to be made.
func TestLedgerIsNeverStartedAfresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ledger")
	refused(t, path, "never started afresh", ErrNoLedger.Error())
	if _, err := OpenLedger(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	l, err := CreateLedger(path, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	reserve(t, l, "run", 1, 2)
	markUpTo(t, l, "run", 2)
	if _, err := CreateLedger(path, "x", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second ledger in the place of the first: %v", err)
	}
	closeLedger(t, l)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "deleted", "2 reservations", "newest copy")
	if _, err := CreateLedger(path, "x", nil); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a new ledger in the place of a deleted one: %v", err)
	}
	for _, name := range []string{"", "a\x00b"} {
		if _, err := CreateLedger(filepath.Join(t.TempDir(), "y"), name, nil); err == nil {
			t.Errorf("data set %q was taken", name)
		}
	}
	if _, err := CreateLedger(filepath.Join(t.TempDir(), "y"), "y", limitOf(8, 2, dpmech.GDP)); err == nil {
		t.Error("a limit without meaning was taken")
	}
}

// Old copies put back, alone or with the mark; a lost mark; and a ledger from elsewhere.
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
		l.Contains(dpmech.Head{ID: newest.ID, Seq: 0, Hash: l.log.head(0).Hash})); err != nil {
		t.Error(err)
	}
	closeLedger(t, l)

	put(path, oldLedger)
	refused(t, path, "ends with reservation 3", "number 9 was made", "rolled back")
	put(mark, oldMark) // both: only who kept a later head can tell
	l = reopen(t, path)
	if err := l.Contains(newest); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("%v, want a rollback", err)
	}
	// It goes on otherwise than it did: another history of the same length is found out too.
	for round := 4; round <= 9; round++ {
		if err := l.Reserve("run", fleetA, "a", round, gauss(1, 16)); err != nil {
			t.Fatal(err)
		}
	}
	markUpTo(t, l, "run", 9)
	if err := l.Contains(newest); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("%v, want a changed line", err)
	}
	for _, h := range []dpmech.Head{{}, {ID: newest.ID, Seq: -1}, {ID: newest.ID, Seq: 1, Hash: "x"}} {
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
	refused(t, path, "mark", "is missing", newest.Hash)
	// The refusal tells a person what to write.
	_, err := OpenLedger(path)
	_, line, _ := strings.Cut(err.Error(), "one line ")
	put(mark, []byte(line))
	if l := reopen(t, path); l.Head() != newest {
		t.Errorf("head %+v, want %+v", l.Head(), newest)
	} else {
		closeLedger(t, l)
	}
	older := strings.TrimSpace(line) + "\n" // as older programs write it
	unsent := func(list string) string {
		return strings.Replace(strings.TrimSpace(older), "}", `,"unsent":`+list+"}", 1)
	}
	for _, b := range []string{unsent("[]"), unsent("null"), unsent("[0]"), unsent("[10]"), unsent("[4,4]"),
		unsent("[5,4]"), unsent("[4, 5]"), unsent(`["4"]`)} {
		put(mark, []byte(b))
		refused(t, path, "mark", "damaged")
	}
	both := string(newestMark)
	for _, b := range []string{"", "{}", "null", strings.ToUpper(older), strings.Replace(older, "seq", "Seq", 1),
		older + "x", strings.ToUpper(both), strings.ReplaceAll(both, "seq", "Seq"), both + "x", both[:block],
		string(make([]byte, 2*block)), older + string(make([]byte, 2*block-len(older)))} {
		put(mark, []byte(b))
		refused(t, path, "mark", "damaged")
	}
	_, elsewhere := newLedger(t, nil)
	put(mark, copyOf(markPath(elsewhere)))
	refused(t, path, "another ledger")
}

// Every way of changing a byte, taking out a line or exchanging two is found.
func TestLedgerIsTamperEvident(t *testing.T) {
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
		b, _, err := readLedgerLog(bytes.NewReader(content), &mark)
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
				t.Fatalf("byte %d: %q for %q was not noticed", i, bad[i], good[i])
			}
		}
		if read(good[:i]) == nil {
			t.Fatalf("cut after %d of %d bytes: not noticed", i, len(good))
		}
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	for i := range 5 {
		if read(bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)) == nil {
			t.Errorf("line %d taken out: not noticed", i+1)
		}
		if i > 0 {
			swapped := append([][]byte{}, lines...)
			swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
			if read(bytes.Join(swapped, nil)) == nil {
				t.Errorf("lines %d and %d exchanged: not noticed", i, i+1)
			}
		}
	}
	// A chain computed anew, with more noise than there was, has another head.
	forged := new(ledgerLog)
	if err := forged.start(bytes.TrimSpace(lines[0])); err != nil {
		t.Fatal(err)
	}
	all := bytes.Clone(lines[0])
	for round := 1; round <= 4; round++ {
		line, err := forged.line(forged.seq()+1, zeroRun, round, gauss(1, 16))
		if err != nil || forged.add(line[:len(line)-1]) != nil {
			t.Fatal(err)
		}
		all = append(all, line...)
	}
	if err := read(all); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a forged chain: %v", err)
	}
}

// A line is taken as it is written, to the byte, and in its place only, even where no mark vouches for what follows.
func TestLedgerLines(t *testing.T) {
	l, _ := newLedger(t, nil)
	reserve(t, l, "run", 1, 1)
	line, err := l.log.line(l.log.seq()+1, zeroRun, 2, noisy)
	if err != nil {
		t.Fatal(err)
	}
	good := strings.TrimSuffix(string(line), "\n")
	for _, c := range []struct{ old, new, want string }{
		{`"seq":2`, `"seq":3`, "seq is 3, want 2"},
		{`"seq":2`, `"seq":2,"seq":2`, "not as it was written"},
		{`"seq"`, `"Seq"`, "not as it was written"},
		{`"seq":`, `"seq": `, "not as it was written"},
		{`"clip":1`, `"clip":1.0`, "not as it was written"},
		{`"clip":1,`, ``, "not as it was written"},
		{`"sigma":8`, `"sigma":0`, "sigma is 0"},
		{`"sigma":8`, `"sigma":8,"more":1`, "unknown field"},
		{`"round":2`, `"round":0`, "round is 0"},
		{`"run":"run"`, `"run":""`, "run has 0 bytes"},
		{`"fleet":"00`, `"fleet":"`, "fleet hash"},
		{`"prev":"`, `"prev":"0`, "the line before was changed"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if err := l.log.add([]byte(bad)); bad == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", bad, err, c.want)
		}
	}
	if err := l.log.add([]byte(good)); err != nil {
		t.Error(err)
	}
	// The same round twice cannot be in a ledger, for Reserve does not write it.
	line, err = l.log.line(l.log.seq()+1, zeroRun, 2, noisy)
	if err != nil || l.log.add(line[:len(line)-1]) == nil {
		t.Errorf("a round was added twice (%v)", err)
	}
}

// One process at a time.
func TestLedgerLock(t *testing.T) {
	l, path := newLedger(t, nil)
	if _, err := OpenLedger(path); err == nil || !strings.Contains(err.Error(), "in use") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("a second opening: %v", err)
	}
	closeLedger(t, l)
	reopen(t, path)
}

// Many goroutines: nothing is lost, and what several reserve counts once.
func TestLedgerConcurrent(t *testing.T) {
	l, path := newLedger(t, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for round := 1; round <= 5; round++ {
				if err := l.Reserve(fmt.Sprint("run ", i/2), fleetA, "a", round, noisy); err != nil {
					t.Error(err)
				}
				if err := l.Mark(fmt.Sprint("run ", i/2), fleetA, "a", round); err != nil {
					t.Error(err)
				}
				_ = l.Head()
			}
		})
	}
	wg.Wait()
	closeLedger(t, l)
	if got := marks(t, path); got != "10 []" {
		t.Errorf("the mark says %s, want all of 10", got)
	}
	if life := reopen(t, path).Lifetime(1e-5); life.Ledger.Seq != 10 || len(life.Runs) != 2 {
		t.Errorf("%d reservations in %d runs, want 10 in 2", life.Ledger.Seq, len(life.Runs))
	}
}

var badLines = []string{
	`{}`, `null`, `[]`, `"`, strings.Repeat(" ", 5000),
	`{"seq":1,"prev":"","run":"r","fleet":"","member":"a","round":1,"clip":1,"sigma":8}`,
	`{"seq":1,"prev":"x","run":"r","fleet":"","member":"a","round":1,"clip":1,"sigma":8,"x":1}`,
	`{"seq":1,"prev":"x","run":"r","fleet":"","member":"a","round":1e400,"clip":1,"sigma":8}`,
}

// A file of any content is either refused or, line by line, what this package would write.
func FuzzReadLedger(f *testing.F) {
	l, path := newLedger(f, limitOf(100, 1e-5, dpmech.ZCDP))
	reserve(f, l, "run", 1, 2)
	if err := l.Reserve("other", fleetB, "b", 3, gauss(0.1, 2.5)); err != nil {
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
		var mark *dpmech.Head
		m, err := parseMark(markFile)
		if err == nil {
			mark = &m.Head
		}
		b, torn, err := readLedgerLog(bytes.NewReader(file), mark)
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
			for _, r := range b.runs {
				if r.marked < 0 || r.marked > b.spent.Last(r.id) {
					t.Fatalf("%v is marked up to %d, and ends with %d", r.id, r.marked, b.spent.Last(r.id))
				}
			}
		}
		h, err := json.Marshal(b.header)
		if err != nil {
			t.Fatal(err)
		}
		again := append(h, '\n')
		for seq := 1; seq <= b.seq(); seq++ {
			line, err := b.line(seq, b.lines[seq].run.id, b.lines[seq].round, b.lines[seq].g)
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
