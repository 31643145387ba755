package state

import (
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

var (
	fleetA = [32]byte{1}
	fleetB = [32]byte{2}
	noisy  = gauss(1, 8)
)

// zeroRun is the run in ledger lines that tests forge.
var zeroRun = certificate.RunID{Run: "run", Fleet: strings.Repeat("0", 64), Member: "a"}

func runID(run string, fleet [32]byte, member string) certificate.RunID {
	return certificate.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: member}
}

func gauss(clip, sigma float64) dpmech.Gaussian { return dpmech.Gaussian{Clip: clip, Sigma: sigma} }

func limitOf(epsilon, delta float64, a dpmech.Accounting) *dpmech.Limit {
	return &dpmech.Limit{Epsilon: epsilon, Delta: delta, Accounting: a}
}

func newLedger(t testing.TB, limit *dpmech.Limit) (*Ledger, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patients.ledger")
	l, err := CreateLedger(path, "patients <2025>", dpmech.Client, limit, NeverUsed)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

func reserve(t testing.TB, l *Ledger, run string, from, to int) {
	t.Helper()
	for round := from; round <= to; round++ {
		must(t, l.Reserve(runID(run, fleetA, "a"), round, noisy))
	}
}

func markUpTo(t testing.TB, l *Ledger, run string, round int) {
	t.Helper()
	must(t, l.Mark(runID(run, fleetA, "a"), round))
}

func reopen(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := OpenLedger(path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// refused checks that OpenLedger and ReadLedger fail with the same error, which contains the words in want.
func refused(t *testing.T, path string, want ...string) {
	t.Helper()
	for name, open := range map[string]func(string) (*Ledger, error){"OpenLedger": OpenLedger, "ReadLedger": ReadLedger} {
		l, err := open(path)
		if err == nil {
			_ = l.Close()
			t.Fatalf("%s accepted a ledger that should be refused with %q", name, want)
		}
		for _, w := range append(want, filepath.Base(path), "state: ") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: no %q in %q", name, w, err)
			}
		}
	}
}

// TestLedgerSumsRuns checks that the cost of a data set is the sum over all of its runs, whatever their names, and that
// a repeated reservation costs nothing.
func TestLedgerSumsRuns(t *testing.T) {
	l, path := newLedger(t, nil)
	reserve(t, l, "tuning", 1, 3)
	if err := l.Reserve(runID("tuning", fleetB, "a"), 1, noisy); err != nil { // with another fleet file it is another run
		t.Fatal(err)
	}
	must(t, l.Close())
	l = reopen(t, path)
	reserve(t, l, "final", 1, 2)
	reserve(t, l, "tuning", 2, 4) // two of these rounds are already reserved
	must(t, l.Reserve(runID("final", fleetA, "b"), 7, gauss(1, 4)))
	check := func(l *Ledger) {
		t.Helper()
		life := l.Lifetime(1e-5)
		if want := 7*noisy.Rho() + gauss(1, 4).Rho(); life.Rho != want || life.Ledger.Seq != 8 || len(life.Runs) != 4 {
			t.Errorf("lifetime %+v, want rho %v over 8 reservations in 4 runs", life, want)
		}
		if life.Dataset != "patients <2025>" || life.Ledger != l.Head() || life.Runs[0].Rho != 4*noisy.Rho() {
			t.Errorf("lifetime %+v", life)
		}
		if l.Last(runID("tuning", fleetA, "a")) != 4 || l.Last(runID("final", fleetA, "b")) != 7 || l.Last(runID("final", fleetB, "b")) != 0 {
			t.Error("last rounds are wrong")
		}
	}
	check(l)
	looking, err := ReadLedger(path)
	must(t, err)
	check(looking)
	if err := looking.Reserve(runID("final", fleetA, "a"), 3, noisy); err == nil {
		t.Error("a read-only ledger accepted a reservation")
	}
	must(t, l.Close())
	if err := l.Reserve(runID("final", fleetA, "a"), 3, noisy); err == nil || l.Close() != nil {
		t.Errorf("a closed ledger accepted a reservation, or did not stay closed")
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
		{"run", "a", 3, gauss(1, 1e-6), "a larger cost gives no protection"},
		{"", "a", 3, noisy, "run has 0 bytes"},
		{"run", strings.Repeat("x", 201), 3, noisy, "201 bytes"},
		{"a\nb", "a", 3, noisy, "printable"},
		{"run", "\xff", 3, noisy, "printable"},
	} {
		if err := l.Reserve(runID(c.run, fleetA, c.member), c.round, c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q, round %d, %v: %v, want %q", c.run, c.member, c.round, c.g, err, c.want)
		}
	}
	if l.Head() != before {
		t.Error("what was refused is in the ledger")
	}
	// These are the longest possible names: JSON writes each of their bytes as an escape of six bytes.
	long := strings.Repeat("<", 200)
	if err := l.Reserve(runID(long, fleetA, long), math.MaxInt32, gauss(1.2345678901234567e-10,
		1.2345678901234567e-9)); err != nil {
		t.Error(err)
	}
	must(t, l.Close())
	reopen(t, l.path)
}

// TestLedgerConcurrent checks that no reservation is lost if many goroutines make reservations, and that a reservation
// made by several goroutines counts once.
func TestLedgerConcurrent(t *testing.T) {
	l, path := newLedger(t, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for round := 1; round <= 5; round++ {
				if err := l.Reserve(runID(fmt.Sprint("run ", i/2), fleetA, "a"), round, noisy); err != nil {
					t.Error(err)
				}
				if err := l.Mark(runID(fmt.Sprint("run ", i/2), fleetA, "a"), round); err != nil {
					t.Error(err)
				}
				_ = l.Head()
			}
		})
	}
	wg.Wait()
	must(t, l.Close())
	if got := marks(t, path); got != "10 []" {
		t.Errorf("the mark says %s, want all of 10", got)
	}
	if life := reopen(t, path).Lifetime(1e-5); life.Ledger.Seq != 10 || len(life.Runs) != 2 {
		t.Errorf("%d reservations in %d runs, want 10 in 2", life.Ledger.Seq, len(life.Runs))
	}
}
