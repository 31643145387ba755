package program

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// killed runs one fleet of clinics after another and kills their processes at random moments: at most 100 times per
// fleet, and at intervals of at most pause. Before a fleet's files are written, killed modifies the fleet with the
// functions in change.
//
// The processes get the environment variables in env. With [seededNoise] all releases and final models must be
// bit-identical to those of an undisturbed run; otherwise each release must be in a node's log exactly once. No private
// half of a one-time key may remain on disk.
//
// The parameter want is the total number of kills if SPADE_LONG is set; otherwise it is six. SPADE_KILLS overrides both.
func killed(t *testing.T, want int, pause time.Duration, env []string, change ...func(f *sdk.Fleet)) {
	t.Helper()
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process that is killed keeps its port and its lock for a while")
	}
	if !long {
		want = 6
	}
	if s := os.Getenv("SPADE_KILLS"); s != "" {
		var err error
		if want, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	chance := rng.New(1, rng.Address{Purpose: rng.Fault})
	for kills := 0; kills < want && !t.Failed(); {
		tr := newClinics(t, change...)
		var undisturbed [][]logged
		if env != nil {
			undisturbed = tr.quiet(t)
		}
		w := newSupervisor(t, tr, env...)
		w.run(t, &chance, min(100, want-kills), pause)
		w.checkReleases(t, undisturbed)
		if tr.file.PairKeys != nil {
			text, err := os.ReadFile(w.path(fleetfile.PairKeysName))
			if err != nil || strings.Contains(string(text), "private") || strings.Count(string(text), `"fleet":`) != len(w.file.Members) {
				t.Errorf("private halves are left: %s, %v", text, err)
			}
		}
		kills += w.kills
	}
}

var seeded = []string{seededNoise + "=1"}

// TestKilledNodes kills random processes of a fleet at random moments, including the first round and the time after the
// last round.
func TestKilledNodes(t *testing.T) { killed(t, 200, 100*time.Millisecond, seeded) }

// TestKilledNodesSharedNoise kills processes of a fleet that protects each patient and has pairwise noise from one-time
// keys, which all processes have in one file.
func TestKilledNodesSharedNoise(t *testing.T) {
	killed(t, 100, 200*time.Millisecond, seeded, records, sharing)
}

// TestKilledNodesReleaseOnce uses random noise from the system, with which a repeated release would differ from the
// first: no neighbor may receive two releases of the same round.
func TestKilledNodesReleaseOnce(t *testing.T) {
	if !long && os.Getenv("SPADE_KILLS") == "" {
		t.Skip("SPADE_LONG=1 runs it")
	}
	killed(t, 40, 100*time.Millisecond, nil)
}
