package program

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// long reports whether SPADE_LONG is set. Tests then use more kills, seeds and rounds, as in the full check .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// onlyLong skips the test unless SPADE_LONG or one of the given environment variables, which specify numbers of trials,
// is set. It is for slow tests whose main case a shorter test covers.
func onlyLong(t *testing.T, variables ...string) {
	t.Helper()
	if !long && !slices.ContainsFunc(variables, func(v string) bool { return os.Getenv(v) != "" }) {
		t.Skip("SPADE_LONG=1 runs it")
	}
}

// asProgram is the environment variable that makes the test binary act as the program.
const asProgram = "SPADE_EDGE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" { // also for the processes that tests start; they keep little memory
		debug.SetGCPercent(800)
	}
	if os.Getenv(asProgram) != "" {
		if os.Args[1] == panicking.Name {
			cli.Commands = append(cli.Commands, panicking)
		}
		Websockets.Main()
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // more tests in parallel than processors, because most tests wait for processes
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}

// TestRunProcesses checks that four processes, connected over TLS and each with only its own files, compute final
// models that are bit-identical to those of a simulation. One of the processes waits for the other three, is
// interrupted and runs again; this must not change the result.
func TestRunProcesses(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab cb cd da bd", nil)
	models, queries := tr.simulate(t)
	if runtime.GOOS != "windows" {
		lone := start(t, "run", "-json", tr.path("b.json"))
		lone.log.await(t, "NOT PRIVATE  after round 0 of 9: waiting for", `"a" (not connected`, `"c" (not connected`, "refused")
		if err := lone.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		lone.wait(t, cli.ExitFailed)
		if lone.out.Len() > 0 || !strings.HasSuffix(lone.log.String(), "spade-edge run: interrupted; run again to continue\n") {
			t.Errorf("output %q and\n%s", &lone.out, lone.log)
		}
	}
	var nodes []*process
	for _, m := range tr.file.Members {
		nodes = append(nodes, start(t, "run", tr.path(m.Name+".json"), "-json"))
	}
	var asked int64
	distinct := map[string]bool{}
	for i, n := range nodes {
		r := n.outcome(t)
		asked += r.Queries
		distinct[r.Model] = true
		if r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
		if r.Run != "trial" || r.Name != tr.file.Members[i].Name || r.Rounds != 9 || !r.Done || !r.NonPrivate ||
			r.Privacy != nil || r.BytesSent == 0 {
			t.Errorf("outcome %+v", r)
		}
		if r.Local == nil || r.Local.Accuracy < 60 || r.Local.Samples != 800 || r.Local.Covered {
			t.Errorf("local display %+v", r.Local)
		}
		n.log.await(t, "round 6 of 9  learning")
		n.log.await(t, "round 9 of 9  cooling down")
		for line := range strings.Lines(n.log.String()) {
			if !strings.Contains(line, "NOT PRIVATE") {
				t.Errorf("%s: a line that does not say NOT PRIVATE: %q", r.Name, line)
			}
		}
	}
	if asked != queries || len(distinct) != len(nodes) {
		t.Errorf("%d losses asked for, the simulation %d; %d distinct models", asked, queries, len(distinct))
	}
}
