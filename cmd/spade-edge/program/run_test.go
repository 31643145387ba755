package program

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// long is the form of tests that take their time: more kills, seeds and rounds. It is that of the whole check, .ci/run.
var long = os.Getenv("SPADE_LONG") != ""

// asProgram, set in the environment, makes the test binary the program.
const asProgram = "SPADE_EDGE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if os.Args[1] == panicking.name {
			commands = append(commands, panicking)
		}
		Websockets.Main()
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // most tests wait for processes
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}

// nextPort counts the ports that ownPort has tried.
var nextPort atomic.Int32

// ownPort returns a free loopback address that no other test of this process is given, outside the range from which systems take the
// ports of outgoing connections: while a process that listens on it is dead, nobody else gets it.
func ownPort() string {
	for {
		port := 18000 + (31*os.Getpid()+int(nextPort.Add(1)))%14500
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
}

// trial is a fleet of nodes on this machine: their files in a folder, and what they compute.
type trial struct {
	dir  string
	file *fleetfile.File

	secrets map[string]*ecdh.PrivateKey // that the members have made, as far as they have been seen
}

// newTrial writes the files of a fleet whose members are named in edges such as "ab": each member has its part of the
// generated patients, a key, and a port of its own. change may alter the fleet.
func newTrial(t *testing.T, edges string, change func(f *sdk.Fleet)) *trial {
	t.Helper()
	fleet := &sdk.Fleet{
		Run: "trial", Dim: 6, X0: []float32{0, 0.5, 0, -0.25, 0, 0.125},
		Method: sdk.Method{Rounds: 6, Cooldown: 3, Tau: 2, Batch: 8, Rho: 1, Gain: 0.75,
			Eta: []float64{1.5, 1.25, 1, 1, 0.75, 0.5}, Mu: []float64{0.6},
			Estimator: sdk.EstimatorCentered, Seed: 5},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	seen := map[string]bool{}
	for _, e := range strings.Fields(edges) {
		fleet.Edges = append(fleet.Edges, [2]string{e[:1], e[1:]})
		for _, name := range fleet.Edges[len(fleet.Edges)-1] {
			if !seen[name] {
				fleet.Members = append(fleet.Members, name)
			}
			seen[name] = true
		}
	}
	if change != nil {
		change(fleet)
	}
	tr := &trial{dir: t.TempDir(), file: &fleetfile.File{Fleet: fleet, X0File: "x0.bin"}}
	for i, name := range fleet.Members {
		port := ownPort()
		public, err := fleetfile.CreateKey(tr.path(name + ".key"))
		if err != nil {
			t.Fatal(err)
		}
		tr.file.Members = append(tr.file.Members, fleetfile.Member{
			Name: name, Keys: []ed25519.PublicKey{public}, Addresses: []string{"wss://" + port + "/"},
		})
		ledger := ""
		if !fleet.Privacy.NonPrivate {
			ledger = `"ledger": "` + name + `.ledger", `
			l, err := state.CreateLedger(tr.path(name+".ledger"), "patients of "+name, nil)
			if err == nil {
				err = l.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		tr.write(t, name+".json", fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "fleet.json", "key": "%s.key", "listen": %q, "state": "%s.state",
			%s"resend_seconds": 0.05, "oracle": {"builtin": {"fit": "own", "model": "softmax", "data": "synthetic:clinical", "seed": 5,
			"share": {"partition": "dirichlet:0.3", "of": %d, "number": %d}}}}`, name, name, port, name, ledger, len(fleet.Members), i))
	}
	if err := tr.file.Write(tr.path("fleet.json")); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *trial) path(name string) string { return filepath.Join(tr.dir, name) }

func (tr *trial) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(tr.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clients returns what a simulation needs of every member, with the patients dealt out in the given way.
func (tr *trial) clients(t *testing.T, partition string, noise func(client int) io.Reader) []sim.Client {
	t.Helper()
	set, err := task.Load(task.Spec{Source: "synthetic:clinical", Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	deal, err := task.ParsePartition(partition)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := deal.Assign(set.Train.Y, set.Train.Classes, len(tr.file.Members), 5)
	if err != nil {
		t.Fatal(err)
	}
	var samples []int
	for _, p := range parts {
		samples = append(samples, len(p))
	}
	cfgs, err := tr.file.Fleet.Machines(samples, noise)
	if err != nil {
		t.Fatal(err)
	}
	if tr.secrets != nil {
		tr.share(t, cfgs)
	}
	var clients []sim.Client
	for i, c := range cfgs {
		clients = append(clients, sim.Client{Config: c, Oracle: task.NewSoftmax(set.Train.Select(parts[i]))})
	}
	return clients
}

// simulate returns the hash of every member's model as a simulation computes it, and how many losses each asks for.
func (tr *trial) simulate(t *testing.T) (models []string, queries int64) {
	t.Helper()
	network, err := sim.New(tr.clients(t, "dirichlet:0.3", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := network.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, x := range network.Models() {
		models = append(models, sdk.ModelHash(x))
	}
	queries, _ = network.Queries()
	return models, queries
}

// process is the program at work in a process of its own.
type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	log  *console
	over chan struct{} // closed when it has ended
}

// start runs the program with some arguments. What is still running when the test ends is killed.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return starting(t, nil, args...)
}

// starting is start with more in the environment.
func starting(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self, toy(args)...), log: newConsole(), over: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code says it all
		p.log.end()
		close(p.over)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // an error if it has ended
		<-p.over
	})
	return p
}

// wait waits for the end of the process and checks its exit code.
func (p *process) wait(t *testing.T, code int) {
	t.Helper()
	<-p.over
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d:\n%s", got, code, p.log)
	}
}

// outcome waits for the process and reads its one JSON object.
func (p *process) outcome(t *testing.T) (r runResult) {
	t.Helper()
	p.read(t, &r)
	return r
}

// read waits for the process and reads its one JSON object into v.
func (p *process) read(t *testing.T, v any) {
	t.Helper()
	p.wait(t, exitDone)
	dec := json.NewDecoder(&p.out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
	if dec.More() {
		t.Fatal("more than one JSON object")
	}
}

// console keeps what a process says, and lets a test wait for a word of it.
type console struct {
	mu    sync.Mutex
	more  *sync.Cond
	text  bytes.Buffer
	ended bool
}

func newConsole() *console {
	c := &console{}
	c.more = sync.NewCond(&c.mu)
	return c
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more.Broadcast()
	return c.text.Write(b)
}

func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.more.Broadcast()
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// await waits until a line holds all of the words.
func (c *console) await(t *testing.T, words ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for line := range strings.Lines(c.text.String()) {
			found := strings.HasSuffix(line, "\n")
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return
			}
		}
		if c.ended {
			t.Fatalf("no line with %q in\n%s", words, c.text.String())
		}
		c.more.Wait()
	}
}

// Four processes with TLS between them, each with nothing but its files, end with the models of the simulation, to the
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

// A neighbor that is not there is named and waited for; a node that is stopped meanwhile says that it can be run again;
// and when all are there it is as if nothing had been.
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
		lone.wait(t, exitFailed)
		if lone.out.Len() > 0 || !strings.HasSuffix(lone.log.String(), "spade-edge run: interrupted; run again to go on\n") {
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

// of makes a member's node file name another fleet file.
func (tr *trial) of(t *testing.T, member, fleet string) {
	t.Helper()
	text, err := os.ReadFile(tr.path(member + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	tr.write(t, member+".json", strings.NewReplacer("fleet.json", fleet, "other.json", fleet).Replace(string(text)))
}

// other writes another fleet file, with one local step more.
func (tr *trial) other(t *testing.T) {
	t.Helper()
	tr.file.Fleet.Method.Tau++
	defer func() { tr.file.Fleet.Method.Tau--; tr.file.X0File = "x0.bin" }()
	tr.file.X0File = "x0.again"
	if err := tr.file.Write(tr.path("other.json")); err != nil {
		t.Fatal(err)
	}
}

// Two nodes with different fleet files tell each other so, and both end with the code for it.
func TestRunMismatch(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", nil)
	tr.other(t)
	tr.of(t, "b", "other.json")
	a, b := start(t, "run", tr.path("a.json")), start(t, "run", tr.path("b.json"))
	for _, p := range []*process{a, b} {
		p.wait(t, exitMismatch)
		p.log.await(t, "spade-edge run: every neighbor means another fleet: ",
			"hello refused: wire: hello: fleet file hash: found")
		if p.out.Len() > 0 {
			t.Errorf("output %q", &p.out)
		}
	}
}

// One node with another file than its neighbors ends; they wait, say why, and go on when it comes back with theirs.
func TestRunOddOneOut(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab bc", nil)
	models, _ := tr.simulate(t)
	tr.other(t)
	tr.of(t, "c", "other.json")
	a, b := start(t, "run", "-json", tr.path("a.json")), start(t, "run", "-json", tr.path("b.json"))
	start(t, "run", tr.path("c.json")).wait(t, exitMismatch)
	b.log.await(t, "NOT PRIVATE", "peer=c", "hello refused")
	tr.of(t, "c", "fleet.json")
	c := start(t, "run", "-json", tr.path("c.json"))
	for i, p := range []*process{a, b, c} {
		if r := p.outcome(t); r.Model != models[i] {
			t.Errorf("model of %s is %s, the simulation's is %s", r.Name, r.Model, models[i])
		}
	}
}

// A private run, in one process this time: what it has cost is in the outcome, and no status line calls it anything
// else.
func TestRunPrivate(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5, EpsilonLimit: 8}
		f.Wire = sdk.Wire{Payload: sdk.PayloadMessage}
	})
	var wg sync.WaitGroup
	codes, outs, logs := make([]int, 2), make([]string, 2), make([]string, 2)
	for i, m := range tr.file.Members {
		wg.Go(func() { codes[i], outs[i], logs[i] = call("run", tr.path(m.Name+".json")) })
	}
	wg.Wait()
	for i := range codes {
		if codes[i] != exitDone {
			t.Fatalf("exit code %d:\n%s", codes[i], logs[i])
		}
		for _, want := range []string{"model          sha256", "privacy        epsilon", "in each of 6 releases",
			"dealt out as dirichlet:0.3", "does not cover it"} {
			if !strings.Contains(outs[i], want) {
				t.Errorf("no %q in\n%s", want, outs[i])
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

// The line of a new key, and of the same key again; it fits into a fleet file as it is.
func TestKeygen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.key")
	code, line, log := call("keygen", "-name", "ward<3", "-out", file)
	if code != exitDone || !strings.Contains(log, file) {
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
		io.Discard); code != exitFailed {
		t.Errorf("exit code %d when nothing can be written", code)
	}
}
