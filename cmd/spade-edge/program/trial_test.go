package program

import (
	"crypto/ed25519"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest"
)

var nextPort atomic.Int32

// ownPort returns a free loopback address that no other test of this process uses. Its port is outside the range for
// outgoing connections, so no other process takes it while nothing listens there.
func ownPort() string {
	for {
		port := 18000 + (31*os.Getpid()+int(nextPort.Add(1)))%14500
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
}

// trial is a fleet of nodes on this machine, with all their files in one folder.
type trial struct {
	dir  string
	file *fleetfile.File
}

// newTrial writes the files of a fleet. edges lists the edges as pairs of members, such as "ab bc". Each member has a
// part of the generated patients, a key and a port. Before the files are written, newTrial calls change, if not nil, to
// modify the fleet.
func newTrial(t *testing.T, edges string, change func(f *sdk.Fleet)) *trial {
	t.Helper()
	fleet := &sdk.Fleet{
		Run: "trial", Dim: 6, X0: []float32{0, 0.5, 0, -0.25, 0, 0.125},
		Method: sdk.Method{Rounds: 6, Cooldown: 3, Tau: 2, Batch: 8, Rho: 1, Gain: 0.75,
			Eta: []float64{1.5, 1.25, 1, 1, 0.75, 0.5}, Mu: []float64{0.6},
			Estimator: zoest.Paper, Seed: 5},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	for _, e := range strings.Fields(edges) {
		edge := [2]string{e[:1], e[1:]}
		fleet.Edges = append(fleet.Edges, edge)
		for _, name := range edge {
			if !slices.Contains(fleet.Members, name) {
				fleet.Members = append(fleet.Members, name)
			}
		}
	}
	if change != nil {
		change(fleet)
	}
	tr := &trial{dir: t.TempDir(), file: &fleetfile.File{Fleet: fleet, X0File: "x0.bin"}}
	for i, name := range fleet.Members {
		port := ownPort()
		public, err := secret.CreateKey(tr.path(name + ".key"))
		if err != nil {
			t.Fatal(err)
		}
		tr.file.Members = append(tr.file.Members, fleetfile.Member{
			Name: name, Keys: []ed25519.PublicKey{public}, Addresses: []string{"wss://" + port + "/"},
		})
		if fleet.Privacy.PairSigma > 0 {
			public, err := state.PairKeys(tr.path(fleetfile.PairKeysName)).Add(name, 1)
			if err != nil {
				t.Fatal(err)
			}
			fleet.PairKeys = append(fleet.PairKeys, public...)
		}
		ledger := ""
		if !fleet.Privacy.NonPrivate {
			ledger = `"ledger": "` + name + `.ledger", `
			l, err := state.CreateLedger(tr.path(name+".ledger"), "patients of "+name, fleet.Privacy.Protects(), nil, state.NeverUsed)
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
	writeFile(t, tr.dir, name, text)
}
