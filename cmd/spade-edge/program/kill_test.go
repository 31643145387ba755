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

// count returns the number in the given environment variable, or the given default if the variable is not set.
func count(t *testing.T, variable string, few int) int {
	t.Helper()
	if s := os.Getenv(variable); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return few
}

// killed runs one fleet of clinics after another and kills their processes at random moments: at most 100 times per
// fleet, and at intervals of at most pause. The processes also get the environment variables in env.
//
// Before a fleet's files are written, killed modifies the fleet with the functions in change. After all nodes have ended
// normally, it calls check to examine the fleet.
//
// The parameter want is the total number of kills if SPADE_LONG is set; otherwise the total is want/20, but at least
// eight. In short mode and under the race detector, the total is at most 20. SPADE_KILLS overrides all of these
// numbers.
func killed(t *testing.T, want int, pause time.Duration, env []string, check func(w *supervisor),
	change ...func(f *sdk.Fleet)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a process that is killed keeps its port and its lock for a while")
	}
	if !long {
		want = max(want/20, 8)
	}
	if testing.Short() || raceDetector {
		want = min(want, 20)
	}
	want = count(t, "SPADE_KILLS", want)
	chance := rng.New(1, rng.Address{Purpose: rng.Fault})
	var kills, first, last, runs int
	for ; kills < want && !t.Failed(); runs++ {
		tr := newClinics(t, 10, 4, change...)
		w := newSupervisor(t, tr, env...)
		w.run(t, &chance, min(100, want-kills), pause)
		check(w)
		kills, first, last = kills+w.kills, first+w.first, last+w.last
	}
	t.Logf("%d kills in %d runs, %d of them before a node's first release and %d after its last", kills, runs, first, last)
	if want >= 200 && (first == 0 || last == 0) {
		t.Error("the first round and the last have not been hit")
	}
}

var seeded = []string{seededNoise + "=1"}

// TestKilledNodes kills random processes of a fleet of eight at random moments, including the first round and the time
// after the last round, and checks that all releases and final models are bit-identical to those of an undisturbed run.
// It makes 10 kills in total, 200 if SPADE_LONG is set, or as many as SPADE_KILLS specifies.
func TestKilledNodes(t *testing.T) {
	t.Parallel()
	killed(t, 200, 100*time.Millisecond, seeded, func(w *supervisor) { w.checkModels(t) })
}

// TestKilledNodesSharedNoise kills processes like TestKilledNodes, but with pairwise noise from one-time keys, which all
// processes have in one file. It checks that no private half remains on disk at the end.
func TestKilledNodesSharedNoise(t *testing.T) {
	t.Parallel()
	killed(t, 100, 100*time.Millisecond, seeded, func(w *supervisor) {
		w.checkModels(t)
		text, err := os.ReadFile(w.path(fleetfile.PairKeysName))
		if err != nil || strings.Contains(string(text), "private") || strings.Count(string(text), `"fleet":`) != len(w.file.Members) {
			t.Errorf("private halves are left: %s, %v", text, err)
		}
	}, sharing)
}

// TestKilledNodesSurvival kills processes like TestKilledNodes, while they learn survival with each patient protected.
func TestKilledNodesSurvival(t *testing.T) {
	t.Parallel()
	killed(t, 100, 400*time.Millisecond, seeded, func(w *supervisor) { w.checkModels(t) }, surviving(t))
}

// TestKilledNodesReleaseOnce uses random noise from the system, with which a repeated release would differ from the
// first. It checks that each node's log has every round exactly once, and that no neighbor receives two releases in the
// same round.
func TestKilledNodesReleaseOnce(t *testing.T) {
	if !long && os.Getenv("SPADE_KILLS") == "" {
		t.Skip("SPADE_LONG=1 runs it")
	}
	t.Parallel()
	killed(t, 40, 100*time.Millisecond, nil, func(w *supervisor) { w.checkReleases(t, nil) })
}
