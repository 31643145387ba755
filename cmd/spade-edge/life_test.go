package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// into runs a command with -json and reads its one object; it fails the test on another exit code.
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

// tree lists what is in a folder.
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

// From nothing to models that are taken home: a fleet is made, checked, run, exported and looked at.
func TestLifeOfAFleet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ward")
	var made initResult
	into(t, &made, exitDone, "init", dir, "-nodes", "west,north,east", "-hosts", strings.Join(steadyPorts(t, 3), ","), "-rounds", "6", "-cooldown", "4", "-average", "-table", "seeded",
		"-partition", "dirichlet:0.5", "-seed", "3")
	if made.Run != "ward" || made.Dim != 6 || len(made.Nodes) != 3 || made.NonPrivate || math.Abs(*made.Epsilon-8) > 1e-3 || *made.Epsilon > 8 {
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

	var before checkup
	into(t, &before, exitDone, "check", made.Nodes[0].File, "-timeout", "20s")
	want := map[string]string{"node file": "ok", "fleet file": "ok", "key": "ok", "state": "ok", "privacy": "ok", "ledger": "ok", "listen": "ok", "oracle": "ok",
		"disk": "ok", `neighbor "east"`: "warn", `neighbor "north"`: "warn", "clock": "ok"}
	before.expect(t, want)

	results := runFleet(t, made)
	for i, n := range made.Nodes {
		var after checkup
		into(t, &after, exitDone, "check", n.File, "-offline")
		if got := after.text("state"); !strings.Contains(got, "the run is done") {
			t.Errorf("state: %s", got)
		}
		out := filepath.Join(t.TempDir(), "model.npy")
		var e exported
		into(t, &e, exitDone, "export", n.File, "-out", out)
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
		if code, _, log := call("privacy", "-verify", e.Certificate, "-ledger", filepath.Join(filepath.Dir(n.File), "ledger.json")); code != exitDone {
			t.Errorf("certificate: %s", log)
		}
	}
}

// expect compares a checkup's verdicts.
func (c *checkup) expect(t *testing.T, want map[string]string) {
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
			t.Errorf("%s: %q, want %q: %s", item, got[item], verdict, c.text(item))
		}
	}
	for item := range got {
		if _, ok := want[item]; !ok {
			t.Errorf("%s: not expected: %s", item, c.text(item))
		}
	}
}

func (c *checkup) text(item string) string {
	for _, f := range c.Items {
		if f.Item == item {
			return f.Text
		}
	}
	return "no such item"
}

// runFleet runs all nodes in this process.
func runFleet(t *testing.T, made initResult) []runResult {
	t.Helper()
	results := make([]runResult, len(made.Nodes))
	codes, logs := make([]int, len(made.Nodes)), make([]string, len(made.Nodes))
	var wg sync.WaitGroup
	for i, n := range made.Nodes {
		wg.Go(func() {
			var out string
			codes[i], out, logs[i] = call("run", n.File, "-json")
			_ = json.Unmarshal([]byte(out), &results[i]) // an empty result is told below
		})
	}
	wg.Wait()
	for i := range codes {
		if codes[i] != exitDone || !results[i].Done {
			t.Fatalf("exit code %d:\n%s", codes[i], logs[i])
		}
	}
	return results
}

// readNPY reads a file of format 1.0 with one dimension of '<f4', as strictly as numpy does.
func readNPY(t *testing.T, path string) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 10 || string(b[:8]) != "\x93NUMPY\x01\x00" {
		t.Fatalf("magic %q", b[:min(10, len(b))])
	}
	end := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	header := string(b[10:end])
	var n int
	if _, err := fmt.Sscanf(header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", &n); err != nil || end%64 != 0 || header[len(header)-1] != '\n' ||
		strings.TrimLeft(header[strings.Index(header, "}")+1:], " ") != "\n" || len(b) != end+4*n {
		t.Fatalf("header %q, %d bytes for %d numbers: %v", header, len(b)-end, n, err)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[end+4*i:]))
	}
	return x
}

// The header of a model of any length ends where the numbers begin, at a multiple of 64.
func TestNPYHeader(t *testing.T) {
	for _, n := range []int{1, 9, 10, 999, 123456, 1 << 28} {
		if b := npyHeader(n); len(b)%64 != 0 || b[len(b)-1] != '\n' || int(binary.LittleEndian.Uint16(b[8:]))+10 != len(b) {
			t.Errorf("%d numbers: %q", n, b)
		}
	}
	if got, want := string(npyHeader(6)), "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"; !strings.HasPrefix(got, want) || len(got) != 128 {
		t.Errorf("header %q", got)
	}
}

// The real way: every device makes its key and prints a line; the fleet file is made of the lines, and of no secret.
func TestInitMembers(t *testing.T) {
	dir := t.TempDir()
	ports := steadyPorts(t, 3)
	lines := "# the wards\n\n"
	for i, name := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		code, line, log := call("keygen", "-name", name, "-out", filepath.Join(dir, name, "node.key"), "-address", ports[i])
		if code != exitDone || !strings.Contains(line, `"addresses":["wss://`+ports[i]+`/"]`) {
			t.Fatalf("exit code %d, line %q: %s", code, line, log)
		}
		lines += line
	}
	members := filepath.Join(dir, "members.txt")
	if err := os.WriteFile(members, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var made initResult
	into(t, &made, exitDone, "init", filepath.Join(dir, "plant"), "-members", members, "-deal", "-data", "synthetic:clinical", "-graph", "path", "-rounds", "3", "-cooldown", "1")
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
		var c checkup
		into(t, &c, exitFailed, "check", filepath.Join(there, "node.json"), "-offline") // whether the data are new is for a person to say
		if !strings.Contains(c.text("ledger"), "privacy -new-ledger") || c.text("key") == "no such item" {
			t.Errorf("%+v", c)
		}
		l, err := dpmech.CreateLedger(filepath.Join(there, "ledger.json"), "ward "+n.Name, nil)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		made.Nodes[i].File = filepath.Join(there, "node.json")
	}
	runFleet(t, made)

	// A device's own data and program: nothing is loaded, and the gap that is left is named.
	into(t, &made, exitDone, "init", filepath.Join(dir, "own"), "-members", members, "-data", "csv:not-here.csv", "-label", "y", "-dim", "20", "-non-private")
	node, err := fleetfile.ReadNode(made.Nodes[0].File)
	if err != nil || node.Oracle.Builtin == nil || node.Oracle.Builtin.Share != nil || node.Oracle.Builtin.Spec.Source != "csv:"+filepath.Join(dir, "own", "a", "not-here.csv") || node.Ledger != "" {
		t.Errorf("node %+v, error %v", node, err)
	}
	into(t, &made, exitDone, "init", filepath.Join(dir, "stream"), "-nodes", "a,b", "-stream", "./scorer -fast", "-workers", "2", "-dim", "20")
	node, err = fleetfile.ReadNode(made.Nodes[0].File)
	if err != nil || node.Oracle.Stream == nil || strings.Join(node.Oracle.Stream.Command, "|") != "./scorer|-fast" || node.Oracle.Stream.Workers != 2 {
		t.Errorf("node %+v, error %v", node, err)
	}
	into(t, &made, exitDone, "init", filepath.Join(dir, "gap"), "-n", "1", "-dim", "20")
	var c checkup
	into(t, &c, exitUsage, "check", made.Nodes[0].File)
	if !strings.Contains(c.text("oracle"), "the node file has a gap") {
		t.Errorf("oracle: %s", c.text("oracle"))
	}
}

// A task that was fitted on public data is every node's, and its model's start with it.
func TestInitTask(t *testing.T) {
	dir := t.TempDir()
	recipe := filepath.Join(dir, "task.json")
	if code, _, log := call("fit", "-data", "synthetic:clinical", "-model", "perceptron", "-fitted-on", "generated patients", "-out", recipe); code != exitDone {
		t.Fatal(log)
	}
	var made initResult
	into(t, &made, exitDone, "init", filepath.Join(dir, "own"), "-n", "2", "-task", recipe, "-data", "synthetic:clinical", "-non-private", "-rounds", "3")
	f, err := fleetfile.Read(made.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	task, err := f.Task()
	if err != nil || task == nil || task.FittedOn != "generated patients" || f.Fleet.Dim != task.Dim() || !slices.Equal(f.Fleet.X0, task.Start(1)) {
		t.Errorf("task %+v, error %v", task, err)
	}
	var c checkup
	into(t, &c, exitDone, "check", made.Nodes[0].File, "-offline")
	if !strings.Contains(c.text("oracle"), "a finite loss") {
		t.Errorf("oracle: %s", c.text("oracle"))
	}
}

// What check finds wrong, item by item, and with which code it ends.
func TestCheckFindsFaults(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
	})
	whole, err := os.ReadFile(tr.path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	listen := strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[0].Addresses[0], "wss://"), "/")
	small, err := dpmech.CreateLedger(tr.path("small.ledger"), "d", &dpmech.Limit{Epsilon: 0.1, Delta: 1e-5, Accounting: dpmech.GDP})
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
		"nothing":          {"", "", exitDone, "oracle", "a finite loss"},
		"no state":         {`"a.state"`, `""`, exitUsage, "node file", "state is"},
		"no fleet file":    {"fleet.json", "none.json", exitUsage, "fleet file", "none.json"},
		"no key":           {"a.key", "none.key", exitUsage, "key", "none.key"},
		"another's key":    {"a.key", "b.key", exitUsage, "key", "but the fleet file has"},
		"not a member":     {`"name": "a"`, `"name": "z"`, exitUsage, "key", `"z" is not a member`},
		"no ledger":        {`"ledger": "a.ledger", `, "", exitUsage, "ledger", "ledger is missing"},
		"no ledger there":  {"a.ledger", "none.ledger", exitFailed, "ledger", "privacy -new-ledger"},
		"a spent ledger":   {"a.ledger", "small.ledger", exitRefused, "ledger", "budget"},
		"no such port":     {listen, "192.0.2.1:1", exitFailed, "listen", "192.0.2.1:1"},
		"no data":          {"synthetic:clinical\"", "csv:none.csv\", \"label\": \"y\"", exitFailed, "oracle", "none.csv"},
		"another model":    {`"seed": 5`, `"seed": 5, "bias": false`, exitUsage, "oracle", "5 parameters"},
		"no state folder":  {"a.state", "a.key/x", exitFailed, "state", "a.key"},
		"not a state":      {"a.state", ".", exitDone, "state", "is new"},
		"unknown settings": {`"version"`, `"color": 1, "version"`, exitUsage, "node file", "color is unknown"},
	} {
		path := tr.path("node.json")
		if !strings.Contains(string(whole), c.old) {
			t.Fatalf("%s: no %q in the node file", name, c.old)
		}
		tr.write(t, "node.json", strings.Replace(string(whole), c.old, c.new, 1))
		var got checkup
		into(t, &got, c.code, "check", path, "-offline")
		if !strings.Contains(got.text(c.item), c.want) || got.OK != (c.code == exitDone) || got.Code != c.code {
			t.Errorf("%s: %+v, want %s with %q", name, got, c.item, c.want)
		}
		code, out, log := call("check", path, "-offline")
		if code != c.code || !strings.Contains(out, c.want) || c.code != exitDone && !strings.Contains(log, "not fit to run: ") {
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
		var got checkup
		if into(t, &got, exitUsage, "check", tr.path("a.json")); !strings.Contains(got.text("key"), "0600") {
			t.Errorf("key: %s", got.text("key"))
		}
	}
	for _, args := range [][]string{{"check"}, {"check", "a", "b"}, {"check", "a", "-timeout", "0s"}, {"check", "a", "-fast"}} {
		if code, out, log := call(args...); code != exitUsage || out != "" || log == "" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, log)
		}
	}
}

// The neighbors are at work: check finds those that are up, and the one with another fleet, and disturbs none; it may also be run
// beside the node itself. The models are those of the quiet run.
func TestCheckBesideRunningNodes(t *testing.T) {
	tr := newTrial(t, "ab bc", nil)
	models, _ := tr.simulate(t)
	tr.other(t)
	b := start(t, "run", "-json", tr.path("b.json"))
	b.log.await(t, "waiting for", `"a"`, `"c"`)
	var c checkup
	into(t, &c, exitDone, "check", tr.path("a.json"))
	if got := c.text(`neighbor "b"`); !strings.HasPrefix(got, "has the same fleet") {
		t.Errorf("b: %s", got)
	}
	tr.of(t, "c", "other.json")
	c = checkup{}
	into(t, &c, exitMismatch, "check", tr.path("c.json"))
	if got := c.text(`neighbor "b"`); !strings.Contains(got, "hello refused") || !strings.Contains(got, "method differs") {
		t.Errorf("b: %s", got)
	}
	tr.of(t, "c", "fleet.json")
	c = checkup{}
	into(t, &c, exitDone, "check", tr.path("b.json")) // b is running
	if !strings.Contains(c.text("state"), "the node is running") || !strings.Contains(c.text("listen"), "running node's") ||
		!strings.HasPrefix(c.text(`neighbor "a"`), "not reachable (yet)") {
		t.Errorf("b: %+v", c)
	}
	a := start(t, "run", "-json", tr.path("a.json"))
	b.log.await(t, "connected", "peer=a")
	c = checkup{}
	into(t, &c, exitDone, "check", tr.path("a.json"))
	into(t, &c, exitDone, "check", tr.path("b.json"))
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

// Export in every form, of a run that is not done as well, and every way in which it must not be.
func TestExport(t *testing.T) {
	tr := newTrial(t, "a ", func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil })
	node := tr.path("a.json")
	if code, out, log := call("export", node, "-out", tr.path("x.npy")); code != exitFailed || out != "" || !strings.Contains(log, "no model yet") {
		t.Errorf("before the first release: exit code %d: %s%s", code, out, log)
	}
	tr.edit(t, "a.json", `"version": 1`, `"version": 1, "average": true`)
	var r runResult
	into(t, &r, exitDone, "run", node)
	for name, want := range map[string]string{"m.npy": "npy", "m.raw": "raw", "m.BIN": "raw", "m.f32": "raw", "m.json": "json"} {
		var e exported
		into(t, &e, exitDone, "export", node, "-out", tr.path(name))
		if e.Format != want || e.Model != r.Model || !e.Done || e.Certificate != "" || !e.NonPrivate {
			t.Errorf("%s: %+v", name, e)
		}
	}
	raw, err := os.ReadFile(tr.path("m.raw"))
	if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != r.Model {
		t.Errorf("the raw file is not what model_sha256 names: %v", err)
	}
	var text struct {
		Model []float32 `json:"model"`
	}
	if b, err := os.ReadFile(tr.path("m.json")); err != nil || json.Unmarshal(b, &text) != nil || sdk.ModelHash(text.Model) != r.Model {
		t.Errorf("the JSON file holds %v, error %v", text, err)
	}
	var mean exported
	into(t, &mean, exitDone, "export", node, "-averaged", "-out", tr.path("mean"), "-format", "npy")
	if mean.Model == r.Model || !mean.Averaged || sdk.ModelHash(readNPY(t, tr.path("mean"))) != mean.Model {
		t.Errorf("averaged: %+v", mean)
	}
	var again exported
	into(t, &again, exitDone, "export", node, "-force", "-out", tr.path("mean"), "-format", "npy")
	if again.Model != r.Model || sdk.ModelHash(readNPY(t, tr.path("mean"))) != r.Model {
		t.Errorf("-force: %+v", again)
	}

	other := newTrial(t, "ab", nil)
	tr.write(t, "stranger.json", strings.Replace(readFile(t, other.path("a.json")), `"a.state"`, strconv.Quote(filepath.ToSlash(tr.path("a.state"))), 1))
	tr.edit(t, "stranger.json", `"fleet.json"`, strconv.Quote(filepath.ToSlash(other.path("fleet.json"))))
	before := tree(t, tr.dir)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "no file given", []string{"-out", "x.npy"}},
		{exitUsage, "-out is missing", []string{node}},
		{exitUsage, `-format "hdf5", want npy, raw or json`, []string{node, "-out", tr.path("x"), "-format", "hdf5"}},
		{exitUsage, "the ending of -out", []string{node, "-out", tr.path("x.h5")}},
		{exitUsage, "m.npy is there already: -force", []string{node, "-out", tr.path("m.npy")}},
		{exitUsage, "none.json", []string{tr.path("none.json"), "-out", tr.path("x.npy")}},
		{exitFailed, "no such file", []string{node, "-out", tr.path("none/x.npy")}},
		{exitMismatch, "another node's or another run's", []string{tr.path("stranger.json"), "-out", tr.path("x.npy")}},
	} {
		code, out, log := call(append([]string{"export"}, c.args...)...)
		if code != c.code || !strings.Contains(log, c.want) || out != "" {
			t.Errorf("%q: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, log)
		}
		if after := tree(t, tr.dir); after != before {
			t.Errorf("%q: left behind %s", c.args, after)
		}
	}
	tr.edit(t, "fleet.json", `"cooldown": 3`, `"cooldown": 4`)
	if code, _, log := call("export", node, "-out", tr.path("x.npy")); code != exitMismatch {
		t.Errorf("another fleet file: exit code %d: %s", code, log)
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

// A node's certificate goes along only if it is the model's.
func TestExportCertificate(t *testing.T) {
	tr := newTrial(t, "a ", func(f *sdk.Fleet) {
		f.Members, f.Edges = []string{"a"}, nil
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
	})
	node, cert := tr.path("a.json"), tr.path("a.state/certificate.json")
	var r runResult
	into(t, &r, exitDone, "run", node)
	text := readFile(t, cert)
	for name, c := range map[string]struct {
		text, want string // no want: it is copied
	}{
		"as it is":          {text, ""},
		"of another node":   {strings.ReplaceAll(text, `"member": "a"`, `"member": "b"`), "of another run"},
		"with a lower cost": {strings.Replace(text, `"rho": 0.`, `"rho": 0.0`, 1), "rho is stated as"},
		"not JSON":          {"hello", "invalid character"},
		"gone":              {"", "the node writes one when it ends"},
	} {
		if err := os.WriteFile(cert, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.text == "" {
			if err := os.Remove(cert); err != nil {
				t.Fatal(err)
			}
		}
		out := tr.path("m.npy")
		code, said, log := call("export", node, "-out", out, "-force")
		copied, err := os.ReadFile(out + ".certificate.json")
		if code != exitDone || !strings.Contains(said, c.want) || (err == nil) != (c.want == "") || err == nil && string(copied) != text {
			t.Errorf("%s: exit code %d, copy %v\n%s%s", name, code, err, said, log)
		}
	}
}

// What inspect says of everything that a fleet leaves behind.
func TestInspect(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5, EpsilonLimit: 8} })
	var wg sync.WaitGroup
	for _, name := range []string{"a.json", "b.json"} {
		wg.Go(func() { call("run", tr.path(name)) })
	}
	wg.Wait()
	x := make([]float32, 6)
	frames := map[string]string{
		"hello.bin":   string(tr.file.Fleet.Hello("a")("b")),
		"done.bin":    encoded(t, 6, doneFrame),
		"hail.bin":    encoded(t, 6, hailFrame),
		"release.bin": encoded(t, 6, releaseFrame),
		"float.bin":   encoded(t, 6, floatFrame(x)),
		"junk.bin":    "\x00\x01\x02 nothing of ours",
		"empty.bin":   "",
		"odd.json":    `{"a": 1}`,
		"half.json":   `{"a": `,
		"plain.txt":   "hello",
	}
	for name, text := range frames {
		tr.write(t, name, text)
	}
	tr.write(t, "bad.fleet", strings.Replace(readFile(t, tr.path("fleet.json")), `"tau": 2`, `"tau": 0`, 1))
	tr.write(t, "bad.cert", strings.Replace(readFile(t, tr.path("a.state/certificate.json")), `"rho": 0.`, `"rho": 0.0`, 1))
	tr.write(t, "bad.ledger", strings.Replace(readFile(t, tr.path("a.ledger")), `"round":2`, `"round":9`, 1))
	if err := os.CopyFS(tr.path("old.state"), os.DirFS(tr.path("a.state"))); err != nil {
		t.Fatal(err)
	}
	tr.remove(t, "old.state/slot-0", "old.state/slot-1")
	for _, c := range []struct {
		path string
		code int
		kind string
		want []string
		args []string
	}{
		{"a.state", exitDone, "state folder", []string{`slot-1         round 9 of "a"`, `slot-0         round 8 of "a"`, "9 lines", `"round":9`, "sound: a node goes on"}, nil},
		{"old.state", exitFailed, "state folder", []string{"refused", "is missing"}, nil},
		{"a.state/slot-1", exitDone, "slot", []string{`round 9 of "a"`, "6 numbers", "spade-edge arithmetic"}, nil},
		{"a.ledger", exitDone, "ledger", []string{"patients of a", "releases       6"}, nil},
		{"bad.ledger", exitFailed, "", []string{"bad.ledger"}, nil},
		{"a.ledger.mark", exitUsage, "", []string{"the mark of a ledger"}, nil},
		{"a.state/certificate.json", exitDone, "certificate", []string{"PRIVACY CERTIFICATE", "verified"}, nil},
		{"bad.cert", exitFailed, "certificate", []string{"rho is stated as"}, nil},
		{"fleet.json", exitDone, "fleet file", []string{`"trial"`, "lambda_N 2", "0.75 of the limit", "after round 6 epsilon", `neighbors ["b"]`}, nil},
		{"bad.fleet", exitUsage, "", []string{"method.tau is 0"}, nil},
		{"a.json", exitDone, "node file", []string{"synthetic:clinical", "a.ledger", "listen"}, nil},
		{"a.key", exitDone, "key file", []string{"ed25519:", "not shown"}, nil},
		{"hello.bin", exitDone, "hello", []string{`from           "a" to "b"`, "7 sections"}, nil},
		{"done.bin", exitDone, "frame", []string{"done of round 9"}, nil},
		{"hail.bin", exitDone, "frame", []string{"hail of round 4", "holds release 3", "00000000deadbeef"}, nil},
		{"release.bin", exitDone, "frame", []string{"release of round 2, resent: true", "6 whole numbers"}, []string{"-dim", "6"}},
		{"float.bin", exitDone, "frame", []string{"message of round 1", "6 numbers as float32"}, []string{"-dim", "6"}},
		{"release.bin", exitUsage, "", []string{"-dim says how long that is"}, nil},
		{"junk.bin", exitUsage, "", []string{"is none of"}, nil},
		{"empty.bin", exitUsage, "", []string{"is none of"}, nil},
		{"plain.txt", exitUsage, "", []string{"is none of"}, nil},
		{"odd.json", exitUsage, "", []string{"neither ledger"}, nil},
		{"half.json", exitUsage, "", []string{"looks like JSON"}, nil},
		{".", exitUsage, "", []string{"not one of a node's state"}, nil},
		{"none", exitFailed, "", []string{"no such file"}, nil},
		{"fleet.json", exitUsage, "", []string{"-dim is -1"}, []string{"-dim", "-1"}},
	} {
		code, out, log := call(append([]string{"inspect", tr.path(c.path)}, c.args...)...)
		if code != c.code || c.kind == "" && out != "" || c.kind != "" && !strings.HasPrefix(out, c.kind) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", c.path, code, c.code, c.kind, out, log)
		}
		for _, want := range c.want {
			if !strings.Contains(out+log, want) {
				t.Errorf("%s: no %q in\n%s%s", c.path, want, out, log)
			}
		}
		if c.kind == "" {
			continue
		}
		var r struct {
			Path, Kind string
			Content    map[string]any
		}
		into(t, &r, c.code, append([]string{"inspect", tr.path(c.path)}, c.args...)...)
		if r.Kind != c.kind || len(r.Content) == 0 {
			t.Errorf("%s: %+v", c.path, r)
		}
	}
	if secret := readFile(t, tr.path("a.key")); true {
		_, out, _ := call("inspect", tr.path("a.key"), "-json")
		if body := strings.Split(secret, "\n")[1]; strings.Contains(out, body[20:40]) {
			t.Error("the secret key is shown")
		}
	}
}

// A node hears the hangup: a neighbor's new key and place are taken over, what else has changed is not, and the run ends with the
// models of the quiet one.
func TestHangup(t *testing.T) {
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
	b.log.await(t, "the fleet file is not taken over", "only keys and addresses may change", "method differs")
	tr.write(t, "fleet.json", "{")
	hangup()
	b.log.await(t, "the fleet file is not taken over", "line 1")

	// c has lost its key, and lives elsewhere now. b alone has it as a neighbor.
	tr.remove(t, "c.key")
	code, line, log := call("keygen", "-name", "c", "-out", tr.path("c.key"))
	if code != exitDone {
		t.Fatal(log)
	}
	var m memberLine
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	moved := steadyPorts(t, 1)[0]
	was := strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[2].Addresses[0], "wss://"), "/")
	at := strings.Index(whole, `{"name": "c"`)
	end := at + strings.Index(whole[at:], "\n")
	tr.write(t, "fleet.json", whole[:at]+fmt.Sprintf(`{"name": "c", "keys": [%q], "addresses": ["wss://%s/"]}`, m.Keys[0], moved)+whole[end:])
	tr.edit(t, "c.json", was, moved)
	c := start(t, "run", "-json", tr.path("c.json"))
	hangup()
	b.log.await(t, "the fleet file is read again")
	for i, p := range []*process{a, b, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

// An interrupt is heard while data load: whoever waits for them goes at once.
func TestInterruptWhileLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	loading, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	go func() {
		<-loading
		cancel()
	}()
	_, err := prompt(ctx, func() (int, error) {
		close(loading)
		<-release
		return 1, nil
	})
	if exitCode(err, "demo", io.Discard) != exitFailed || err == nil {
		t.Errorf("error %v", err)
	}
	if v, err := prompt(t.Context(), func() (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range [][]string{{"demo"}, {"simulate"}, {"init", filepath.Join(t.TempDir(), "x"), "-n", "2"}} {
		var out, log bytes.Buffer
		if code := run(ended, args, &out, &log); code != exitFailed || out.Len() > 0 || !strings.Contains(log.String(), "interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, &log)
		}
	}
}
