package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
)

func newPair(t *testing.T) *trial {
	t.Helper()
	return newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
}

func (tr *trial) both(t *testing.T) (a, b node.RunResult) {
	t.Helper()
	pa, pb := start(t, "run", tr.path("a.json"), "-json"), start(t, "run", tr.path("b.json"), "-json")
	return pa.outcome(t), pb.outcome(t)
}

// broken is a stalled run: b was killed after round 3, and a waits for it. The folder "saved" has b's ledger from
// before the run.
func broken(t *testing.T) (tr *trial, a *process) {
	t.Helper()
	for {
		tr = newPair(t)
		if err := os.Mkdir(tr.path("saved"), 0o700); err != nil {
			t.Fatal(err)
		}
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
	for _, name := range []string{"b.ledger", "b.ledger.mark"} {
		copyAll(t, filepath.Join(from, name), filepath.Join(to, name))
	}
}

func (tr *trial) remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(tr.path(name)); err != nil {
			t.Fatal(err)
		}
	}
}
