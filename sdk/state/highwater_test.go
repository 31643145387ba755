package state

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
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

// markFile returns the content of a high-water mark file with one mark: a head, the additional JSON fields in more, and
// a valid SHA-256.
func markFile(t *testing.T, head certificate.Head, more string) []byte {
	t.Helper()
	text, err := json.Marshal(highWater{Head: head})
	must(t, err)
	text = []byte(strings.Replace(string(text), "}", more+"}", 1))
	file := make([]byte, 2*block)
	copy(file, fmt.Sprintf("%s %x\n", text, sha256.Sum256(text)))
	return file
}

// TestLedgerMarkAgain checks that a call of Mark that changes nothing writes nothing.
func TestLedgerMarkAgain(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "run", 3, 4)
	disk := &faulty{file: l.marks}
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
	must(t, err)
	if looking.Mark(runID("run", fleetA, "a"), 4) == nil {
		t.Error("a read-only ledger accepted a mark")
	}
}
