//go:build unix

package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Both copies of a member's folder run at once, in fleets of two to four and in both units of privacy: 6 times, or
// SPADE_CLONES times. A neighbor that saw two releases of a round has evidence, and both copies receive it. No two
// copies complete the rounds that cost privacy.
func TestAttackClones(t *testing.T) {
	onlyLong(t, "SPADE_CLONES")
	if raceDetector {
		t.Skip("processes are too slow under the race detector to meet; package sdk has the same in one process")
	}
	t.Parallel()
	chance := rng.New(6, rng.Address{Purpose: rng.Fault})
	fleets := []string{"ab", "ab bc ca", "ab bc cd da"}
	var doubles, evident, late int
	for n := range times(t, "SPADE_CLONES", 2*len(fleets)) {
		two, proved := cloneOnce(t, fleets[n/2%len(fleets)], n%2 == 1, &chance)
		if two {
			doubles++
		}
		if proved {
			evident++
		} else if !two {
			late++
		}
		if t.Failed() {
			return
		}
	}
	switch {
	case evident == 0 && doubles > 0:
		t.Error("copies have made releases of one round, and nobody has evidence")
	case evident == 0 && os.Getenv("SPADE_CLONES") != "":
		t.Error("the copies have never met")
	case evident == 0: // on a busy machine; package sdk tests the same without processes
		t.Skip("the copies have never met: try SPADE_CLONES=9")
	}
	t.Logf("%d times both copies made a release of one round, %d times a neighbor had evidence, %d times one came too late", doubles, evident, late)
}

// cloneOnce copies member a of a fleet after some rounds and runs both copies. It reports whether both made a release
// of one round, and whether a neighbor has evidence.
func cloneOnce(t *testing.T, edges string, each bool, chance *rng.Stream) (two, proved bool) {
	t.Helper()
	tr := newAttacked(t, edges, func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = 8, 2, []float64{0.01}
		f.Method.Tau, f.Method.Batch = 1500, 400 // rounds are long enough for both copies to begin the same one
		if each {
			perRecord(f)
			f.Method.Tau = 500
			for i := range f.Records[1:] {
				f.Records[1+i] = 3200 / 400
			}
		}
	})
	if each {
		tr.givenTask(t)
	}
	var others []*process
	for _, m := range tr.file.Members[1:] {
		if !each {
			tr.edit(t, m.Name+".json", "dirichlet:0.3", "iid")
		}
		tr.edit(t, m.Name+".json", fmt.Sprintf(`"of": %d`, len(tr.file.Members)), `"of": 400`) // the others' rounds are short
		others = append(others, start(t, "run", tr.path(m.Name+".json"), "-json"))
	}
	a := start(t, "run", tr.path("a.json"), "-json")
	a.log.await(t, "round  3 of 10")
	a.kill()
	before := len(tr.released(t, 0))
	other := tr.path("clone")
	takeOver(t, tr.dir, other, append(keepsAll("a"), "a.json", "a.key", "fleet.json", "x0.bin")...)
	text := readFile(t, filepath.Join(other, "a.json"))
	writeFile(t, other, "a.json", strings.Replace(text, tr.place(0), ownPort(), 1)) // not dialed
	copies := []*process{start(t, "run", tr.path("a.json"), "-json")}
	time.Sleep(time.Duration(chance.Float64() * float64(300*time.Millisecond)))
	copies = append(copies, start(t, "run", filepath.Join(other, "a.json"), "-json"))

	made := func() [2][]logged {
		return [2][]logged{tr.released(t, 0), tr.releasedIn(t, "clone/a.state")}
	}
	evidence := func() (all []signed.Evidence) {
		for _, m := range tr.file.Members[1:] {
			j, err := state.ReadJournal(tr.path(m.Name + ".state"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, j.Evidence...)
		}
		return all
	}
	// Wait until both end, or nothing moves for a while.
	moved, rounds := time.Now(), 0
	for !copies[0].ended() || !copies[1].ended() {
		both := made()
		if n := len(both[0]) + len(both[1]); n != rounds {
			moved, rounds = time.Now(), n
		}
		if time.Since(moved) > 12*time.Second {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	both, found := made(), evidence()
	for k := before; k < len(both[0]) && k < len(both[1]); k++ {
		two = two || both[0][k].Digest != both[1][k].Digest
	}
	codes := []int{-1, -1}
	for i, p := range copies {
		if !p.ended() {
			p.kill()
			continue
		}
		codes[i] = p.cmd.ProcessState.ExitCode()
	}
	report := func(text string) {
		t.Errorf("fleet %q, each record %v: %s: %d and %d releases, %d before, %d pieces of evidence, exit codes %d:\n%s\n%s", edges, each, text,
			len(both[0]), len(both[1]), before, len(found), codes, copies[0].log, copies[1].log)
	}
	if len(both[0]) >= 8 && len(both[1]) >= 12 && len(found) == 0 {
		report("both copies came to the end")
	}
	for i, p := range copies {
		switch log := p.log.String(); {
		case codes[i] == cli.ExitMismatch && (strings.Contains(log, sdk.ErrClone.Error()) || strings.Contains(log, state.ErrRollback.Error())):
		case codes[i] == -1 && len(both[i]) < 30:
		case codes[i] == cli.ExitDone && !two && len(found) == 0: // the other copy was too late
		default:
			report("one goes on")
		}
	}
	for _, e := range found {
		if err := e.Verify(tr.file.Fleet.Run, tr.file.Fleet.Hash(), tr.file.Members[0].Keys); err != nil || e.Member != "a" {
			t.Errorf("evidence %+v: %v", e, err)
		}
	}
	for i, m := range tr.file.Members[1:] {
		if j, err := state.ReadJournal(tr.path(m.Name + ".state")); err == nil && len(j.Evidence) > 0 {
			others[i].log.await(t, "evidence of equivocation", "=a round=")
		}
	}
	// A copy that received the evidence keeps it and does not start again.
	for i, path := range []string{tr.path("a.json"), filepath.Join(other, "a.json")} {
		if codes[i] == cli.ExitMismatch && strings.Contains(copies[i].log.String(), sdk.ErrClone.Error()) {
			start(t, "run", path, "-json").refused(t, cli.ExitMismatch, `"a" has signed two different releases of round`, sdk.ErrClone.Error())
		}
	}
	for _, p := range others {
		p.kill()
	}
	return two, len(found) > 0
}
