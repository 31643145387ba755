package state

import (
	"path/filepath"
	"testing"
)

// BenchmarkRound measures the disk writes of a private round: a ledger line, a state and a high-water mark.
func BenchmarkRound(b *testing.B) {
	dir, err := sized(Open(filepath.Join(b.TempDir(), "state")))(1 << 12)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	l, _ := newLedger(b, nil)
	r := Record{State: make([]byte, 1<<12), Note: `{}`}
	for b.Loop() {
		r.Round++
		reserve(b, l, "run", r.Round, r.Round)
		if err := dir.Save(r); err != nil {
			b.Fatal(err)
		}
		markUpTo(b, l, "run", r.Round)
	}
}
