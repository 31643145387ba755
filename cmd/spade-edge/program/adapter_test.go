//go:build unix

package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/adapter"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// init writes each form of an adapter into the fleet file, with its files beside it, and the adapter opens from them.
func TestInitWithAnAdapter(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		to := filepath.Join(dir, name)
		if err := os.WriteFile(to, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return to
	}
	npy := func(x ...float32) []byte { return cli.AppendFloats(cli.NpyHeader(len(x)), x) }
	base := file("base.npy", npy(1, 2, 3, 4))
	for text, want := range map[string][]float32{
		"random:2:7": {0, 3, 2, 5}, // the signs are -+-+
		"coords:" + file("chosen", []byte("1\n3-3\n")): {1, 3, 3, 5},
		"lora:1:7:w=0:2x2": {0, 3, 2, 5},
		"basis:" + file("basis.npy", npy(1, 0, 0, 0, 0, 0, 0, 2)): {2, 2, 3, 6},
	} {
		_, f := initX0(t, "-adapter", text, "-x0", base)
		if f.Fleet.Dim != 2 || f.Fleet.Params() != 4 || f.Fleet.X0 != nil {
			t.Errorf("%s: %d of %d, start %v", text, f.Fleet.Dim, f.Fleet.Params(), f.Fleet.X0)
		}
		if mu := map[bool]float64{true: 0.75, false: 1.06}[f.Fleet.Adapter.Moved() == 4]; f.Fleet.Method.Mu[0] != mu {
			t.Errorf("%s: mu is %v, want %v: a query moves %d parameters", text, f.Fleet.Method.Mu, mu, f.Fleet.Adapter.Moved())
		}
		if x, err := f.Expand([]float32{1, 1}); err != nil || !slices.Equal(x, want) {
			t.Errorf("%s: %v, %v, want %v", text, x, err, want)
		}
	}
	if _, f := initX0(t, "-adapter", "random:2:7"); f.Fleet.Adapter.Base != nil {
		t.Error("a base, want zeros")
	}
	for text, want := range map[string]string{
		"random:5:7":                             "dim is 5, want 1..4",
		"random:x":                               "want random:DIM:SEED",
		"":                                       "-adapter",
		"coords:none":                            "none",
		"coords:" + base:                         "coordinates",
		"basis:" + file("odd.npy", npy(1, 2, 3)): "3 numbers, want rows of 4",
		"lora:1:7:w=0:3x3":                       "matrices[0]",
	} {
		code, _, log := call("init", filepath.Join(t.TempDir(), "f"), "-n", "2", "-dim", "4", "-stream", "sh", "-non-private", "-adapter", text)
		if code != cli.ExitUsage || !strings.Contains(log, want) {
			t.Errorf("%q: exit code %d, %s, want %q", text, code, log, want)
		}
	}
}

// Nodes with an adapter train its parameters; export writes the model that results from them.
func TestRunWithAnAdapter(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")

	chosen := filepath.Join(t.TempDir(), "chosen")
	if err := os.WriteFile(chosen, []byte("1,3"), 0o644); err != nil {
		t.Fatal(err)
	}
	ports := []string{ownPort(), ownPort()}
	code, _, log := call("init", dir, "-n", "2", "-graph", "complete", "-dim", "6", "-run", "adapted", "-non-private", "-rounds", "3",
		"-stream", "sh score.sh 6", "-adapter", "coords:"+chosen, "-hosts", strings.Join(ports, ","), "-samples", "8")
	if code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, log)
	}
	var wg sync.WaitGroup
	for _, name := range []string{"node-0", "node-1"} {
		node := filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(node, "score.sh"), []byte(scoreScript), 0o644); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if code, _, log := call("run", filepath.Join(node, "node.json")); code != cli.ExitDone {
				t.Errorf("%s: exit code %d: %s", name, code, log)
			}
		})
	}
	wg.Wait()
	out := filepath.Join(t.TempDir(), "model.json")
	path := filepath.Join(dir, "node-0", "node.json")
	if code, text, log := call("export", path, "-out", out); code != cli.ExitDone || !strings.Contains(text, "6 numbers") {
		t.Fatalf("exit code %d: %s%s", code, text, log)
	}
	m, err := builtin.ReadModel(out)
	if err != nil {
		t.Fatal(err)
	}
	node, err := fleetfile.ReadNode(path)
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := node.Load()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := device.Kept(node, f)
	if err != nil {
		t.Fatal(err)
	}
	if c := kept.Model; len(c) != 2 || c[0] == 0 || !slices.Equal(m.Weights, []float32{0, c[0], 0, c[1], 0, 0}) {
		t.Errorf("exported %v of %v", m.Weights, c)
	}
	if f.Fleet.Adapter.Form != adapter.Coords {
		t.Errorf("form %s", f.Fleet.Adapter.Form)
	}
	// The next run starts from the adapter's numbers, not from the parameters that result from them.
	next := func(from string) (int, string) {
		code, _, log := call("fleet", "next", dir, "-from", from, "-run", "again")
		return code, log
	}
	if code, log := next(out); code != cli.ExitUsage || !strings.Contains(log, "the model's 6 parameters, and this fleet trains the 2 numbers "+
		"of its adapter: want the state folder of a node") {
		t.Errorf("from an exported model: exit code %d, %s", code, log)
	}
	if code, log := next(filepath.Join(dir, "node-0", "state")); code != cli.ExitDone {
		t.Fatalf("from a state folder: exit code %d, %s", code, log)
	}
	if f, err = fleetfile.Read(filepath.Join(dir, "fleet.json")); err != nil || !slices.Equal(f.Fleet.X0, kept.Model) {
		t.Errorf("the next run starts from %v, want %v; %v", f.Fleet.X0, kept.Model, err)
	}
}
