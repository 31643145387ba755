package certificate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
)

var (
	fleetA = [32]byte{1}
	fleetB = [32]byte{2}
	noisy  = dpmech.Gaussian{Clip: 1, Sigma: 8}
)

// testLedger simulates a ledger: it is a composition with an invented head.
type testLedger struct {
	*Composition
	seq int
}

func newLedger(t testing.TB, limit *dpmech.Limit) *testLedger {
	t.Helper()
	c, err := NewComposition("patients <2025>", "2025-06-01T08:00:00Z", dpmech.Client, limit, neverUsed)
	if err != nil {
		t.Fatal(err)
	}
	return &testLedger{Composition: c}
}

func (l *testLedger) Reserve(run string, fleet [32]byte, member string, round int, g dpmech.Gaussian) error {
	id := RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: member}
	counted, err := l.Check(id, round, g)
	if err != nil || counted {
		return err
	}
	l.seq++
	return l.Add(id, round, g)
}

func (l *testLedger) head() Head {
	return Head{ID: strings.Repeat("ab", 16), Seq: l.seq, Hash: strings.Repeat("cd", 32)}
}

func (l *testLedger) lifetime(delta float64) *Lifetime { return l.Lifetime(l.head(), delta) }

func reserve(t testing.TB, l *testLedger, run string, from, to int) {
	t.Helper()
	for round := from; round <= to; round++ {
		if err := l.Reserve(run, fleetA, "a", round, noisy); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCompositionSumsRuns checks that all runs on a data set are counted, whatever their names, and that repeating a
// counted release costs nothing.
func TestCompositionSumsRuns(t *testing.T) {
	l := newLedger(t, nil)
	reserve(t, l, "tuning", 1, 3)
	reserve(t, l, "final", 1, 2)
	reserve(t, l, "tuning", 2, 4) // two of these rounds are already counted
	if err := l.Reserve("tuning", fleetB, "a", 1, dpmech.Gaussian{Clip: 1, Sigma: 4}); err != nil {
		t.Fatal(err)
	}
	lifetime := l.lifetime(1e-5)
	if want := 6*noisy.Rho() + (dpmech.Gaussian{Clip: 1, Sigma: 4}).Rho(); lifetime.Rho != want || l.seq != 7 || len(lifetime.Runs) != 3 ||
		lifetime.Cost != CostOf(dpmech.Total{Rho: want, All: want}, 1e-5) {
		t.Errorf("lifetime %+v, want rho %v over 7 releases in 3 runs", lifetime, want)
	}
	id := lifetime.Runs[0].RunID
	if id.Run != "tuning" || lifetime.Rounds(id) != 4 || l.Last(id) != 4 ||
		!slices.Equal(lifetime.Runs[0].Spends, dpmech.Spends{{First: 1, Rounds: 4, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}}) {
		t.Errorf("first run %+v", lifetime.Runs[0])
	}
	if err := l.Add(id, 4, noisy); err == nil || !strings.Contains(err.Error(), "is already counted") {
		t.Errorf("a round was added twice: %v", err)
	}
	if none := (RunID{Run: "none"}); l.Last(none) != 0 || lifetime.Rounds(none) != 0 {
		t.Error("a run without releases has some")
	}
}

// TestCompositionLimit checks that the limit applies to the sum over all runs, and that Add counts a release even if
// the sum then exceeds the limit.
func TestCompositionLimit(t *testing.T) {
	sigma, err := budget.SigmaFor(1, 50, 8, 1e-5, dpmech.GDP)
	if err != nil {
		t.Fatal(err)
	}
	g := dpmech.Gaussian{Clip: 1, Sigma: sigma}
	l := newLedger(t, &dpmech.Limit{Epsilon: 8, Delta: 1e-5, Accounting: dpmech.GDP})
	for i := range 49 {
		if err := l.Reserve(fmt.Sprint("run ", i%7), fleetA, "a", 1+i/7, g); err != nil {
			t.Fatal(err)
		}
	}
	id := RunID{Run: "run 0", Fleet: hex.EncodeToString(fleetA[:]), Member: "a"}
	if err := l.CheckRun(id, 8, g); err != nil {
		t.Error(err)
	}
	if err := l.CheckRun(id, 9, g); !errors.Is(err, dpmech.ErrBudget) {
		t.Errorf("a run too long: %v", err)
	}
	if err := l.Reserve("run 0", fleetA, "a", 8, g); err != nil {
		t.Error(err)
	}
	for _, run := range []string{"run 1", "a new run"} {
		id.Run = run
		if _, err := l.Check(id, 50, g); !errors.Is(err, dpmech.ErrBudget) || !strings.Contains(err.Error(), run) {
			t.Errorf("%v, want a refusal", err)
		}
		if err := l.Add(id, 50, g); err != nil || l.Last(id) != 50 {
			t.Errorf("a release that was made is not counted: %v", err)
		}
	}
}

func TestNewCompositionRefuses(t *testing.T) {
	const created = "2025-06-01T08:00:00Z"
	for want, make := range map[string]func() (*Composition, error){
		"data set has 0 bytes":   func() (*Composition, error) { return NewComposition("", created, dpmech.Client, nil, neverUsed) },
		"printable":              func() (*Composition, error) { return NewComposition("a\x00b", created, dpmech.Client, nil, neverUsed) },
		`created is "yesterday"`: func() (*Composition, error) { return NewComposition("a", "yesterday", dpmech.Client, nil, neverUsed) },
		"delta is 2": func() (*Composition, error) {
			return NewComposition("a", created, dpmech.Client, &dpmech.Limit{Epsilon: 8, Delta: 2, Accounting: dpmech.GDP}, neverUsed)
		},
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestOneKeyServesOneRun checks that a composition refuses a run whose one-time key an earlier run used, before and
// after the earlier run's first release, and that the key does not disturb its own run.
func TestOneKeyServesOneRun(t *testing.T) {
	c, err := NewComposition("data", "2026-01-01T00:00:00Z", dpmech.Client, nil, neverUsed)
	if err != nil {
		t.Fatal(err)
	}
	g := dpmech.Gaussian{Clip: 1, Sigma: 1}
	one := RunID{Run: "one", Fleet: hex.EncodeToString(fleetA[:]), Member: "a", PairKey: "x25519:A"}
	two, fresh := one, one
	two.Run = "two"
	fresh.Run, fresh.PairKey = "two", "x25519:B"
	if err := c.CheckRun(two, 1, g); err != nil {
		t.Errorf("unused: %v", err)
	}
	for round := 1; round <= 2; round++ {
		if err := c.Add(one, round, g); err != nil {
			t.Fatal(err)
		}
	}
	const want = `run "one" used the one-time key x25519:A already`
	_, check := c.Check(two, 1, g)
	for _, err := range []error{check, c.Add(two, 1, g), c.CheckRun(two, 1, g)} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the key again: %v, want %q", err, want)
		}
	}
	if err := errors.Join(c.CheckRun(one, 3, g), c.CheckRun(fresh, 3, g), c.Add(fresh, 1, g)); err != nil {
		t.Error(err)
	}
	fresh.PairKey = "a\nb"
	if fresh.Run = "three"; c.Add(fresh, 1, g) == nil {
		t.Error("a key with a line break")
	}
}
