//go:build unix

package program

import (
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// keepsAll lists the files in which a node remembers itself and its neighbors.
func keepsAll(name string) []string { return append(keeps(name), name+".ledger.neighbors") }

// After a run all of a node's files are reset to their state before it, and another run begins. A neighbor presents
// what the node signed, and the node ends before its first release. Without the neighbor's memory the reset is
// undetectable, as the certificate says.
func TestAttackSetBackBetweenRuns(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab", 4)
	takeOver(t, tr.dir, tr.path("before"), keepsAll("b")...)
	tr.both(t)
	takeOver(t, tr.path("before"), tr.dir, keepsAll("b")...)
	tr.nextRun(t, 2)
	a := start(t, "run", tr.path("a.json"), "-json")
	for range 3 {
		b := start(t, "run", tr.path("b.json"), "-json")
		b.refused(t, cli.ExitMismatch, `"a" shows a later state of the ledger, which this node's key has signed: the state was set back`)
		if all := tr.releasedIn(t, "b.state.r2"); len(all) != 0 || b.made(1) || tr.spent(t, "b") != 0 {
			t.Errorf("%d releases, and the ledger has %d", len(all), tr.spent(t, "b"))
		}
	}
	a.log.await(t, "waiting for", `"b"`)
	a.kill()
	if log := a.log.String(); strings.Contains(log, "round  2") {
		t.Errorf("a goes on without b:\n%s", log)
	}

	// A copy of the ledger from the middle of the run, or after another run, is detected too.
	tr.remove(t, "a.ledger.neighbors")
	_, b := tr.both(t)
	c := readCertificate(t, b.Certificate)
	if !slices.ContainsFunc(c.NotCovered, func(s string) bool {
		return strings.Contains(s, "a node together with its ledger if no neighbor of this run")
	}) || c.Lifetime.Ledger.Seq != 4 || len(c.Lifetime.Runs) != 1 {
		t.Errorf("the certificate does not cover %q, and has %+v", c.NotCovered, c.Lifetime)
	}
}

// The copy of the ledger is from the middle of the first run. A neighbor that was killed right after its last release
// still remembers.
func TestAttackSetBackInPart(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab bc ca", 30)
	a, c := start(t, "run", tr.path("a.json"), "-json"), start(t, "run", tr.path("c.json"), "-json")
	b := start(t, "run", tr.path("b.json"), "-json")
	b.log.await(t, "round  3 of 32")
	b.kill()
	takeOver(t, tr.dir, tr.path("then"), keeps("b")...)
	then := tr.spent(t, "b")
	b = start(t, "run", tr.path("b.json"), "-json")
	b.outcome(t)
	a.kill()
	c.outcome(t)
	takeOver(t, tr.path("then"), tr.dir, keeps("b")...)
	tr.nextRun(t, 2)
	// Only a was killed; c is not there to help.
	a = start(t, "run", tr.path("a.json"), "-json")
	start(t, "run", tr.path("b.json"), "-json").refused(t, cli.ExitMismatch, "shows a later state of the ledger, which this node's key has signed")
	if n := tr.spent(t, "b"); n != then || len(tr.releasedIn(t, "b.state.r2")) != 0 {
		t.Errorf("the ledger has %d releases, and %d in the copy", n, then)
	}
	a.kill()
}

// In the middle of a run all of a node's files are reset to their state before it. Neighbors remember: in memory, or
// after a restart in their states. The node's ledger is charged for what they hold.
func TestAttackSetBackInRun(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"neighbors that go on": false, "neighbors that were restarted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newLonger(t, "ab bc ca", 30)
			takeOver(t, tr.dir, tr.path("before"), keepsAll("b")...)
			a, c := start(t, "run", tr.path("a.json"), "-json"), start(t, "run", tr.path("c.json"), "-json")
			b := start(t, "run", tr.path("b.json"), "-json")
			b.log.await(t, "round  4 of 32")
			b.kill()
			made, spent := len(tr.released(t, 1)), tr.spent(t, "b")
			if made >= 30 {
				t.Fatal("the run was over before the kill")
			}
			takeOver(t, tr.dir, tr.path("now"), keepsAll("b")...)
			if restarted {
				a.kill()
				c.kill()
				a, c = start(t, "run", tr.path("a.json"), "-json"), start(t, "run", tr.path("c.json"), "-json")
			}
			takeOver(t, tr.path("before"), tr.dir, keepsAll("b")...)
			for range 2 {
				start(t, "run", tr.path("b.json"), "-json").refused(t, cli.ExitMismatch, "the state was set back")
			}
			// made counts the releases sent. A restarted neighbor knows what the release in its state said, two before
			// that.
			known := made - 1
			if restarted {
				known--
			}
			if n := tr.spent(t, "b"); n < known || n > spent || len(tr.released(t, 1)) != 0 {
				t.Errorf("%d releases are charged, and %d were made, with %d lines", n, made, spent)
			}
			takeOver(t, tr.path("now"), tr.dir, keepsAll("b")...)
			if r := start(t, "run", tr.path("b.json"), "-json").outcome(t); !r.Done || tr.spent(t, "b") != 30 {
				t.Errorf("outcome %+v, and the ledger has %d", r, tr.spent(t, "b"))
			}
			a.outcome(t)
			c.outcome(t)
		})
	}
}

// If a node's memory of its neighbors' ledgers is damaged, the node reports that and does not start, because it would
// forget them.
func TestAttackHeads(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab", 4)
	tr.both(t)
	tr.nextRun(t, 2)
	whole := readFile(t, tr.path("a.ledger.neighbors"))
	for _, bad := range []string{"{}\n", strings.Replace(whole, `"signed":"`, `"signed":"00`, 1), whole[:len(whole)/2]} {
		tr.write(t, "a.ledger.neighbors", bad)
		start(t, "run", tr.path("a.json"), "-json").refused(t, cli.ExitFailed, "a.ledger.neighbors, line 1", "restore it from a copy")
	}
	tr.write(t, "a.ledger.neighbors", whole)
	tr.both(t)
	heads, err := state.OpenHeads(tr.path("a.ledger.neighbors"))
	if text := readFile(t, tr.path("a.ledger.neighbors")); err != nil || heads == nil || text == whole || strings.Count(text, "\n") != 2 {
		t.Errorf("%q, %v", text, err)
	}
}
