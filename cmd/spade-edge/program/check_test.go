package program

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// check reports that the tracking estimator needs more memory than its limit.
func TestCheckMemory(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Method.Estimator = sdk.EstimatorTracking })
	tr.edit(t, "a.json", `"version"`, `"memory_limit": 10,"version"`)
	var got node.Checkup
	into(t, &got, cli.ExitUsage, "check", tr.path("a.json"), "-offline")
	if want := "above the limit of 10 bytes: raise MemoryLimit, take fewer samples"; !strings.Contains(checkupText(&got, "settings"), want) {
		t.Errorf("%+v, want settings with %q", got, want)
	}
}

// check reports each error by item and returns the right exit code.
func TestCheckFindsFaults(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
	})
	whole, err := os.ReadFile(tr.path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	listen := strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[0].Addresses[0], "wss://"), "/")
	small, err := state.CreateLedger(tr.path("small.ledger"), "d", &dpmech.Limit{Epsilon: 0.1, Delta: 1e-5, Accounting: dpmech.GDP})
	if err == nil {
		err = small.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, new string
		code     int
		item     string
		want     string
	}{
		"nothing":          {"", "", cli.ExitDone, "oracle", "a finite loss"},
		"no state":         {`"a.state"`, `""`, cli.ExitUsage, "node file", "state is"},
		"no fleet file":    {"fleet.json", "none.json", cli.ExitUsage, "fleet file", "none.json"},
		"no key":           {"a.key", "none.key", cli.ExitUsage, "key", "none.key"},
		"another's key":    {"a.key", "b.key", cli.ExitUsage, "key", "but the fleet file has"},
		"not a member":     {`"name": "a"`, `"name": "z"`, cli.ExitUsage, "key", `"z" is not a member`},
		"no ledger":        {`"ledger": "a.ledger", `, "", cli.ExitUsage, "ledger", "ledger is missing"},
		"no ledger there":  {"a.ledger", "none.ledger", cli.ExitFailed, "ledger", "privacy -new-ledger"},
		"a spent ledger":   {"a.ledger", "small.ledger", cli.ExitRefused, "ledger", "budget"},
		"no such port":     {listen, "192.0.2.1:1", cli.ExitFailed, "listen", "192.0.2.1:1"},
		"no data":          {"synthetic:clinical\"", "csv:none.csv\", \"label\": \"y\"", cli.ExitFailed, "oracle", "none.csv"},
		"another model":    {`"seed": 5`, `"seed": 5, "bias": false`, cli.ExitUsage, "oracle", "5 parameters"},
		"no state folder":  {"a.state", "a.key/x", cli.ExitFailed, "state", "a.key"},
		"not a state":      {"a.state", ".", cli.ExitDone, "state", "is new"},
		"unknown settings": {`"version"`, `"color": 1, "version"`, cli.ExitUsage, "node file", "unknown field \"color\""},
	} {
		path := tr.path("node.json")
		if !strings.Contains(string(whole), c.old) {
			t.Fatalf("%s: no %q in the node file", name, c.old)
		}
		tr.write(t, "node.json", strings.Replace(string(whole), c.old, c.new, 1))
		var got node.Checkup
		into(t, &got, c.code, "check", path, "-offline")
		if !strings.Contains(checkupText(&got, c.item), c.want) || got.OK != (c.code == cli.ExitDone) || got.Code != c.code {
			t.Errorf("%s: %+v, want %s with %q", name, got, c.item, c.want)
		}
		code, out, log := call("check", path, "-offline")
		if code != c.code || !strings.Contains(out, c.want) || c.code != cli.ExitDone && !strings.Contains(log, "not ready to run: ") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, log)
		}
		if _, err := os.Stat(tr.path("a.state")); err == nil {
			t.Fatalf("%s: check has made the state folder", name)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(tr.path("a.key"), 0o644); err != nil {
			t.Fatal(err)
		}
		var got node.Checkup
		if into(t, &got, cli.ExitUsage, "check", tr.path("a.json")); !strings.Contains(checkupText(&got, "key"), "0600") {
			t.Errorf("key: %s", checkupText(&got, "key"))
		}
	}
	for _, args := range [][]string{{"check"}, {"check", "a", "b"}, {"check", "a", "-timeout", "0s"}, {"check", "a", "-fast"}} {
		if code, out, log := call(args...); code != cli.ExitUsage || out != "" || log == "" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, log)
		}
	}
}

// Beside running nodes, check finds the neighbors that are up and the one with another fleet file, and disturbs none,
// not even its own node. The models are those of the undisturbed run.
func TestCheckBesideRunningNodes(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab bc", nil)
	models, _ := tr.simulate(t)
	tr.other(t)
	b := start(t, "run", "-json", tr.path("b.json"))
	b.log.await(t, "waiting for", `"a"`, `"c"`)
	var c node.Checkup
	into(t, &c, cli.ExitDone, "check", tr.path("a.json"))
	if got := checkupText(&c, `neighbor "b"`); !strings.HasPrefix(got, "has the same fleet") {
		t.Errorf("b: %s", got)
	}
	tr.of(t, "c", "other.json")
	c = node.Checkup{}
	into(t, &c, cli.ExitMismatch, "check", tr.path("c.json"))
	if got := checkupText(&c, `neighbor "b"`); !strings.Contains(got, "hello refused") || !strings.Contains(got, "method differs") {
		t.Errorf("b: %s", got)
	}
	tr.of(t, "c", "fleet.json")
	c = node.Checkup{}
	into(t, &c, cli.ExitDone, "check", tr.path("b.json"))
	if !strings.Contains(checkupText(&c, "state"), "the node is running") || !strings.Contains(checkupText(&c, "listen"), "the running node has") ||
		!strings.HasPrefix(checkupText(&c, `neighbor "a"`), "not reachable (yet)") {
		t.Errorf("b: %+v", c)
	}
	a := start(t, "run", "-json", tr.path("a.json"))
	b.log.await(t, "connected", "peer=a")
	c = node.Checkup{}
	into(t, &c, cli.ExitDone, "check", tr.path("a.json"))
	into(t, &c, cli.ExitDone, "check", tr.path("b.json"))
	last := start(t, "run", "-json", tr.path("c.json"))
	for i, p := range []*process{a, b, last} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
		if log := p.log.String(); strings.Count(log, "msg=connected") != []int{1, 2, 1}[i] {
			t.Errorf("connections were made more than once:\n%s", log)
		}
	}
}
