package program

import (
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// statusJSON returns a member's status. It fails the test if the status is not available.
func (tr *trial) statusJSON(t *testing.T, member string) (st monitor.Status) {
	t.Helper()
	into(t, &st, cli.ExitDone, "status", tr.path(member+".json"))
	return st
}

func (tr *trial) tells(t *testing.T, member string, words ...string) {
	t.Helper()
	code, out, log := call("status", tr.path(member+".json"))
	for _, w := range words {
		if code != cli.ExitDone || !strings.Contains(out, w) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, w, out, log)
		}
	}
}

func noWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("sockets and signals of this kind are not there")
	}
}

// pageAddress reads the address of the status page from the node's log.
func (p *process) pageAddress(t *testing.T) string {
	t.Helper()
	p.log.await(t, "page: http://")
	_, rest, _ := strings.Cut(p.log.String(), "page: ")
	address, _, _ := strings.Cut(rest, "\n")
	return address
}

func get(t *testing.T, url string) (code int, text string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestStopInTheMiddle stops a node in the middle of the run, first with the stop command and then with an interrupt.
// Although the node also scores every round for its status page, the final model must be bit-identical to that of an
// undisturbed run.
func TestStopInTheMiddle(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab bc", func(f *sdk.Fleet) { f.Method.Rounds, f.Method.Eta = 150, []float64{0.5} })
	models, _ := tr.simulate(t)
	run := func(member string) *process {
		return start(t, "run", "-json", "-http", "127.0.0.1:0", "-linger", "0s", tr.path(member+".json"))
	}
	a, b, c := run("a"), run("b"), run("c")
	c.log.await(t, "round   1 of 153")
	b.log.await(t, "round   5 of 153")
	code, out, log := call("stop", tr.path("b.json"))
	if code != cli.ExitDone || !strings.Contains(out, `node "b" of run "trial" has stopped after round`) {
		t.Fatalf("exit code %d: %s%s", code, out, log)
	}
	b.wait(t, cli.ExitFailed)
	stopped := tr.statusJSON(t, "b")
	if stopped.Running || stopped.Phase != monitor.Stopped || stopped.Round < 5 || stopped.Fault != "" {
		t.Errorf("stopped: %+v", stopped)
	}
	tr.tells(t, "b", "NOT PRIVATE", "not running; it can continue from here")
	b = run("b")
	b.log.await(t, "connected")
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	b.wait(t, cli.ExitFailed)
	if again := tr.statusJSON(t, "b"); again.Round < stopped.Round || again.Fault != "" {
		t.Errorf("after an interrupt: %+v", again)
	}
	b = run("b")
	for i, p := range []*process{a, b, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

// TestStatusOfOwnData checks that the status marks all values that come from the device's own data.
func TestStatusOfOwnData(t *testing.T) {
	st := monitor.Status{
		Name: "a", Run: "trial", Running: true, Phase: monitor.Querying, ConsensusError: monitor.Unknown(), Local: &monitor.Local{FailedQueries: 3, LastFailure: "no\x1b[2J label"},
		Privacy: &monitor.Privacy{Against: monitor.Against{Epsilon: 0.00001, Limit: monitor.Unknown(), Planned: 1.00001}, Delta: 1e-5,
			Accounting: "gdp", Text: "epsilon 0.00001", TextPlanned: "epsilon 1.01", Lifetime: &monitor.Lifetime{Text: "epsilon 2.01"}},
	}
	var b strings.Builder
	node.WriteStatus(cli.Table{Writer: &b}, &st)
	text := b.String()
	for _, want := range []string{
		"privacy        epsilon 0.00001, at delta 1e-05 (gdp)\n", "whole run      epsilon 1.01\n", "epsilon 2.01, of the data set",
		"failed         3 losses could not be computed: check the program or the data; for this device only: the privacy " +
			"guarantee does not cover it",
		"\n               " + `no\x1b[2J label`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
