package state

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// marks returns the content of a ledger's high-water mark file without the ledger's id and hash.
func marks(t *testing.T, path string) string {
	t.Helper()
	m, err := readMark(path)
	if err != nil || m == nil {
		t.Fatalf("mark %+v: %v", m, err)
	}
	return fmt.Sprint(m.Seq, m.Unsent)
}

// TestLedgerMarks simulates several runs on one ledger; two of them crash after writing a line and before marking it.
// For each run, the ledger must report the last reserved and the last marked release, also after it has been closed and
// opened again. A release that is marked later must disappear from the list of unmarked releases.
func TestLedgerMarks(t *testing.T) {
	l, path := newLedger(t, nil)
	check := func(when, file string, runs map[string][2]int) {
		t.Helper()
		looking, err := ReadLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []*Ledger{l, looking} {
			for run, want := range runs {
				if got := [2]int{l.Last(runID(run, fleetA, "a")), l.Marked(runID(run, fleetA, "a"))}; got != want {
					t.Errorf("%s: run %s ends with %d and is marked up to %d, want %v", when, run, got[0], got[1], want)
				}
			}
		}
		if got := marks(t, path); got != file {
			t.Errorf("%s: the mark says %s, want %s", when, got, file)
		}
	}
	again := func() {
		closeLedger(t, l)
		l = reopen(t, path)
	}
	check("new", "0 []", map[string][2]int{"one": {}})
	reserve(t, l, "one", 1, 1)
	check("a line", "0 []", map[string][2]int{"one": {1, 0}})
	markUpTo(t, l, "one", 1)
	check("a mark", "1 []", map[string][2]int{"one": {1, 1}})
	reserve(t, l, "one", 2, 2) // run "one" crashes after this line
	again()
	reserve(t, l, "two", 1, 1) // run "two" crashes after this line
	again()
	check("two lines behind the mark", "1 []", map[string][2]int{"one": {2, 1}, "two": {1, 0}, "three": {}})
	reserve(t, l, "three", 1, 1)
	markUpTo(t, l, "three", 1)
	check("a third run", "4 [2 3]", map[string][2]int{"one": {2, 1}, "two": {1, 0}, "three": {1, 1}})
	again()
	check("opened again", "4 [2 3]", map[string][2]int{"one": {2, 1}, "two": {1, 0}, "three": {1, 1}})
	head := l.Head()
	reserve(t, l, "one", 2, 2)
	if l.Head() != head {
		t.Error("a round that was reserved and not sent was charged again")
	}
	markUpTo(t, l, "one", 2)
	check("sent after all", "4 [3]", map[string][2]int{"one": {2, 2}, "two": {1, 0}, "three": {1, 1}})
	reserve(t, l, "two", 2, 4)
	markUpTo(t, l, "two", 3)
	check("marked up to a round that is not the last", "7 [7]",
		map[string][2]int{"one": {2, 2}, "two": {4, 3}, "three": {1, 1}})
	again()
	markUpTo(t, l, "two", 4)
	check("all of them", "7 []", map[string][2]int{"one": {2, 2}, "two": {4, 4}, "three": {1, 1}})
}

// markFile returns the content of a high-water mark file with one mark: a head, the additional JSON fields in more, and
// a valid SHA-256.
func markFile(t *testing.T, head certificate.Head, more string) []byte {
	t.Helper()
	text, err := json.Marshal(highWater{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "}", more+"}", 1))
	file := make([]byte, 2*block)
	copy(file, fmt.Sprintf("%s %x\n", text, sha256.Sum256(text)))
	return file
}

// TestLedgerMarkRefuses checks that Mark rejects rounds that were not reserved, and that a call of Mark that changes
// nothing writes nothing.
func TestLedgerMarkRefuses(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 3, 4)
	for _, round := range []int{-1, 0, 5} {
		if err := l.Mark(runID("run", fleetA, "a"), round); err == nil ||
			!strings.Contains(err.Error(), "want 1..4 (the last reserved round)") {
			t.Errorf("round %d: %v", round, err)
		}
	}
	for _, c := range []struct {
		run   string
		fleet [32]byte
	}{{"another", fleetA}, {"run", fleetB}, {"", fleetA}} {
		if err := l.Mark(runID(c.run, c.fleet, "a"), 1); err == nil {
			t.Errorf("a mark in a run %q that has reserved nothing", c.run)
		}
	}
	disk := &faulty{file: l.marks, keep: -1}
	l.marks = disk
	markUpTo(t, l, "run", 2) // rounds 1 and 2 were skipped, so nothing up to round 2 is reserved
	if disk.attempts != 0 || l.Marked(runID("run", fleetA, "a")) != 0 {
		t.Error("a mark of skipped rounds")
	}
	markUpTo(t, l, "run", 4)
	markUpTo(t, l, "run", 3)
	markUpTo(t, l, "run", 4)
	if disk.attempts != 1 {
		t.Errorf("%d writes for a mark and twice the same", disk.attempts)
	}
	looking, err := ReadLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if looking.Mark(runID("run", fleetA, "a"), 4) == nil {
		t.Error("a read-only ledger accepted a mark")
	}
}

// TestLedgerLinesBehindMark checks that only the last reservation may be torn, however many reservations follow the
// high-water mark. A ledger that ends before its mark is rejected, even if the releases of the missing lines were never
// sent.
func TestLedgerLinesBehindMark(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 1, 1)
	markUpTo(t, l, "run", 1)
	reserve(t, l, "two", 1, 1)
	reserve(t, l, "three", 1, 1)
	ends := []int64{l.log.lines[1].end, l.log.lines[2].end, l.log.lines[3].end}
	closeLedger(t, l)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		size int64
		seq  int
	}{{ends[2], 3}, {ends[2] - 1, 2}, {ends[1] + 1, 2}, {ends[1], 2}, {ends[1] - 5, 1}, {ends[0], 1}} {
		put(whole[:c.size])
		l := reopen(t, path)
		if l.Head().Seq != c.seq || l.Marked(runID("run", fleetA, "a")) != 1 || l.Marked(runID("two", fleetA, "a")) != 0 {
			t.Errorf("%d bytes: %d reservations, want %d", c.size, l.Head().Seq, c.seq)
		}
		closeLedger(t, l)
	}
	put(whole[:ends[0]-1])
	refused(t, path, "line 2 of 2 acknowledged lines is damaged")
	damaged := append([]byte(nil), whole...)
	damaged[ends[0]+20] ^= 1
	put(damaged)
	refused(t, path, "line 3")

	put(whole)
	l = reopen(t, path)
	markUpTo(t, l, "three", 1)
	if got := marks(t, path); got != "3 [2]" {
		t.Errorf("the mark says %s", got)
	}
	closeLedger(t, l)
	put(whole[:ends[1]])
	refused(t, path, "ends with reservation 2, but reservation 3 was made")
}
