package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
)

const samples = 8 // number of samples of every node, as in testdata/host.c

// square returns a Go version of the loss function that testdata/host.c uses for the node with the given number.
func square(number int) zoest.OracleFunc {
	return func(_ context.Context, x []float32, sample int) (float64, error) {
		sum := 0.0
		for j, v := range x {
			off := float64(v) - float64((sample*7+j*3+number*5)%11-5)/4
			sum += float64(off * off)
		}
		return sum, nil
	}
}

// newFleet writes the files of a fleet and returns the fleet. The members form a path, and every second member listens.
// The node files contain a placeholder for the oracle, like the files that "spade-edge init -dim" writes.
func newFleet(t *testing.T, dir string, members []string, change func(*sdk.Fleet)) *sdk.Fleet {
	t.Helper()
	fleet := &sdk.Fleet{
		Run: "c", Dim: 6, Members: members,
		Method:  sdk.Method{Rounds: 8, Cooldown: 2, Tau: 2, Rho: 1, Gain: 0.5, Eta: []float64{0.05}, Mu: []float64{0.3}},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	if change != nil {
		change(fleet)
	}
	file := &fleetfile.File{Fleet: fleet}
	for i, name := range members {
		key, err := secret.CreateKey(filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		m, listen, ledger := fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{key}}, "", ""
		if i > 0 {
			fleet.Edges = append(fleet.Edges, [2]string{members[i-1], name})
		}
		if i%2 == 1 {
			at := freePort(t)
			m.Addresses, listen = []string{"wss://" + at + "/"}, `"listen": "`+at+`", `
		}
		file.Members = append(file.Members, m)
		if !fleet.Privacy.NonPrivate {
			ledger = `"ledger": "` + name + `.ledger", `
			l, err := state.CreateLedger(filepath.Join(dir, name+".ledger"), "readings", "", nil, state.NeverUsed)
			if err == nil {
				err = l.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "fleet.json", "key": "%s.key", %s%s"state": "%s.state",
			"oracle": {"stream": ["FILL-IN-THE-ORACLE"]}, "linger_seconds": 5}`, name, name, listen, ledger, name)
		if err := os.WriteFile(nodeFile(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Write(filepath.Join(dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	return fleet
}

func nodeFile(dir, name string) string { return filepath.Join(dir, name+".json") }

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// ofGo runs all nodes of a fleet in goroutines of this process and returns the final models.
func ofGo(t *testing.T, fleet *sdk.Fleet) [][]float32 {
	t.Helper()
	meeting, work := mem.New(fleet.Members...), sync.WaitGroup{}
	models, errs := make([][]float32, len(fleet.Members)), make([]error, len(fleet.Members))
	for i, name := range fleet.Members {
		tr, err := meeting.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		n, err := sdk.New(sdk.Config{Fleet: fleet, Name: name, Samples: samples, Oracle: square(i), Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			errs[i] = n.Run(t.Context())
			models[i] = n.Model()
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return models
}

func same(t *testing.T, who string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", who, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s has %v, want %v", who, got, want)
		}
	}
}
