//go:build unix

package program

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// A device taken for lost was only frozen. When it resumes beside its replacement, it learns of that and ends before
// it makes a release that the replacement also makes with data.
func TestAttackWakesUp(t *testing.T) {
	onlyLong(t)
	t.Parallel()
	tr := newAttacked(t, "ab bc ca", func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = 12, 2, []float64{0.01}
		f.Method.Tau, f.Method.Batch = 1000, 400
	})
	b, c := start(t, "run", tr.path("b.json"), "-json"), start(t, "run", tr.path("c.json"), "-json")
	lost := start(t, "run", tr.path("a.json"), "-json")
	lost.log.await(t, "round  2 of 14")
	lost.freeze(t)
	tr.spare(t, "spare")
	spare := start(t, "run", filepath.Join(tr.path("spare"), "a.json"), "-json", "-recover")
	spare.log.await(t, "this device has replaced the lost one")
	if err := lost.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Minute); !lost.ended(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the lost device goes on:\n%s\n%s\n%s", lost.log, spare.log, b.log)
		}
	}
	lost.refused(t, cli.ExitMismatch, "and this device is of epoch 0", "another device has taken its place")
	r := spare.outcome(t)
	if made := len(tr.released(t, 0)); !r.Done || made > r.Recovered+2 {
		t.Errorf("%d releases of the lost device, and the other one went on from %d", made, r.Recovered)
	}
	b.outcome(t)
	c.outcome(t)
}

// spare makes a folder for a device that replaces a, with its own ledger.
func (tr *trial) spare(t *testing.T, folder string) {
	t.Helper()
	takeOver(t, tr.dir, tr.path(folder), "a.json", "a.key", "fleet.json", "x0.bin")
	// No other node dials it.
	writeFile(t, tr.path(folder), "a.json", strings.Replace(readFile(t, tr.path("a.json")), tr.place(0), ownPort(), 1))
	l, err := state.CreateLedger(filepath.Join(tr.path(folder), "a.ledger"), "patients of a, on the spare device", nil)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Two devices replace a lost one at once, each with its own ledger. Either neighbors have evidence and both end, or
// one is late and finds the other in place. Neither waits indefinitely.
func TestAttackTwoSpares(t *testing.T) {
	onlyLong(t)
	t.Parallel()
	tr := newAttacked(t, "ab bc ca", func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = 12, 2, []float64{0.01}
		f.Method.Tau, f.Method.Batch = 1000, 400
	})
	b, c := start(t, "run", tr.path("b.json"), "-json"), start(t, "run", tr.path("c.json"), "-json")
	lost := start(t, "run", tr.path("a.json"), "-json")
	lost.log.await(t, "round  2 of 14")
	lost.kill()
	var spares []*process
	for _, folder := range []string{"one", "two"} {
		tr.spare(t, folder)
		spares = append(spares, start(t, "run", filepath.Join(tr.path(folder), "a.json"), "-json", "-recover"))
	}
	over := func() (n int) {
		for _, p := range spares {
			if p.ended() {
				n++
			}
		}
		return n
	}
	for seen, since := -1, time.Now(); over() < len(spares); time.Sleep(time.Millisecond) {
		if steps := over() + strings.Count(b.log.String()+c.log.String(), " of 14  "); steps > seen {
			seen, since = steps, time.Now()
		}
		if waited := time.Since(since); waited > time.Minute || over() > 0 && waited > 20*time.Second {
			break
		}
	}
	done := 0 // the late device finds the other in its place, or replaces it, and the other learns that
	for _, p := range spares {
		if !p.ended() {
			p.kill()
			if !b.ended() || !c.ended() { // the run ended without it, and no neighbor is left to report that
				t.Errorf("it goes on, or waits:\n%s\n%s\n%s", p.log, b.log, c.log)
			}
			continue
		}
		log, code := p.log.String(), p.cmd.ProcessState.ExitCode()
		switch {
		case code == cli.ExitDone:
			done++
		case code != cli.ExitMismatch || !strings.Contains(log, sdk.ErrClone.Error()) &&
			!strings.Contains(log, state.ErrRollback.Error()) && !strings.Contains(log, sdk.ErrQuarantine.Error()):
			t.Errorf("exit code %d:\n%s", code, log)
		}
	}
	if done == 2 {
		t.Errorf("both come to the end:\n%s\n%s", spares[0].log, spares[1].log)
	}
	b.kill()
	c.kill()
}
