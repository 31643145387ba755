// Command idle is a program that embeds a node. As on a real device, the node has a fleet file, a node file,
// websockets, and a state and a ledger on disk. The program prints "asked" when the node first queries its model.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	_ "github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin" // for node files with a built-in model
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const samples = 20

func run(path string) (err error) {
	file, err := fleetfile.ReadNode(path)
	if err != nil {
		return err
	}
	fleet, key, err := file.Load()
	if err != nil {
		return err
	}
	ledger, err := state.OpenLedger(file.Ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	store, err := state.Open(file.State)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	f := fleet.Fleet
	tr, err := ws.New(ws.ConfigOf(fleet, file.Name, key, file.Listen))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	first := sync.OnceFunc(func() { fmt.Println("asked") })
	loss := func(_ context.Context, x []float32, _ int) (float64, error) {
		first()
		return float64(x[0]) * float64(x[0]), nil
	}
	node, err := sdk.New(sdk.Config{
		Fleet: f, Name: file.Name, Key: key, Keys: fleet.SigningKeys, Samples: samples, Oracle: sdk.OracleFunc(loss),
		Transport: tr, Store: store, Ledger: ledger,
	})
	if err != nil {
		return err
	}
	return node.Run(context.Background())
}
