package program

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

func init() { loseMark = protectMark }

// protectMark replaces the descriptor of the process's high-water mark by a read-only one.
func protectMark() error {
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return err
	}
	for _, link := range open {
		path, err := os.Readlink(link)
		if err != nil || !strings.HasSuffix(path, ".mark") {
			continue
		}
		number, err := strconv.Atoi(filepath.Base(link))
		if err != nil {
			return err
		}
		readable, err := os.Open(path)
		if err != nil {
			return err
		}
		return syscall.Dup3(int(readable.Fd()), number, 0)
	}
	return errors.New("no descriptor of a mark in /proc/self/fd")
}

// A node dies between the ledger's line of its release and its state, and then loses its earlier state. No number of
// restarts adds a line, and the neighbor sees one release of each round. The same holds if the node writes its state
// but cannot write the mark.
func TestAttackBetweenLineAndMark(t *testing.T) {
	t.Parallel()
	tr := newOneRound(t)
	in := tr.newInsider(t, "b", true, nil)
	dying := func() {
		t.Helper()
		p := starting(t, []string{dyingNoise + "=1"}, "run", tr.path("a.json"), "-json")
		p.wait(t, 99)
	}
	for range times(t, "SPADE_LOOKS", 2) {
		dying()
		tr.remove(t, "a.state")
		starting(t, []string{dyingNoise + "=1", readOnlyMark + "=1"}, "run", tr.path("a.json"), "-json").refused(t, cli.ExitFailed,
			"release 1 is not sent: it could not be marked")
		if len(tr.released(t, 0)) != 1 {
			t.Error("no state in front of the mark")
		}
		tr.remove(t, "a.state")
	}
	if last := in.sawOnce(t, "a"); last != 0 {
		t.Errorf("release %d was seen, and not marked", last)
	}
	start(t, "run", tr.path("a.json"), "-json").outcome(t)
	if last := in.sawOnce(t, "a"); last != 1 || tr.spent(t, "a") != 1 {
		t.Errorf("the last release that was seen is %d, and the ledger has %d", last, tr.spent(t, "a"))
	}
	tr.remove(t, "a.state")
	start(t, "run", tr.path("a.json"), "-json").refused(t, cli.ExitMismatch, "the ledger has release 1 of this run")
}
