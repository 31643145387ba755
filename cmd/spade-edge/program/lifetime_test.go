package program

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

func newPair(t *testing.T) *trial {
	t.Helper()
	return newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
}

// again changes the files to a further run with another id, new folders, and the same data and ledgers.
func (tr *trial) again(t *testing.T) {
	t.Helper()
	tr.edit(t, "fleet.json", `"trial"`, `"trial again"`)
	for _, m := range tr.file.Members {
		tr.edit(t, m.Name+".json", m.Name+".state", m.Name+".state2")
	}
}

func (tr *trial) both(t *testing.T) (a, b node.RunResult) {
	t.Helper()
	pa, pb := start(t, "run", tr.path("a.json"), "-json"), start(t, "run", tr.path("b.json"), "-json")
	return pa.outcome(t), pb.outcome(t)
}

func readCertificate(t *testing.T, path string) *dpmech.Certificate {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dpmech.ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A second run on the same data continues the first one's account: its certificate has the sum.
func TestTwoRunsOneLedger(t *testing.T) {
	t.Parallel()
	tr := newPair(t)
	first, _ := tr.both(t)
	c1 := readCertificate(t, first.Certificate)
	tr.again(t)
	second, _ := tr.both(t)
	c2 := readCertificate(t, second.Certificate)
	// 2 R^2 / sigma^2 = 0.08 for each of 6 releases; the cool-down costs nothing.
	if c1.Simulated || c1.Rounds != 6 || !near(c1.Rho, 0.48) || !near(c1.Lifetime.Rho, 0.48) || len(c1.Lifetime.Runs) != 1 {
		t.Errorf("the first certificate has %+v and %+v", c1.Cost, c1.Lifetime)
	}
	if c2.Simulated || c2.Rounds != 6 || !near(c2.Rho, 0.48) || !near(c2.Lifetime.Rho, 0.96) || len(c2.Lifetime.Runs) != 2 || c2.Lifetime.EpsilonGDP <= c2.EpsilonGDP {
		t.Errorf("the second certificate has %+v and %+v", c2.Cost, c2.Lifetime)
	}
	if first.Model == second.Model {
		t.Error("two private runs with the same model")
	}
}

func near(x, want float64) bool { return x >= want && x < want*(1+1e-9) }

// The first run spends the lifetime budget. The second run ends before any release, and its neighbor never learns of
// it.
func TestLifetimeBudget(t *testing.T) {
	t.Parallel()
	tr := newPair(t)
	for _, name := range []string{"a.ledger", "a.ledger.mark"} {
		if err := os.Remove(tr.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	// Between the cost of six releases and of seven.
	limit := &dpmech.Limit{Epsilon: (dpmech.GDP.Epsilon(0.48, 1e-5) + dpmech.GDP.Epsilon(0.56, 1e-5)) / 2, Delta: 1e-5}
	ledger, err := state.CreateLedger(tr.path("a.ledger"), "patients of a", limit)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	tr.both(t)
	tr.again(t)
	b := start(t, "run", tr.path("b.json"))
	a := start(t, "run", tr.path("a.json"), "-json")
	a.wait(t, cli.ExitRefused)
	a.log.await(t, `6 rounds of run "trial again" of member "a"`, "the privacy budget does not cover it")
	if a.out.Len() != 0 {
		t.Errorf("output %q", &a.out)
	}
	text, err := os.ReadFile(filepath.Join(tr.path("a.state2"), "releases.log"))
	if err != nil || len(text) > 0 {
		t.Errorf("error %v, releases %s", err, text)
	}
	if _, err := os.Stat(filepath.Join(tr.path("a.state2"), "certificate.json")); err == nil {
		t.Error("a certificate of a run without a release")
	}
	b.log.await(t, "waiting for", `"a" (`)
	if strings.Contains(b.log.String(), "round 2 of 9") {
		t.Errorf("b goes on without a:\n%s", b.log)
	}
}

// broken is a stalled run: b was killed after round 3, and a waits for it. The folder "saved" has b's ledger from
// before the run.
func broken(t *testing.T) (tr *trial, a *process) {
	t.Helper()
	for {
		tr = newPair(t)
		tr.copyLedger(t, tr.dir, tr.path("saved"))
		a = start(t, "run", tr.path("a.json"), "-json")
		b := start(t, "run", tr.path("b.json"), "-json")
		b.log.await(t, "round 3 of 9")
		_ = b.cmd.Process.Kill() // an error if it has ended: then retry
		<-b.over
		if len(tr.released(t, 1)) < 8 { // far from its end, and a cannot complete
			return tr, a
		}
		_ = a.cmd.Process.Kill()
		<-a.over
	}
}

func (tr *trial) copyLedger(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.ledger", "b.ledger.mark"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever part of a node's memory is lost or reset, the node ends with an error that names it, and its neighbor sees
// no other release. With the memory restored, the run completes.
func TestLostMemory(t *testing.T) {
	onlyLong(t)
	t.Parallel()
	for name, c := range map[string]struct {
		lose func(t *testing.T, tr *trial)
		code int
		want []string
	}{
		"ledger": {func(t *testing.T, tr *trial) { tr.remove(t, "b.ledger") }, cli.ExitFailed,
			[]string{"b.ledger", "it was deleted", "restore the newest copy of ledger and mark together"}},
		"ledger and mark": {func(t *testing.T, tr *trial) { tr.remove(t, "b.ledger", "b.ledger.mark") }, cli.ExitFailed,
			[]string{"b.ledger", "it was deleted", "restore the newest copy of ledger and mark together"}},
		"ledger, for another": {func(t *testing.T, tr *trial) {
			tr.remove(t, "b.ledger", "b.ledger.mark")
			l, err := state.CreateLedger(tr.path("b.ledger"), "patients of b", nil)
			if err == nil {
				err = l.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}, cli.ExitFailed, []string{"another ledger"}},
		"ledger, for an old copy": {func(t *testing.T, tr *trial) {
			mark, err := os.ReadFile(tr.path("b.ledger.mark"))
			if err != nil {
				t.Fatal(err)
			}
			tr.copyLedger(t, tr.path("saved"), tr.dir)
			tr.write(t, "b.ledger.mark", string(mark))
		}, cli.ExitFailed, []string{"b.ledger", "rolled back"}},
		"ledger and mark, for old copies": {func(t *testing.T, tr *trial) { tr.copyLedger(t, tr.path("saved"), tr.dir) }, cli.ExitFailed,
			[]string{"rolled back"}},
		"state": {func(t *testing.T, tr *trial) { tr.remove(t, "b.state") }, cli.ExitMismatch,
			[]string{"the ledger has release", "the stored state ends with 0: the state was set back"}},
		"state and ledger, for old copies": {func(t *testing.T, tr *trial) {
			tr.remove(t, "b.state")
			tr.copyLedger(t, tr.path("saved"), tr.dir)
		}, cli.ExitMismatch, []string{`"a" holds release`, "of this node, whose own state ends with release 0: the state was set back"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, a := broken(t)
			whole := tr.path("whole")
			if err := os.Remove(tr.path("b.state/control")); err != nil && !os.IsNotExist(err) { // a socket, and no state
				t.Fatal(err)
			}
			copyAll(t, tr.path("b.state"), whole)
			tr.copyLedger(t, tr.dir, tr.path("present"))

			c.lose(t, tr)
			b := start(t, "run", tr.path("b.json"), "-json")
			b.wait(t, c.code)
			b.log.await(t, append([]string{"spade-edge run: "}, c.want...)...)
			if b.out.Len() != 0 || strings.Contains(b.log.String(), "round ") && strings.Contains(b.log.String(), "learning") {
				t.Errorf("output %q and\n%s", &b.out, b.log)
			}
			if c.code == cli.ExitMismatch { // what a holds counts, even with a ledger that lacked it
				_, said, _ := strings.Cut(b.log.String(), "spade-edge run: ")
				_, said, _ = strings.Cut(said, "release ")
				held, err := strconv.Atoi(said[:max(0, strings.IndexAny(said, ", "))])
				if spent := tr.spent(t, "b"); err != nil || held < 1 || spent < min(held, tr.file.Fleet.Method.Rounds) { // the cool-down is free
					t.Errorf("%d releases in the ledger, and the error names %d (%v)", spent, held, err)
				}
			}

			if err := os.RemoveAll(tr.path("b.state")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(whole, tr.path("b.state")); err != nil {
				t.Fatal(err)
			}
			tr.copyLedger(t, tr.path("present"), tr.dir)
			b = start(t, "run", tr.path("b.json"), "-json")
			if r := b.outcome(t); !r.Done || r.Rounds != 9 {
				t.Errorf("outcome %+v", r)
			}
			a.outcome(t)
			if log := a.log.String(); strings.Contains(log, "frame refused") {
				t.Errorf("a was sent what cannot be right:\n%s", log)
			}
		})
	}
}

func (tr *trial) spent(t *testing.T, member string) (releases int) {
	t.Helper()
	ledger, err := state.ReadLedger(tr.path(member + ".ledger"))
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range ledger.Lifetime(1e-5).Runs {
		for _, s := range run.Spends {
			releases += s.Rounds
		}
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	return releases
}

func (tr *trial) remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(tr.path(name)); err != nil {
			t.Fatal(err)
		}
	}
}
