// Command idle is a program with an idle node: a fleet file, a node file, a state and a ledger on disk, and an MQTT
// broker. With the build tag "without" the node does not use a broker. The difference shows what this module adds to a
// program that has TLS and websockets anyway.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spade-dfl/spade-edge/sdk"
	_ "github.com/spade-dfl/spade-edge/sdk/broker" // for node files that name a broker
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
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
	tr, err := open(file, fleet, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	loss := func(_ context.Context, x []float32, _ int) (float64, error) {
		return float64(x[0]) * float64(x[0]), nil
	}
	node, err := sdk.New(sdk.Config{Fleet: fleet.Fleet, Name: file.Name, Samples: samples, Oracle: sdk.OracleFunc(loss),
		Transport: tr, Store: store, Ledger: ledger})
	if err != nil {
		return err
	}
	return node.Run(context.Background())
}
