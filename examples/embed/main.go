// Command embed runs three nodes in one program, each with websockets, pinned keys, and a state and a ledger on disk.
package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

func main() {
	dir, err := os.MkdirTemp("", "embed")
	names, keys, work := []string{"pump-1", "pump-2", "pump-3"}, map[string]ed25519.PrivateKey{}, sync.WaitGroup{}
	fleet := &fleetfile.File{Fleet: &sdk.Fleet{Run: "pumps", Dim: 3, Members: names, Records: []int{400, 400, 400},
		Edges: [][2]string{{"pump-1", "pump-2"}, {"pump-2", "pump-3"}, {"pump-3", "pump-1"}}}}
	check(err)
	fleet.Method, fleet.Privacy, err = plan.Suggest(plan.Known{Dim: 3, Samples: fleet.Records, Open: true,
		Privacy: sdk.Privacy{Unit: sdk.UnitRecord, EpsilonLimit: 1, Delta: 1e-5}})
	check(err)
	for _, name := range names { // each device makes a key and publishes the public half of it
		public, key, err := ed25519.GenerateKey(nil)
		check(err)
		keys[name], fleet.Members = key, append(fleet.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{public}})
	}
	for i, name := range names { // each device dials the devices before it in the list
		link, err := ws.New(ws.ConfigOf(fleet, name, keys[name], "127.0.0.1:0"))
		check(err)
		fleet.Members[i].Addresses = []string{link.Addr()}
		work.Go(func() { pump(fleet, link, name, keys[name], filepath.Join(dir, name)) })
	}
	work.Wait()
	check(os.RemoveAll(dir))
}

// pump runs the node of one pump. The node's state in dir survives a crash; the pump's readings never leave the node.
func pump(fleet *fleetfile.File, link *ws.Transport, name string, key ed25519.PrivateKey, dir string) {
	store, err := state.Open(dir)
	check(err)
	ledger, err := state.CreateLedger(filepath.Join(dir, "ledger.json"), "readings of "+name, sdk.UnitRecord, nil, state.NeverUsed) // later: OpenLedger
	check(err)
	node, err := sdk.New(sdk.Config{Fleet: fleet.Fleet, Name: name, Key: key, Keys: fleet.SigningKeys, Samples: 400,
		Oracle: sdk.OracleFunc(loss), Transport: link, Store: store, Ledger: ledger})
	check(err)
	check(errors.Join(node.Run(context.Background()), ledger.Close(), store.Close(), link.Close()))
	fmt.Printf("%s: it fails if %.2v * (heat, vibration, 1) > 0\n", name, node.Model())
}

// loss returns the logistic loss of a model x for one reading. A pump fails if heat + 2 * vibration > 0.
func loss(_ context.Context, x []float32, reading int) (float64, error) {
	heat, vibration := math.Sin(float64(3*reading)), math.Sin(float64(5*reading+1))
	fails := math.Copysign(1, heat+2*vibration)
	return math.Log1p(math.Exp(-fails * (float64(x[0])*heat + float64(x[1])*vibration + float64(x[2])))), nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
