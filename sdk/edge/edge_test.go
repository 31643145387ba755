package edge_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/edge"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

var long = os.Getenv("SPADE_LONG") != ""

// device is the environment variable that makes the test binary a device: the folder of the fleet.
const device = "SPADE_EDGE_TEST_DEVICE"

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if dir := os.Getenv(device); dir != "" {
		file, err := fleetfile.Read(filepath.Join(dir, "fleet.json"))
		if err == nil {
			err = play(context.Background(), dir, file, "a")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pull is an oracle whose losses are least at 1. It names its data.
type pull struct{ sdk.OracleFunc }

func (pull) Digest() string { return "ones" }

var ones = pull{func(_ context.Context, x []float32, sample int) (float64, error) {
	off := float64(x[sample%2]) - 1
	return off * off, nil
}}

// newFleet writes the fleet of the members a and b into a folder. Only b listens.
func newFleet(t *testing.T, change ...func(*sdk.Fleet)) (dir string, file *fleetfile.File) {
	t.Helper()
	dir = t.TempDir()
	file = &fleetfile.File{Fleet: &sdk.Fleet{Run: "two/of us", Dim: 2, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 30, Cooldown: 5, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{Clip: 0.1, Sigma: 0.05, Delta: 1e-5}}}
	for _, c := range change {
		c(file.Fleet)
	}
	for _, name := range file.Fleet.Members {
		key, pairs, err := edge.Identity(filepath.Join(dir, name), name)
		if err != nil || len(pairs) != 8 {
			t.Fatal(pairs, err)
		}
		if again, _, err := edge.Identity(filepath.Join(dir, name), name); err != nil || !again.Equal(key) {
			t.Fatalf("the second identity differs: %v", err)
		}
		file.Members = append(file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{key}})
	}
	return dir, file
}

// open opens a member with noise that only the member's name and its number of releases determine.
func open(dir string, file *fleetfile.File, name string) (node *edge.Node, err error) {
	o := edge.Options{Samples: 6, Declared: state.NeverUsed, Configure: func(c *sdk.Config) {
		c.Linger, c.ResendAfter = 2*time.Second, 100*time.Millisecond
		if !file.Fleet.Privacy.NonPrivate {
			c.Noise = noise{name, func() int { return node.Status().Round }}
		}
	}}
	if name == "b" {
		o.Listen = "127.0.0.1:0"
	}
	node, err = edge.Open(filepath.Join(dir, name), file, name, ones, o)
	return node, err
}

type noise struct {
	name  string
	round func() int
}

func (n noise) Read(b []byte) (int, error) {
	s := rng.New(1, rng.Address{Purpose: rng.Noise, Client: uint32(n.name[0]), Round: uint32(n.round())})
	return s.Read(b)
}

func play(ctx context.Context, dir string, file *fleetfile.File, name string) error {
	node, err := open(dir, file, name)
	if err != nil {
		return err
	}
	err = errors.Join(node.Run(ctx), node.Close())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name, "model"), fmt.Append(nil, sdk.ModelHash(node.Model())), 0o600)
	}
	return err
}

// TestKilledDevice runs a fleet twice, a as a process of its own. In the second run the process is killed at random
// times. Both runs must end with the same bits and with a certificate.
func TestKilledDevice(t *testing.T) {
	kills := 3
	if long {
		kills = 100
	}
	const apart = 10 // rounds for each kill
	models := [2]string{}
	for i := range models {
		dir, file := newFleet(t, func(f *sdk.Fleet) { f.Method.Rounds = apart * kills })
		b := must(open(dir, file, "b"))(t)
		file.Members[1].Addresses = []string{b.Addr()}
		ok(t, file.Write(filepath.Join(dir, "fleet.json")))
		var work sync.WaitGroup
		work.Go(func() {
			if err := errors.Join(b.Run(t.Context()), b.Close()); err != nil {
				t.Error(err)
			}
		})
		killed := 0
		for done := false; !done; {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), device+"="+dir)
			var said strings.Builder
			cmd.Stderr = &said
			ok(t, cmd.Start())
			over := make(chan struct{})
			if i == 1 && killed < kills { // at a moment of the next rounds; while a starts, b does not advance
				round := apart*killed + rand.IntN(apart)
				go func() {
					for b.Status().Round < round {
						select {
						case <-over:
							return
						case <-time.After(time.Millisecond):
						}
					}
					time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
					cmd.Process.Kill()
				}()
			}
			err := cmd.Wait()
			close(over)
			if done = err == nil; done {
				break
			}
			if killed++; cmd.ProcessState.Exited() {
				t.Fatalf("the device ended: %v\n%s", err, said.String())
			}
		}
		work.Wait()
		text := must(os.ReadFile(filepath.Join(dir, "a", "model")))(t)
		models[i] = string(text)
		for _, name := range []string{"a", "b"} {
			text := must(os.ReadFile(filepath.Join(dir, name, "certificate-two%2Fof%20us.json")))(t)
			c, err := certificate.Parse(text)
			if err != nil || c.Verify() != nil {
				t.Error(name, err, c.Verify())
			}
		}
		if i == 1 && killed <= kills/2 {
			t.Errorf("the device was killed %d times, want %d", killed, kills)
		}
	}
	if models[0] != models[1] {
		t.Errorf("a device that was killed ends with model %s, and an undisturbed one with %s", models[1], models[0])
	}
}

// TestNothingLeaks opens and closes nodes, some of which fail to open, and some of which run until their context ends at a
// random moment.
func TestNothingLeaks(t *testing.T) {
	times := 20
	if long {
		times = 1000
	}
	dir, file := newFleet(t, func(f *sdk.Fleet) { f.Method.Rounds = 100_000 })
	file.Members[1].Addresses = []string{"127.0.0.1:9"}
	goroutines, files := runtime.NumGoroutine(), descriptors()
	state := filepath.Join(dir, "a", "state-two%2Fof%20us")
	for i := range times {
		if i%3 == 0 { // the state cannot be opened
			os.Rename(state, state+".kept")
			os.WriteFile(state, nil, 0o600)
			if _, err := open(dir, file, "a"); err == nil || !strings.Contains(err.Error(), state) {
				t.Fatalf("error %v, want one that names %s", err, state)
			}
			os.Remove(state)
			os.Rename(state+".kept", state)
		}
		node := must(open(dir, file, "a"))(t)
		if i%2 == 0 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(20))*time.Millisecond)
			if err := node.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		ok(t, node.Close(), node.Close())
	}
	fillDisk(t, times/2)
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines || descriptors() > files; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d files, want %d and %d", runtime.NumGoroutine(), descriptors(), goroutines, files)
		}
	}
}

// fillDisk opens nodes on a disk with little space left, and runs them until it is full or their context ends. Once there
// is space again, each must open.
func fillDisk(t *testing.T, times int) {
	disk := t.TempDir()
	if text, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Logf("no test with a full disk, which needs root: %v: %s", err, text)
		return
	}
	t.Cleanup(func() { _ = exec.Command("umount", disk).Run() })
	_, file := newFleet(t, func(f *sdk.Fleet) { f.Members, f.Edges, f.Method.Rounds = []string{"a"}, nil, 100_000 })
	stages := map[string]int{}
	full := func(stage string, err error) bool {
		t.Helper()
		if err != nil && (!errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), disk) || strings.Contains(err.Error(), "Options")) {
			t.Errorf("%s: %v, want an error about a full disk that names a file in %s", stage, err, disk)
		} else if err != nil {
			stages[stage]++
		}
		return err != nil
	}
	for i := range times {
		dir, ballast := filepath.Join(disk, fmt.Sprint(i)), filepath.Join(disk, "ballast")
		key, _, err := edge.Identity(filepath.Join(dir, "a"), "a")
		if err != nil {
			t.Fatal(err)
		}
		file.Members[0].Keys[0] = key
		leave := func(most int64) {
			_ = os.WriteFile(ballast, make([]byte, 8<<20), 0o600) // as much as fits
			if info, err := os.Stat(ballast); err != nil || os.Truncate(ballast, info.Size()-rand.Int64N(most)) != nil {
				t.Fatal(err)
			}
		}
		leave([]int64{16 << 10, 400 << 10}[i%2]) // Open fails nearly always, or rarely
		if node, err := open(dir, file, "a"); !full("Open", err) {
			leave(12 << 10)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(100))*time.Millisecond)
			if err := node.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				full("Run", err)
			}
			cancel()
			full("Close", node.Close())
		}
		ok(t, os.Remove(ballast))
		node := must(open(dir, file, "a"))(t)
		ok(t, node.Close(), os.RemoveAll(dir))
	}
	if t.Logf("the disk was full in %v", stages); stages["Open"] == 0 || stages["Run"] == 0 {
		t.Errorf("the disk was full in %v, want Open and Run", stages)
	}
}

func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// TestClose closes a node whose oracle hangs: the locks stay held until the oracle returns.
func TestClose(t *testing.T) {
	dir, file := newFleet(t)
	file.Members[1].Addresses = []string{"127.0.0.1:9"}
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	hangs := sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) {
		asked <- struct{}{}
		<-answer
		return 0, nil
	})
	path, o := filepath.Join(dir, "a"), edge.Options{Samples: 6, Declared: state.NeverUsed, Wait: 20 * time.Millisecond}
	node := must(edge.Open(path, file, "a", hangs, o))(t)
	var work sync.WaitGroup
	work.Go(func() {
		if err := node.Run(t.Context()); !errors.Is(err, edge.ErrClosed) {
			t.Errorf("Run: %v", err)
		}
	})
	<-asked
	if err := node.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Run is running already") {
		t.Errorf("a second Run: %v", err)
	}
	if err := node.Close(); err == nil || !strings.Contains(err.Error(), "has not ended within 20ms") || !strings.Contains(err.Error(), path) {
		t.Errorf("Close: %v", err)
	}
	if _, err := edge.Open(path, file, "a", hangs, o); err == nil {
		t.Error("a second node was opened beside the first one")
	}
	close(answer)
	work.Wait()
	ok(t, node.Close(), node.Close())
	if err := node.Run(t.Context()); !errors.Is(err, edge.ErrClosed) {
		t.Errorf("Run of a closed node: %v", err)
	}
	ok(t, must(edge.Open(path, file, "a", hangs, o))(t).Close())
}

// TestRefused checks errors of Open.
func TestRefused(t *testing.T) {
	dir, file := newFleet(t)
	path, o := filepath.Join(dir, "b"), edge.Options{Samples: 6, Listen: "127.0.0.1:0", Declared: state.NeverUsed}
	refused := func(path, name string, o edge.Options, want string) {
		t.Helper()
		node, err := edge.Open(path, file, name, ones, o)
		if err == nil {
			node.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused(filepath.Join(dir, "c"), "c", o, "edge.Identity makes the key")
	refused("", "b", o, "dir is empty")
	refused(filepath.Join(dir, "a"), "b", o, "node.key is not a key of \"b\" in the fleet")
	refused(path, "z", o, "node.key is not a key of \"z\" in the fleet")
	if made, _ := os.ReadDir(path); len(made) != 3 {
		t.Errorf("files %v, want the keys alone", made)
	}
	config := o
	config.Listen, config.Configure = "nowhere", func(c *sdk.Config) { c.Patience = 1 } // checked before the node listens
	refused(path, "b", config, "Patience is 1ns")
	config.Configure = func(c *sdk.Config) { panic("oops") }
	func() {
		defer func() { _ = recover() }() // the locks must be free afterwards
		refused(path, "b", config, "a panic")
	}()
	refused(path, "b", edge.Options{Listen: "127.0.0.1:0", Declared: state.NeverUsed}, "Samples is 0")
	ok(t, os.Remove(filepath.Join(path, "ledger.json")))
	os.Remove(filepath.Join(path, "ledger.json.mark"))
	refused(path, "b", edge.Options{Samples: 6, Listen: "127.0.0.1:0"}, "edge: Options.Declared")
	refused(path, "b", edge.Options{Samples: 6, Listen: "nowhere", Declared: state.NeverUsed}, "nowhere")
	for _, none := range []edge.Fleet{nil, (*fleetfile.File)(nil), &fleetfile.File{}} {
		if _, err := edge.Open(path, none, "b", ones, o); err == nil {
			t.Error("a fleet that is nil was accepted")
		}
	}

	node := must(edge.Open(path, file, "b", ones, o))(t)
	ok(t, node.Close())
	store := must(state.Open(filepath.Join(path, "state-two%2Fof%20us")))(t)
	ok(t, store.Save(state.Record{Round: 1, State: []byte("any")}), store.Close())
	for _, end := range []string{"", ".mark", ".neighbors"} {
		os.Remove(filepath.Join(path, "ledger.json"+end))
	}
	refused(path, "b", o, "state-two%2Fof%20us has releases that were charged to the ledger")
	ok(t, os.Rename(filepath.Join(path, "state-two%2Fof%20us"), filepath.Join(path, "state-last year")))
	refused(path, "b", o, "state-last year has releases that were charged to the ledger")
	ok(t, os.RemoveAll(filepath.Join(path, "state-last year")), os.WriteFile(filepath.Join(path, "certificate-last year.json"), nil, 0o600))
	refused(path, "b", o, "certificate-last year.json has releases that were charged to the ledger")
}

// TestFolder opens a node by a relative path before the program goes to another folder, and removes the folder of a second
// one before it runs.
func TestFolder(t *testing.T) {
	dir, file := newFleet(t, func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil })
	t.Chdir(dir)
	o := edge.Options{Samples: 6, Declared: state.NeverUsed}
	node := must(edge.Open("a", file, "a", ones, o))(t)
	t.Chdir(t.TempDir())
	ok(t, node.Run(t.Context()), node.Close())
	path := filepath.Join(dir, "a")
	must(os.Stat(filepath.Join(path, "certificate-two%2Fof%20us.json")))(t)
	node = must(edge.Open(path, file, "a", ones, o))(t)
	if err := os.RemoveAll(path); err != nil {
		t.Skip(err) // Windows keeps open files
	}
	if err := node.Run(t.Context()); err == nil || !strings.Contains(err.Error(), path+"/state-two%2Fof%20us was removed") {
		t.Errorf("Run in a removed folder: %v", err)
	}
	if err := node.Close(); err != nil {
		t.Error(err)
	}
}

// must returns a function that returns v, and ends the test if err is not nil.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// ok ends the test if one of the errors is not nil.
func ok(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
