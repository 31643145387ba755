// Package scorer_test runs fleets of three nodes with each of the scorers in this folder, and compares the learned
// models.
package scorer_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

const dim = 4

var members = []string{"a", "b", "c"}

// ways lists the scorers. Each entry has the program that the scorer needs, and the scorer's description for the field
// "oracle" of a node file. In a description, HERE is replaced with the path of this folder.
var ways = []struct{ name, needs, oracle string }{
	{"python json", "python3", `{"stream": ["python3", "HERE/score.py", "json", "part.csv"], "workers": 2}`},
	{"python cbor", "python3", `{"stream": ["python3", "HERE/score.py", "cbor", "part.csv"], "format": "cbor"}`},
	{"c cbor", "cc", `{"stream": ["../score", "cbor", "part.csv"], "format": "cbor", "workers": 2}`},
	{"shell json", "sh", `{"stream": ["sh", "HERE/score.sh", "json", "part.csv"], "workers": 2}`},
}

func newFleet() *sdk.Fleet {
	rounds := 1
	if os.Getenv("SPADE_LONG") != "" {
		rounds = 2
	}
	return &sdk.Fleet{
		Run: "scorers", Dim: dim, Members: members, Edges: [][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}},
		Method: sdk.Method{Rounds: rounds, Cooldown: 1, Tau: 1, Batch: 3, Rho: 1, Gain: 0.5, Eta: []float64{0.5},
			Mu: []float64{0.5}, Seed: 2},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
}

// TestScorersAgree checks that all scorers, in all formats, produce the same models to the last bit. The models of the
// built-in oracle differ slightly, because the built-in oracle rounds products to float32 and computes exp differently.
func TestScorersAgree(t *testing.T) {
	var mu sync.Mutex
	models := map[string][][]float32{}
	t.Run("all", func(t *testing.T) {
		for _, way := range ways {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				got := runFleet(t, way.needs, way.oracle)
				mu.Lock()
				defer mu.Unlock()
				models[way.name] = got
			})
		}
	})
	builtin := runBuiltin(t)
	if far(builtin, [][]float32{make([]float32, dim)}) < 0.05 {
		t.Fatalf("the built-in model has learned next to nothing: %v", builtin)
	}
	var first string
	for _, way := range ways {
		got, ran := models[way.name]
		switch {
		case !ran: // runFleet has already reported the failure
		case first == "":
			first = way.name
			if off := far(got, builtin); off > 1e-5 {
				t.Errorf("%s gave %v, and the built-in model %v: %v apart", way.name, got, builtin, off)
			}
		case !slices.EqualFunc(got, models[first], slices.Equal):
			t.Errorf("%s gave %v, and %s %v", way.name, got, first, models[first])
		}
	}
}

// far returns the largest absolute difference between corresponding numbers of the models in a and b. If b has fewer
// models than a, its models are repeated.
func far(a, b [][]float32) float64 {
	most := 0.0
	for i, x := range a {
		for k, v := range x {
			most = max(most, math.Abs(float64(v)-float64(b[i%len(b)][k])))
		}
	}
	return most
}

// parts deals the rows of data.csv to the members in turn. It returns one CSV file per member, as text with the header.
func parts(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("data.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	out := slices.Repeat([]string{lines[0]}, len(members))
	for i, line := range lines[1:] {
		out[i%len(members)] += line
	}
	return out
}

// runFleet writes the files for a fleet of three nodes with the given oracle, runs the nodes, and returns their models.
func runFleet(t *testing.T, needs, oracle string) [][]float32 {
	t.Helper()
	if _, err := exec.LookPath(needs); err != nil {
		t.Skipf("%s is not here, so its scorer is not tried: %v", needs, err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(filepath.ToSlash(here))
	if err != nil {
		t.Fatal(err)
	}
	oracle = strings.ReplaceAll(oracle, "HERE", strings.Trim(string(quoted), `"`))
	if needs == "python3" { // the name in PATH may be a script that searches for Python at each start
		path, err := exec.CommandContext(t.Context(), needs, "-c",
			"import json, sys; print(json.dumps(sys.executable))").Output()
		if err != nil {
			t.Skipf("python3 does not run, so its scorer is not tried: %v", err)
		}
		plain := `, "-S", "-E"` // skipping site packages halves the start time
		oracle = strings.ReplaceAll(oracle, `"python3"`, string(bytes.TrimSpace(path))+plain)
	}
	dir := t.TempDir()
	if needs == "cc" {
		build := exec.CommandContext(t.Context(), "cc", "-std=c99", "-O2", "-o", filepath.Join(dir, "score"), "score.c",
			"-lm")
		if out, err := build.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Fatalf("%v: %v\n%s", build, err, out)
		}
	}
	file := &fleetfile.File{Fleet: newFleet()}
	data := parts(t)
	for i, name := range members {
		home := filepath.Join(dir, name)
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		public, err := secret.CreateKey(filepath.Join(home, "node.key"))
		if err != nil {
			t.Fatal(err)
		}
		file.Members = append(file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{public},
			Addresses: []string{"wss://" + name + ".example:7443/"}})
		for path, text := range map[string]string{
			"part.csv": data[i],
			"node.json": fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "../fleet.json", "key": "node.key",
				"listen": "127.0.0.1:0", "state": "state", "oracle": %s}`,
				name, oracle),
		} {
			if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := file.Write(filepath.Join(dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	net := mem.New(members...)
	var nodes []*sdk.Node
	for _, name := range members {
		nodes = append(nodes, newNode(t, filepath.Join(dir, name, "node.json"), net))
	}
	models := make([][]float32, len(members))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			if err := node.Run(t.Context()); err != nil {
				t.Errorf("%s: %v", members[i], err)
			}
			models[i] = node.Model()
		})
	}
	wg.Wait()
	return models
}

func newNode(t *testing.T, path string, net *mem.Net) *sdk.Node {
	t.Helper()
	file, err := fleetfile.ReadNode(path)
	if err != nil {
		t.Fatal(err)
	}
	fleet, _, err := file.Load()
	if err != nil {
		t.Fatal(err)
	}
	stream := file.Oracle.(*fleetfile.Stream)
	oracle, err := scorer.OpenStream(t.Context(), scorer.StreamConfig(*stream))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := oracle.Close(); err != nil {
			t.Error(err)
		}
	})
	if oracle.Dim() != dim || oracle.Samples() != 12 {
		t.Fatalf("%d parameters and %d samples, want %d and 12", oracle.Dim(), oracle.Samples(), dim)
	}
	tr, err := net.Node(file.Name)
	if err != nil {
		t.Fatal(err)
	}
	node, err := sdk.New(sdk.Config{Fleet: fleet.Fleet, Name: file.Name, Samples: oracle.Samples(), Oracle: oracle,
		Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// runBuiltin simulates the three nodes on the rows of data.csv, with the built-in model of package task.
func runBuiltin(t *testing.T) [][]float32 {
	t.Helper()
	cfgs, err := sim.Machines(newFleet(), []int{12, 12, 12}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	for i, part := range parts(t) {
		d := &task.Data{Dim: dim, Classes: 2}
		for _, line := range strings.Fields(part)[1:] {
			var row [dim]float32
			var class int
			if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "%g %g %g %g %d", &row[0], &row[1], &row[2], &row[3],
				&class); err != nil {
				t.Fatal(err)
			}
			d.X, d.Y = append(d.X, row[:]...), append(d.Y, class)
		}
		clients = append(clients, sim.Client{Config: cfgs[i], Oracle: task.NewSoftmax(d)})
	}
	network, err := sim.New(clients)
	if err != nil {
		t.Fatal(err)
	}
	if err := network.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return network.Models()
}
