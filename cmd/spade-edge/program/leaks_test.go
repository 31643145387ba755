//go:build unix

package program

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// The log of a private run, as text or JSON, reveals neither a node's number of samples nor of losses. The result on
// standard output does.
func TestLogHidesSamples(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{true, false} {
		tr := newTrial(t, "ab", func(f *sdk.Fleet) {
			if private {
				f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
			}
		})
		a, b := start(t, "run", tr.path("a.json"), "-log", "json", "-json"), start(t, "run", tr.path("b.json"), "-json")
		if a.outcome(t).Queries == 0 {
			t.Error("the result has no number of losses")
		}
		b.outcome(t)
		for _, p := range []*process{a, b} {
			counts := regexp.MustCompile(`(?i)samples|losses|quer|[0-9] rows`).MatchString(p.log.String())
			if counts == private {
				t.Errorf("private %v: the log is\n%s", private, p.log.String())
			}
		}
	}
	// An error of the settings is logged as well.
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
	code, _, log := call("run", guardedTrackingOf(t, tr), "-log", "json")
	if code != cli.ExitFailed || !strings.Contains(log, "is above the limit of 1 bytes") || regexp.MustCompile(`[0-9]+ samples|takes [0-9]+ bytes`).MatchString(log) {
		t.Errorf("exit code %d, %s", code, log)
	}
}

// fleet next or fleet take, which ends or replaces a run, removes its secrets. Queries, refused commands, and a node
// that can continue keep them.
func TestEndedRunsForgetSecrets(t *testing.T) {
	t.Parallel()
	dir, _ := plant(t, "-graph", "complete", "-colluders", "1", "-hosts", ownPort()+","+ownPort()+","+ownPort(), "-rounds", "200")
	var nodes []*process
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, start(t, "run", filepath.Join(dir, name, "node.json")))
	}
	nodes[0].log.await(t, "  5 of")
	for _, p := range nodes {
		p.kill()
	}
	kept := func(dir string) (names string) {
		t.Helper()
		for _, name := range []string{"a", "b", "c"} {
			text, err := os.ReadFile(filepath.Join(dir, name, "state", state.SecretsName))
			if err != nil {
				continue
			}
			if k, err := pair.ParseKept(text); err != nil || k.Private == nil {
				t.Fatalf("%s of %s has no private key, %v: the run was over", name, dir, err)
			}
			names += name
		}
		return names
	}
	other := filepath.Join(filepath.Dir(dir), "other")
	copyAll(t, dir, other)
	next := []string{"fleet", "next", other, "-from", filepath.Join(dir, "a", "state"), "-run", "2"}
	fails := func(args ...string) {
		t.Helper()
		if code, text := said(args...); code != cli.ExitFailed || !strings.Contains(text, "or give -end") {
			t.Errorf("%q: exit code %d, %s", args, code, text)
		}
	}
	fails(next...)
	var r fleet.FleetResult
	into(t, &r, cli.ExitDone, with(next, "-end", "-dry-run")...)
	if kept(dir) != "abc" || kept(other) != "abc" {
		t.Fatalf("kept before the end: %q and %q", kept(dir), kept(other))
	}
	into(t, &r, cli.ExitDone, with(next, "-end")...)
	if left := kept(other); left != "" {
		t.Errorf("fleet next -end has left the secrets of %q", left)
	}
	take := []string{"fleet", "take", filepath.Join(dir, "a", "node.json"), "-new", filepath.Join(other, "fleet.json")}
	fails(take...)
	into(t, &r, cli.ExitDone, with(take, "-end", "-dry-run")...)
	if left := kept(dir); left != "abc" {
		t.Errorf("%q are left before the end", left)
	}
	into(t, &r, cli.ExitDone, with(take, "-end")...)
	if left := kept(dir); left != "bc" {
		t.Errorf("%q are left after fleet take -end on a, want those of b and c", left)
	}

	// A run without a release.
	dir, _ = plant(t, "-graph", "complete", "-colluders", "1", "-hosts", ownPort()+","+ownPort()+","+ownPort())
	alone := start(t, "run", filepath.Join(dir, "a", "node.json"))
	alone.log.await(t, "waiting for")
	alone.kill()
	if kept(dir) != "a" {
		t.Fatal("a node that waits has no secrets")
	}
	model := modelOf(t, dir, 1, 0, -1, 0.5, 0.25, 2)
	into(t, &r, cli.ExitDone, "fleet", "next", dir, "-from", model, "-run", "2")
	if left := kept(dir); left != "" {
		t.Errorf("fleet next has left the secrets of %q", left)
	}
}

// A node whose preprocessing, fitted on its own data, gives a model unlike the fleet's reports that once, in check and
// in run. No neighbor notices: the node connects only after its data fit. The same holds for settings that depend on
// the data.
func TestOwnFitBeforeTransport(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
	neighbor, err := net.Listen("tcp", tr.place(1))
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	go func() {
		for {
			c, err := neighbor.Accept()
			if err != nil {
				return
			}
			seen.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = neighbor.Close() })
	const fit = `{"builtin": {"fit": "own", "model": "softmax", "data": "csv:NAME.csv", "label": "ill", "test_fraction": 0, MORE}}`
	for name, c := range map[string]struct{ rows, more, want string }{
		"fewer categories": {"ward,age,ill\nx,1,no\ny,2,yes\nx,3,no\ny,5,yes\n", `"onehot": ["ward"]`,
			"oracle.builtin has 4 parameters (softmax: 2 classes, 4 columns), but dim of the fleet is 6"},
		"fewer columns than components": {"age,weight,ill\n1,5,no\n2,3,yes\n3,9,no\n5,1,yes\n", `"pca": 5`, "5, want 1 to 2, the number of columns"},
		"rows all alike":                {"age,weight,ill\n1,5,no\n1,5,yes\n1,5,no\n1,5,yes\n", `"pca": 2`, "PCA of a training set whose rows are all equal"},
		"a class without samples":       {"age,weight,ill\n1,5,no\n2,3,no\n3,9,no\n5,1,no\n", `"labels": ["no", "yes"]`, `"yes"`},
	} {
		file := strings.ReplaceAll(name, " ", "-")
		tr.write(t, file+".csv", c.rows)
		path := tr.oracle(t, strings.NewReplacer("NAME", file, "MORE", c.more).Replace(fit))
		for _, args := range [][]string{{"check", path}, {"run", path}} {
			code, out, log := call(args...)
			text := out + log
			if args[0] == "run" {
				text = log
			}
			if code != cli.ExitUsage || !strings.Contains(text, c.want) || strings.Count(text, `oracle.builtin.fit is "own", and the fit on this node's own data does not give the `+
				"fleet's model") != 1 {
				t.Errorf("%s: %s: exit code %d, want %q in\n%s", name, args[0], code, c.want, text)
			}
		}
	}
	if code, _, log := call("run", guardedTrackingOf(t, tr)); code != cli.ExitFailed || !strings.Contains(log, "is above the limit of 1 bytes") {
		t.Errorf("exit code %d, %s", code, log)
	}
	if n := seen.Load(); n > 0 {
		t.Errorf("a neighbor has seen %d connections of nodes that did not start", n)
	}
}

// guardedTrackingOf writes a node file and a fleet file like those of a trial, but with too large a tracking memory,
// and returns the path of the node file.
func guardedTrackingOf(t *testing.T, tr *trial) string {
	t.Helper()
	other, fleet := *tr.file, *tr.file.Fleet
	other.Fleet, other.X0File, fleet.Method.Estimator = &fleet, "x0.again", sdk.EstimatorTracking
	if err := other.Write(tr.path("tracking.json")); err != nil {
		t.Fatal(err)
	}
	return tr.variant(t, "a.json", "fleet.json", "tracking.json", `"version": 1`, `"version": 1, "memory_limit": 1`)
}

// A device with a new ledger and without state meets a neighbor that holds its releases. It ends within moments and
// reports what the neighbor holds and what to do. Regression: with pairwise noise it waited indefinitely.
func TestNewDeviceIsTold(t *testing.T) {
	t.Parallel()
	dir, _ := plant(t, "-graph", "complete", "-colluders", "1", "-hosts", ownPort()+","+ownPort()+","+ownPort(), "-rounds", "200")
	of := func(name, file string) string { return filepath.Join(dir, name, file) }
	a, b, c := start(t, "run", of("a", "node.json")), start(t, "run", of("b", "node.json")), start(t, "run", of("c", "node.json"))
	a.log.await(t, "  5 of")
	b.kill()
	for _, lost := range []string{"state", "ledger.json", "ledger.json.mark", "ledger.json.neighbors"} {
		if err := os.RemoveAll(of("b", lost)); err != nil {
			t.Fatal(err)
		}
	}
	if code, text := said("privacy", "-new-ledger", of("b", "ledger.json"), "-dataset", "b"); code != cli.ExitDone {
		t.Fatal(text)
	}
	b = start(t, "run", of("b", "node.json"))
	b.wait(t, cli.ExitMismatch)
	for _, want := range []string{" holds release ", "of this node, whose own state ends with release 0", "restore the newest state and ledger", "spade-edge run -recover"} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("no %q in\n%s", want, b.log.String())
		}
	}
	// The advice in the message works.
	b = start(t, "run", of("b", "node.json"), "-recover")
	b.log.await(t, "this device has replaced the lost one")
	for _, p := range []*process{a, b, c} {
		p.kill()
	}
}
