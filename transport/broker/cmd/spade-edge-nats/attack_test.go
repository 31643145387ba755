package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// seededNoise is an environment variable for the test binary. If it is set, the release noise of a node depends only on
// the member and the round.
const seededNoise = "SPADE_EDGE_NATS_TEST_SEEDED_NOISE"

func init() {
	if os.Getenv(seededNoise) != "" {
		overNATS.Noise = func(number int, round func() int) io.Reader {
			return &roundNoise{number, round}
		}
	}
}

// roundNoise is a noise source that depends only on the member and the round. Each Read starts the same stream again,
// which is correct because a release reads its source only once.
type roundNoise struct {
	client int
	round  func() int
}

func (n *roundNoise) Read(b []byte) (int, error) {
	s := rng.New(11, rng.Address{Purpose: rng.Noise, Client: uint32(n.client), Round: uint32(n.round())})
	return s.Read(b)
}

// newPrivate creates a private fleet whose graph is a path. Each member has a privacy ledger.
func newPrivate(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	f.file.Fleet.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
	err := os.Remove(f.path("fleet.json"))
	if err == nil {
		err = f.file.Write(f.path("fleet.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range f.file.Fleet.Members {
		l, err := state.CreateLedger(f.path(name+".ledger"), "patients of "+name, dpmech.Client, nil, state.NeverUsed)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.edit(t, name+".json", `"state":`, `"ledger": "`+name+`.ledger", "state":`)
	}
	return f
}

func (f *fleet) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fleet) edit(t *testing.T, name, before, now string) {
	t.Helper()
	text, err := os.ReadFile(f.path(name))
	if err != nil || !strings.Contains(string(text), before) {
		t.Fatalf("no %q in %s, %v", before, name, err)
	}
	f.write(t, name, strings.Replace(string(text), before, now, 1))
}

type node struct {
	cmd      *exec.Cmd
	out, log bytes.Buffer // may be read only after the process has ended
	over     chan struct{}
}

func (f *fleet) start(t *testing.T, name string, env ...string) *node {
	t.Helper()
	n := &node{cmd: exec.Command(os.Args[0], "run", "-anyway", f.path(name+".json"), "-json"), over: make(chan struct{})}
	n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr = append(append(os.Environ(), asProgram+"=1"), env...), &n.out, &n.log
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = n.cmd.Wait() // ignore the error: the exit code is checked later
		close(n.over)
	}()
	t.Cleanup(n.kill)
	return n
}

func (n *node) kill() {
	_ = n.cmd.Process.Kill() // fails if the process has already ended
	<-n.over
}

func (n *node) ends(t *testing.T, code int, words ...string) {
	t.Helper()
	<-n.over
	for _, w := range append(words, "") {
		if got := n.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(n.log.String(), w) {
			t.Fatalf("exit code %d, want %d with %q:\n%s", got, code, w, &n.log)
		}
	}
}

func (f *fleet) all(t *testing.T) {
	t.Helper()
	var nodes []*node
	for _, name := range f.file.Fleet.Members {
		nodes = append(nodes, f.start(t, name))
	}
	for _, n := range nodes {
		n.ends(t, exitDone)
	}
}

func (f *fleet) ledger(t *testing.T, name string) (lines int) {
	t.Helper()
	l, err := state.ReadLedger(f.path(name + ".ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Head().Seq
}

// copyAll copies the named files from one folder to another and replaces existing files.
func copyAll(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			if err = os.MkdirAll(to, 0o700); err == nil {
				err = os.WriteFile(filepath.Join(to, name), text, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAttackMemory completes a run over a broker, deletes the state of every node, restores b's ledger from before the
// run, and starts another run. The neighbors of b must detect the restored ledger from the releases that b signed in
// the first run, and must present these releases as evidence.
func TestAttackMemory(t *testing.T) {
	f := newPrivate(t)
	copyAll(t, f.dir, f.path("before"), "b.ledger", "b.ledger.mark")
	f.all(t)
	for range 2 {
		var nodes []*node
		for _, name := range f.file.Fleet.Members {
			if err := os.RemoveAll(f.path(name + ".state")); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, f.start(t, name))
		}
		for i, n := range nodes {
			n.ends(t, exitMismatch,
				"the ledger has release 8 of this run, but this device has lost its state of the run: the state was rolled back")
			if lines := f.ledger(t, f.file.Fleet.Members[i]); lines != 8 || n.out.Len() > 0 {
				t.Errorf("%d lines in the ledger, output %q", lines, &n.out)
			}
		}
	}

	copyAll(t, f.path("before"), f.dir, "b.ledger", "b.ledger.mark")
	f.edit(t, "fleet.json", `"trial"`, `"trial r2"`)
	for _, name := range f.file.Fleet.Members {
		f.edit(t, name+".json", name+".state", name+".state2")
	}
	a, c := f.start(t, "a"), f.start(t, "c")
	for range 2 {
		f.start(t, "b").ends(t, exitMismatch,
			"shows a later state of the ledger, signed with this node's key: the state was rolled back")
		if log, err := os.ReadFile(filepath.Join(f.path("b.state2"), "releases.log")); f.ledger(t, "b") != 0 ||
			len(log) != 0 {
			t.Errorf("%d lines in the ledger, and releases %s (%v)", f.ledger(t, "b"), log, err)
		}
	}
	a.kill()
	c.kill()
}

// TestAttackKills repeatedly kills private nodes that sign their releases. The models must equal those of a fault-free
// run bit for bit, and each ledger must count every release exactly once.
func TestAttackKills(t *testing.T) {
	f := newPrivate(t)
	f.edit(t, "fleet.json", `"rounds": 8`, `"rounds": 60`)
	f.file.Fleet.Method.Rounds = 60
	want := f.noisy(t)
	chance := rng.New(7, rng.Address{Purpose: rng.Fault})
	pauses := make([][4]time.Duration, 3)
	for i := range pauses {
		for k := range pauses[i] {
			pauses[i][k] = time.Duration(30+chance.IntN(120)) * time.Millisecond
		}
	}
	var wg sync.WaitGroup
	kills := make([]int, 3)
	last := make([]*node, 3)
	for i, name := range f.file.Fleet.Members {
		wg.Go(func() {
			for life := 0; ; life++ {
				last[i] = f.start(t, name, seededNoise+"=1")
				if life < len(pauses[i]) {
					select {
					case <-last[i].over:
					case <-time.After(pauses[i][life]): // kill the node at a random moment
						last[i].kill()
					}
				}
				<-last[i].over
				if last[i].cmd.ProcessState.Exited() {
					return
				}
				kills[i]++
			}
		})
	}
	wg.Wait()
	for i, n := range last {
		n.ends(t, exitDone)
		var got device.Outcome
		if err := json.Unmarshal(n.out.Bytes(), &got); err != nil || got.Model != want[i] || !got.Done {
			t.Errorf("%+v, %v, want model %s", got, err, want[i])
		}
		if lines := f.ledger(t, f.file.Fleet.Members[i]); lines != 60 || strings.Contains(n.log.String(), "frame refused") {
			t.Errorf("%d lines in the ledger:\n%s", lines, &n.log)
		}
	}
	if kills[0]+kills[1]+kills[2] == 0 {
		t.Error("no process was killed")
	}
	t.Logf("%d kills", kills)
}

// noisy simulates the fleet with the same noise that the nodes draw if seededNoise is set. It returns the hash of each
// member's model.
func (f *fleet) noisy(t *testing.T) (hashes []string) {
	t.Helper()
	var network *sim.Sim
	clients := f.clients(t, func(i int) io.Reader { return &roundNoise{i, func() int { return network.Round() }} })
	var err error
	if network, err = sim.New(clients); err != nil {
		t.Fatal(err)
	}
	if err := network.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, x := range network.Models() {
		hashes = append(hashes, sdk.ModelHash(x))
	}
	return hashes
}
