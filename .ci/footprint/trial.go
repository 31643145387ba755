package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// trial is a private fleet whose files are in one folder: fleet.json and, for every member, NAME.json, NAME.key and
// NAME.ledger.
type trial struct {
	dir  string
	file *fleetfile.File
}

// newTrial writes the files of a fleet whose members all listen on loopback. The function oracle returns the JSON text
// for the oracle of member i.
func newTrial(dir string, fleet *sdk.Fleet, oracle func(i int) string) (*trial, error) {
	tr := &trial{dir: dir, file: &fleetfile.File{Fleet: fleet}}
	var ports []int
	for range fleet.Members {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // keeps the port until all other ports are chosen
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for i, name := range fleet.Members {
		public, err := secret.CreateKey(tr.path(name + ".key"))
		if err != nil {
			return nil, err
		}
		addresses := []string{fmt.Sprintf("wss://127.0.0.1:%d/", ports[i])}
		tr.file.Members = append(tr.file.Members,
			fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{public}, Addresses: addresses})
		ledger, err := state.CreateLedger(tr.path(name+".ledger"), "data of "+name, dpmech.Client, nil, state.NeverUsed)
		if err == nil {
			err = ledger.Close()
		}
		node := fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "fleet.json", "key": "%[1]s.key", "listen": `+
			`"127.0.0.1:%d", "state": "%[1]s.state",
	"ledger": "%[1]s.ledger", "oracle": %[3]s}`, name, ports[i], oracle(i))
		if err := errors.Join(err, os.WriteFile(tr.path(name+".json"), []byte(node), 0o600)); err != nil {
			return nil, err
		}
	}
	return tr, tr.file.Write(tr.path("fleet.json"))
}

func (tr *trial) path(name string) string { return filepath.Join(tr.dir, name) }

// writeTable writes a CSV file with the given number of rows. Each row has the given number of numeric columns and, in
// one more column, one of two classes.
func writeTable(path string, rows, columns int) error {
	var b strings.Builder
	for j := range columns {
		fmt.Fprintf(&b, "c%d,", j)
	}
	b.WriteString("class\n")
	for i := range rows {
		for j := range columns {
			fmt.Fprintf(&b, "%.3f,", math.Sin(float64(1+i*columns+j)))
		}
		fmt.Fprintf(&b, "%d\n", i%2)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
