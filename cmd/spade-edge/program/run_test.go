package program

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// long makes tests longer, with more kills, seeds and rounds, as in the full check .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// onlyLong skips a test outside the full check, because it is slow and a shorter test covers its main case. It also
// runs if one of the variables is set, which says how often to try.
func onlyLong(t *testing.T, variables ...string) {
	t.Helper()
	if !long && !slices.ContainsFunc(variables, func(v string) bool { return os.Getenv(v) != "" }) {
		t.Skip("SPADE_LONG=1 runs it")
	}
}

// asProgram, set in the environment, makes the test binary act as the program.
const asProgram = "SPADE_EDGE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if os.Args[1] == panicking.Name {
			cli.Commands = append(cli.Commands, panicking)
		}
		node.Websockets.Main()
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // most tests wait for processes
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}

// Four processes, connected over TLS and with only their own files, end with the models of the simulation, bit for
// bit.
func TestRunProcesses(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab cb cd da bd", nil)
	models, queries := tr.simulate(t)
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

// A node names a missing neighbor and waits for it. If stopped meanwhile, it says that it can be run again. The wait
// does not change the result.
func TestRunWaits(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab bc", nil)
	models, _ := tr.simulate(t)
	lone := start(t, "run", "-json", tr.path("b.json"))
	lone.log.await(t, "NOT PRIVATE  after round 0 of 9: waiting for", `"a" (not connected`, `"c" (not connected`,
		"refused")
	if runtime.GOOS != "windows" {
		if err := lone.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		lone.wait(t, cli.ExitFailed)
		if lone.out.Len() > 0 || !strings.HasSuffix(lone.log.String(), "spade-edge run: interrupted; run again to continue\n") {
			t.Errorf("output %q and\n%s", &lone.out, lone.log)
		}
		lone = start(t, "run", "-json", tr.path("b.json"))
	}
	a, c := start(t, "run", "-json", tr.path("a.json")), start(t, "run", "-json", tr.path("c.json"))
	for i, p := range []*process{a, lone, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

// of sets another fleet file in a member's node file.
func (tr *trial) of(t *testing.T, member, fleet string) {
	t.Helper()
	text, err := os.ReadFile(tr.path(member + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	tr.write(t, member+".json", strings.NewReplacer("fleet.json", fleet, "other.json", fleet).Replace(string(text)))
}

func (tr *trial) other(t *testing.T) {
	t.Helper()
	tr.file.Fleet.Method.Tau++
	defer func() { tr.file.Fleet.Method.Tau--; tr.file.X0File = "x0.bin" }()
	tr.file.X0File = "x0.again"
	if err := tr.file.Write(tr.path("other.json")); err != nil {
		t.Fatal(err)
	}
}

// Two nodes with different fleet files tell each other, and both end with the exit code for it.
func TestRunMismatch(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", nil)
	tr.other(t)
	tr.of(t, "b", "other.json")
	a, b := start(t, "run", tr.path("a.json")), start(t, "run", tr.path("b.json"))
	const why = "hello refused: wire: hello: fleet file hash: found"
	first, other := a, b
	select {
	case <-a.over:
	case <-b.over:
		first, other = b, a
	case <-time.After(4 * time.Minute):
		t.Fatalf("neither has ended:\n%s\n%s", a.log, b.log)
	}
	first.wait(t, cli.ExitMismatch)
	first.log.await(t, "spade-edge run: every neighbor has a different fleet: ", why)
	if first.out.Len() > 0 {
		t.Errorf("output %q", &first.out)
	}
	other.log.await(t, why) // it waits if its neighbor ended before it received enough notices
}

// A node whose fleet file differs from its neighbors' ends; they wait, report why, and continue when it returns with
// their file.
func TestRunOddOneOut(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab bc", nil)
	models, _ := tr.simulate(t)
	tr.other(t)
	tr.of(t, "c", "other.json")
	a, b := start(t, "run", "-json", tr.path("a.json")), start(t, "run", "-json", tr.path("b.json"))
	start(t, "run", tr.path("c.json")).wait(t, cli.ExitMismatch)
	b.log.await(t, "NOT PRIVATE", "peer=c", "hello refused")
	tr.of(t, "c", "fleet.json")
	c := start(t, "run", "-json", tr.path("c.json"))
	for i, p := range []*process{a, b, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

// A private run in this process reports its privacy cost in the result, and its status lines agree with the result.
func TestRunPrivate(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5, EpsilonLimit: 8}
		f.Wire = sdk.Wire{Payload: sdk.PayloadMessage}
	})
	var wg sync.WaitGroup
	codes, outs, logs := make([]int, 2), make([]string, 2), make([]string, 2)
	for i, m := range tr.file.Members {
		args := [][]string{{"run", tr.path(m.Name + ".json"), "-v"}, {"run", tr.path(m.Name + ".json")}}[i]
		wg.Go(func() { codes[i], outs[i], logs[i] = call(args...) })
	}
	wg.Wait()
	for i := range codes {
		if codes[i] != cli.ExitDone {
			t.Fatalf("exit code %d:\n%s", codes[i], logs[i])
		}
		for _, want := range [][]string{
			{"model          ", "privacy        epsilon", "in each of 6 releases", "dealt out as dirichlet:0.3", "does not cover it"},
			{"model          ", "privacy        epsilon", "does not cover it", "is right at most", "guessing is right 50 times", "certificate    "},
		}[i] {
			if !strings.Contains(outs[i], want) {
				t.Errorf("no %q in\n%s", want, outs[i])
			}
		}
		if lines := strings.Split(strings.TrimSpace(outs[i]), "\n"); i == 1 && len(lines) > 10 {
			t.Errorf("%d lines without -v:\n%s", len(lines), outs[i])
		} else if i == 1 {
			for _, line := range lines {
				if len(line) > 80 && !strings.HasPrefix(line, "certificate") { // a test's path is long
					t.Errorf("%d columns: %s", len(line), line)
				}
			}
		}
		if strings.Contains(outs[i]+logs[i], "NOT PRIVATE") || !strings.Contains(logs[i], "at delta 1e-05") ||
			strings.Contains(logs[i], "accuracy") {
			t.Errorf("log\n%s\noutput\n%s", logs[i], outs[i])
		}
		if info, err := os.Stat(tr.path(tr.file.Members[i].Name + ".state")); err != nil || !info.IsDir() {
			t.Errorf("no state folder: %v", err)
		}
	}
}

// keygen prints the line of a new key, and the same line for the same key; it fits into a fleet file as it is.
func TestKeygen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.key")
	code, line, log := call("keygen", "-name", "ward<3", "-out", file)
	if code != cli.ExitDone || !strings.Contains(log, file) {
		t.Fatalf("exit code %d: %s", code, log)
	}
	var m struct {
		Name string   `json:"name"`
		Keys []string `json:"keys"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Name != "ward<3" || len(m.Keys) != 1 {
		t.Errorf("line %q: %v", line, err)
	}
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, `{"name":"ward<3","keys":["ed25519:`) {
		t.Errorf("line %q", line)
	}
	if _, again, _ := call("keygen", "-json", "-name", "ward<3", "-from", file); again != line {
		t.Errorf("line %q, then %q", line, again)
	}
	fleet := fmt.Sprintf(`{"version": 1, "run": "r", "dim": 1, "x0": {"zeros": true}, "graph": {"edges": []}, "members": [%s],
		"method": {"rounds": 1, "tau": 1, "rho": 1, "gain": 0.5, "eta": 1, "mu": 1}, "privacy": {"non_private": true}}`, line)
	if _, err := fleetfile.Parse([]byte(fleet), ""); err != nil {
		t.Error(err)
	}
	if code := run(context.Background(), []string{"keygen", "-name", "a", "-out", file + "2"}, full{},
		io.Discard); code != cli.ExitFailed {
		t.Errorf("exit code %d when nothing can be written", code)
	}
}
