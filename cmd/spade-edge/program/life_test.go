package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// into runs a command with -json and decodes its one object. Another exit code fails the test.
func into(t *testing.T, result any, code int, args ...string) {
	t.Helper()
	got, out, log := call(append(args, "-json")...)
	if got != code {
		t.Fatalf("%v: exit code %d, want %d:\n%s%s", args, got, code, out, log)
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(result); err != nil || dec.More() {
		t.Fatalf("%v: %v in\n%s", args, err, out)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// From an empty folder to exported models: init, check, run, export and status of a fleet.
func TestLifeOfAFleet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ward")
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", dir, "-nodes", "west,north,east", "-hosts", strings.Join([]string{ownPort(), ownPort(), ownPort()}, ","), "-rounds", "6", "-cooldown", "4", "-average", "-table", "seeded",
		"-partition", "dirichlet:0.5", "-seed", "3")
	if made.Run != "ward" || made.Dim != 6 || len(made.Nodes) != 3 || made.Privacy == nil || math.Abs(made.Privacy.EpsilonGDP-8) > 1e-3 || made.Privacy.EpsilonGDP > 8 {
		t.Errorf("made %+v", made)
	}
	for _, name := range []string{"run", "graph", "data", "eta", "mu", "clip", "sigma", "epsilon", "tau", "gain", "labels"} {
		if _, ok := made.Chosen[name]; !ok {
			t.Errorf("-%s was chosen, and nobody is told", name)
		}
	}
	if _, ok := made.Chosen["rounds"]; ok {
		t.Error("-rounds was given, and counts as chosen")
	}
	file, err := fleetfile.Read(made.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	if p := file.Fleet.Privacy; p.EpsilonLimit != 8 || len(file.Fleet.Edges) != 3 || fmt.Sprintf("%x", file.Fleet.Hash()) != made.FleetHash {
		t.Errorf("fleet %+v", file.Fleet)
	}

	var before node.Checkup
	into(t, &before, cli.ExitDone, "check", made.Nodes[0].File, "-timeout", "20s")
	want := map[string]string{"node file": "ok", "fleet file": "ok", "key": "ok", "state": "ok", "privacy": "ok", "ledger": "ok", "listen": "ok", "oracle": "ok",
		"data": "ok", "labels": "ok",
		"forecast": "warn", `neighbor "east"`: "warn", `neighbor "north"`: "warn"}
	expect(&before, t, want)

	results := runFleet(t, made)
	for i, n := range made.Nodes {
		var after node.Checkup
		into(t, &after, cli.ExitDone, "check", n.File, "-offline")
		if got := checkupText(&after, "state"); !strings.Contains(got, "the run is done") {
			t.Errorf("state: %s", got)
		}
		out := filepath.Join(t.TempDir(), "model.npy")
		var e node.Exported
		into(t, &e, cli.ExitDone, "export", n.File, "-out", out)
		if e.Model != results[i].Model || !e.Done || e.Round != 10 || e.Rounds != 10 || e.Dim != 6 || e.Averaged || e.Certificate == "" || e.Format != "npy" {
			t.Errorf("exported %+v, want model_sha256 %s", e, results[i].Model)
		}
		x := readNPY(t, out)
		if sdk.ModelHash(x) != results[i].Model {
			t.Errorf("the file holds %v", x)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		line, err := os.ReadFile(out + ".sha256")
		if sum := sha256.Sum256(content); err != nil || string(line) != hex.EncodeToString(sum[:])+"  model.npy\n" || e.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("sum %q, error %v", line, err)
		}
		if code, _, log := call("privacy", "-verify", e.Certificate, "-ledger", filepath.Join(filepath.Dir(n.File), "ledger.json")); code != cli.ExitDone {
			t.Errorf("certificate: %s", log)
		}
	}
}

func expect(c *node.Checkup, t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, f := range c.Items {
		if strings.ContainsAny(f.Text, "\n") || f.Text == "" {
			t.Errorf("%s: %q is not one line", f.Item, f.Text)
		}
		got[f.Item] = f.Verdict
	}
	for item, verdict := range want {
		if got[item] != verdict {
			t.Errorf("%s: %q, want %q: %s", item, got[item], verdict, checkupText(c, item))
		}
	}
	for item := range got {
		if _, ok := want[item]; !ok {
			t.Errorf("%s: not expected: %s", item, checkupText(c, item))
		}
	}
}

func checkupText(c *node.Checkup, item string) string {
	for _, f := range c.Items {
		if f.Item == item {
			return f.Text
		}
	}
	return "no such item"
}

func runFleet(t *testing.T, made fleet.InitResult) []node.RunResult {
	t.Helper()
	results := make([]node.RunResult, len(made.Nodes))
	codes, logs := make([]int, len(made.Nodes)), make([]string, len(made.Nodes))
	var wg sync.WaitGroup
	for i, n := range made.Nodes {
		wg.Go(func() {
			var out string
			codes[i], out, logs[i] = call("run", n.File, "-json")
			_ = json.Unmarshal([]byte(out), &results[i]) // the checks below report an empty result
		})
	}
	wg.Wait()
	for i := range codes {
		if codes[i] != cli.ExitDone || !results[i].Done {
			t.Fatalf("exit code %d:\n%s", codes[i], logs[i])
		}
	}
	return results
}

// As in production: each device makes its key and prints a line; the fleet file is made of the lines, without any
// secret.
func TestInitMembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ports := []string{ownPort(), ownPort(), ownPort()}
	lines := "# the wards\n\n"
	for i, name := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		code, line, log := call("keygen", "-name", name, "-out", filepath.Join(dir, name, "node.key"), "-address", ports[i])
		if code != cli.ExitDone || !strings.Contains(line, `"addresses":["wss://`+ports[i]+`/"]`) {
			t.Fatalf("exit code %d, line %q: %s", code, line, log)
		}
		lines += line
	}
	members := filepath.Join(dir, "members.txt")
	if err := os.WriteFile(members, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", filepath.Join(dir, "plant"), "-members", members, "-deal", "-data", "synthetic:clinical", "-graph", "path", "-rounds", "3", "-cooldown", "1")
	if got, want := tree(t, filepath.Join(dir, "plant")), "a a/node.json b b/node.json c c/node.json fleet.json"; got != filepath.FromSlash(want) {
		t.Errorf("made %s, want %s", got, want)
	}
	for i, n := range made.Nodes { // to the devices
		there := filepath.Join(dir, n.Name)
		for from, to := range map[string]string{made.Fleet: "fleet.json", n.File: "node.json"} {
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(there, to), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var c node.Checkup
		// Only a person knows whether the data are new.
		into(t, &c, cli.ExitFailed, "check", filepath.Join(there, "node.json"), "-offline")
		if !strings.Contains(checkupText(&c, "ledger"), "privacy -new-ledger") || checkupText(&c, "key") == "no such item" {
			t.Errorf("%+v", c)
		}
		l, err := state.CreateLedger(filepath.Join(there, "ledger.json"), "ward "+n.Name, nil)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		made.Nodes[i].File = filepath.Join(there, "node.json")
	}
	runFleet(t, made)

	// With a device's own data or program, init loads nothing, and the file names the placeholder.
	into(t, &made, cli.ExitDone, "init", filepath.Join(dir, "own"), "-members", members, "-data", "csv:not-here.csv", "-label", "y", "-dim", "20", "-non-private")
	own, err := fleetfile.ReadNode(made.Nodes[0].File)
	if err != nil || builtin.Of(own) == nil || builtin.Of(own).Share != nil || builtin.Of(own).Spec.Source != "csv:"+filepath.Join(dir, "own", "a", "not-here.csv") || own.Ledger != "" {
		t.Errorf("node %+v, error %v", own, err)
	}
	into(t, &made, cli.ExitDone, "init", filepath.Join(dir, "stream"), "-nodes", "a,b", "-stream", "./scorer -fast", "-dim", "20")
	own, err = fleetfile.ReadNode(made.Nodes[0].File)
	if o, ok := own.Oracle.(*fleetfile.Stream); err != nil || !ok || strings.Join(o.Command, "|") != "./scorer|-fast" {
		t.Errorf("node %+v, error %v", own, err)
	}
	into(t, &made, cli.ExitDone, "init", filepath.Join(dir, "gap"), "-n", "1", "-hosts", ownPort(), "-dim", "20")
	var c node.Checkup
	into(t, &c, cli.ExitUsage, "check", made.Nodes[0].File)
	if !strings.Contains(checkupText(&c, "oracle"), "the node file has a gap") {
		t.Errorf("oracle: %s", checkupText(&c, "oracle"))
	}
}

// A task fitted on public data applies to all nodes, and the model's start comes with it.
func TestInitTask(t *testing.T) {
	dir := t.TempDir()
	recipe := filepath.Join(dir, "task.json")
	if code, _, log := call("fit", "-data", "synthetic:clinical", "-model", "perceptron", "-fitted-on", "generated patients", "-out", recipe); code != cli.ExitDone {
		t.Fatal(log)
	}
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", filepath.Join(dir, "own"), "-n", "2", "-hosts", ownPort()+","+ownPort(), "-task", recipe, "-data", "synthetic:clinical",
		"-non-private", "-rounds", "3")
	f, err := fleetfile.Read(made.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	task, err := builtin.Task(f.Fleet)
	if err != nil || task == nil || task.FittedOn != "generated patients" || f.Fleet.Dim != task.Dim() || !slices.Equal(f.Fleet.X0, task.Start(1)) {
		t.Errorf("task %+v, error %v", task, err)
	}
	var c node.Checkup
	into(t, &c, cli.ExitDone, "check", made.Nodes[0].File, "-offline")
	if !strings.Contains(checkupText(&c, "oracle"), "a finite loss") {
		t.Errorf("oracle: %s", checkupText(&c, "oracle"))
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// On a hangup, a node adopts a neighbor's new key and address but no other change, and the run ends with the models of
// the undisturbed one.
func TestHangup(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no such signal")
	}
	tr := newTrial(t, "ab bc", nil)
	models, _ := tr.simulate(t)
	a, b := start(t, "run", "-json", tr.path("a.json")), start(t, "run", "-json", tr.path("b.json"))
	b.log.await(t, "waiting for", `"c"`)
	a.log.await(t, "connected", "peer=b")
	hangup := func() {
		t.Helper()
		if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	whole := readFile(t, tr.path("fleet.json"))
	tr.write(t, "fleet.json", strings.Replace(whole, `"tau": 2`, `"tau": 3`, 1))
	hangup()
	b.log.await(t, "the fleet file was not reloaded", "only keys and addresses may change", "method differs")
	tr.write(t, "fleet.json", "{")
	hangup()
	b.log.await(t, "the fleet file was not reloaded", "column 1: unexpected end")

	// c has a new key and a new address. Only b has it as a neighbor.
	tr.remove(t, "c.key")
	code, line, log := call("keygen", "-name", "c", "-out", tr.path("c.key"))
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	var m struct{ Keys []string }
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	moved := ownPort()
	was := strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[2].Addresses[0], "wss://"), "/")
	at := strings.Index(whole, `{"name": "c"`)
	end := at + strings.Index(whole[at:], "\n")
	tr.write(t, "fleet.json", whole[:at]+fmt.Sprintf(`{"name": "c", "keys": [%q], "addresses": ["wss://%s/"]}`, m.Keys[0], moved)+whole[end:])
	tr.edit(t, "c.json", was, moved)
	c := start(t, "run", "-json", tr.path("c.json"))
	hangup()
	b.log.await(t, "the fleet file was reloaded")
	for i, p := range []*process{a, b, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

func TestInterruptWhileLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	loading, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	go func() {
		<-loading
		cancel()
	}()
	_, err := cli.Prompt(ctx, func() (int, error) {
		close(loading)
		<-release
		return 1, nil
	})
	if cli.ExitCode(err, "demo", io.Discard) != cli.ExitFailed || err == nil {
		t.Errorf("error %v", err)
	}
	if v, err := cli.Prompt(t.Context(), func() (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range [][]string{{"demo"}, {"simulate"}, {"init", filepath.Join(t.TempDir(), "x"), "-n", "2"}} {
		var out, log bytes.Buffer
		if code := run(ended, args, &out, &log); code != cli.ExitFailed || out.Len() > 0 || !strings.Contains(log.String(), "interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, &log)
		}
	}
}

// init splits a program at spaces, except inside double quotes.
func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "  ": nil, "./scorer": {"./scorer"}, " run  -fast ": {"run", "-fast"},
		`"/opt/my scorer/run" -label "a ""b"" c" d`: {"/opt/my scorer/run", "-label", `a "b" c`, "d"},
	} {
		if words, err := fleet.Words(text); err != nil || !slices.Equal(words, want) {
			t.Errorf("%q is %q, %v, want %q", text, words, err, want)
		}
	}
	for _, text := range []string{`a "b`, `a"b c"`, "a\nb"} {
		if _, err := fleet.Words(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
