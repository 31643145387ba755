package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// asProgram is an environment variable that makes the test binary act as the program spade-edge-nats.
const asProgram = "SPADE_EDGE_NATS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

const (
	exitDone     = 0
	exitUsage    = 64
	exitMismatch = 4
)

func run(ctx context.Context, args []string, out, log io.Writer) int {
	return overNATS.Run(ctx, args, out, log)
}

// fleet contains a broker and the files of a fleet whose members have no addresses.
type fleet struct {
	dir  string
	file *fleetfile.File
}

// newBroker starts a server and returns its URL.
func newBroker(t *testing.T) (url string) { return brokerWith(t, server.Options{}) }

func brokerWith(t *testing.T, o server.Options) (url string) {
	t.Helper()
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir(), true, true
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.ClientURL()
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	broker := newBroker(t)
	f := &fleet{dir: t.TempDir(), file: &fleetfile.File{Fleet: &sdk.Fleet{
		Run: "trial", Dim: 6, Members: []string{"a", "b", "c"}, Edges: [][2]string{{"a", "b"}, {"b", "c"}},
		Method: sdk.Method{Rounds: 8, Cooldown: 3, Tau: 2, Batch: 8, Rho: 1, Gain: 0.75, Eta: []float64{1},
			Mu: []float64{0.6}, Estimator: zoest.Paper, Seed: 5}, Privacy: sdk.Privacy{NonPrivate: true},
	}}}
	for i, name := range f.file.Fleet.Members {
		public, err := secret.CreateKey(filepath.Join(f.dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		f.file.Members = append(f.file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{public}})
		f.write(t, name+".json", fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "fleet.json", "key": "%s.key", "transport": {"nats": %q}, "state": "%s.state", "resend_seconds": 0.1,
			"linger_seconds": 20, "oracle": {"builtin": {"fit": "own", "model": "softmax", "data": "synthetic:clinical", "seed": 5, "share": {"partition": "dirichlet:0.1", "of": 3, "number": %d}}}}`,
			name, name, broker, name, i))
	}
	if err := f.file.Write(filepath.Join(f.dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fleet) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clients returns the simulation clients of all members.
func (f *fleet) clients(t *testing.T, noise func(client int) io.Reader) (clients []sim.Client) {
	t.Helper()
	set, err := task.Load(task.Spec{Source: "synthetic:clinical", Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	deal, err := task.ParsePartition("dirichlet:0.1")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := deal.Assign(set.Train.Y, set.Train.Classes, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	cfgs, err := sim.Machines(f.file.Fleet, []int{len(parts[0]), len(parts[1]), len(parts[2])}, noise)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cfgs {
		clients = append(clients, sim.Client{Config: c, Oracle: task.NewSoftmax(set.Train.Select(parts[i]))})
	}
	return clients
}

func (f *fleet) want(t *testing.T) []string {
	t.Helper()
	network, err := sim.New(f.clients(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := network.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var hashes []string
	for _, x := range network.Models() {
		hashes = append(hashes, sdk.ModelHash(x))
	}
	return hashes
}

// TestProcesses repeatedly kills the processes of three members, which simulates power failures. The models must equal
// those of the simulation bit for bit.
func TestProcesses(t *testing.T) {
	f := newFleet(t)
	want := f.want(t)
	chance := rng.New(1, rng.Address{Purpose: rng.Fault})
	pauses := [3][2]time.Duration{}
	for i := range pauses {
		for k := range pauses[i] {
			pauses[i][k] = time.Duration(20+chance.IntN(300)) * time.Millisecond
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	var killed atomic.Int64
	for i, name := range f.file.Fleet.Members {
		wg.Go(func() {
			for life := 0; ; life++ {
				var out, log bytes.Buffer
				c := exec.CommandContext(ctx, os.Args[0], "run", "-anyway", filepath.Join(f.dir, name+".json"), "-json")
				c.Env, c.Stdout, c.Stderr = append(os.Environ(), asProgram+"=1"), &out, &log
				if life == 0 { // kill each node once at its first write, so that there is a kill even on a fast machine
					c.Stderr = onFirstWrite{&log, sync.OnceFunc(func() { _ = c.Process.Kill() })}
				}
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				if life > 0 && life < len(pauses[i]) {
					time.AfterFunc(pauses[i][life], func() { _ = c.Process.Kill() })
				}
				if err := c.Wait(); err != nil {
					if life < len(pauses[i]) && c.ProcessState.ExitCode() == -1 {
						killed.Add(1)
						continue
					}
					t.Errorf("%s: %v\n%s", name, err, log.String())
					return
				}
				var got device.Outcome
				if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Model != want[i] || got.Rounds != 11 || !got.Done {
					t.Errorf("%s: %+v, %v, want model %s", name, got, err, want[i])
				}
				if !strings.Contains(log.String(), "NOT PRIVATE") {
					t.Error("the log does not say that the run is not private")
				}
				return
			}
		})
	}
	wg.Wait()
	if killed.Load() == 0 {
		t.Error("no process was killed")
	}
	t.Logf("%d kills", killed.Load())
}

// onFirstWrite is a writer that calls a function before each write.
type onFirstWrite struct {
	io.Writer
	then func()
}

func (w onFirstWrite) Write(p []byte) (int, error) {
	w.then()
	return w.Writer.Write(p)
}

// TestInit checks that a private fleet created by "spade-edge init -nats" runs unchanged.
func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pumps")
	text, err := exec.Command("go", "run", "github.com/spade-dfl/spade-edge/cmd/spade-edge", "init", dir, "-n", "3",
		"-nats", newBroker(t), "-rounds", "3", "-cooldown", "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !strings.Contains(string(text), "spade-edge-nats run "+filepath.Join(dir, "node-0", "node.json")) {
		t.Errorf("init does not say what comes next:\n%s", text)
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			var out, log bytes.Buffer
			code := run(t.Context(), []string{"run", "-anyway", filepath.Join(dir, fmt.Sprint("node-", i), "node.json"), "-json"}, &out,
				&log)
			var got device.Outcome
			if err := json.Unmarshal(out.Bytes(), &got); code != exitDone || err != nil || got.Rounds != 5 || !got.Done ||
				got.NonPrivate || got.Certificate == "" {
				t.Errorf("node %d: exit code %d, %+v, %v\n%s", i, code, got, err, log.String())
			}
		})
	}
	all.Wait()
}

// TestUsage checks that the command "spade-edge-nats run" reports errors in the command line and in files before it
// does anything else.
func TestUsage(t *testing.T) {
	f := newFleet(t)
	text, err := os.ReadFile(filepath.Join(f.dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	node := func(name, old, new string) string {
		f.write(t, name, strings.Replace(string(text), old, new, 1))
		return filepath.Join(f.dir, name)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"  spade-edge-nats run ", nil},
		{"no file given, want spade-edge-nats status NODEFILE", []string{"status"}},
		{"no file given, want spade-edge-nats run NODEFILE", []string{"run", "-json"}},
		{`spade-edge-nats: no command "go"; the commands are demo, `, []string{"go"}},
		{"not defined: -fast", []string{"run", "a", "-fast"}},
		{`unexpected argument "b"`, []string{"run", "a", "-json", "b"}},
		{"a node file: ", []string{"run", "-anyway", filepath.Join(f.dir, "none")}},
		{"listen is", []string{"run", node("1", `"transport"`, `"listen": ":0", "transport"`), "-json"}},
		{"transport is missing, want", []string{"run", node("2",
			regexp.MustCompile(`"transport": \{[^}]*\}, `).FindString(string(text)), "")}},
		{"is not a member", []string{"run", node("3", `"name": "a"`, `"name": "z"`)}},
		{"transport.credentials: ", []string{"run", node("4", `"}, "state"`, `", "credentials": "none"}, "state"`)}},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), c.args, &out, &log); code != exitUsage || !strings.Contains(log.String(), c.want) {
			t.Errorf("%q: exit code %d, %s, want %q", c.args, code, log.String(), c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%q: %s", c.args, out.String())
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"run", "-h"}, &out, &out); code != exitDone ||
		!strings.HasPrefix(out.String(), "usage: spade-edge-nats run NODEFILE") ||
		!strings.Contains(out.String(), "\n  spade-edge-nats run node.json\n") {
		t.Errorf("help: exit code %d, %s", code, out.String())
	}
}
