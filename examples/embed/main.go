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

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/edge"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

func main() {
	dir, err := os.MkdirTemp("", "embed")
	check(err)
	names, nodes := []string{"pump-1", "pump-2", "pump-3"}, map[string]*edge.Node{}
	fleet := &fleetfile.File{Fleet: &sdk.Fleet{Run: "pumps", Dim: 3, Members: names, Records: []int{400, 400, 400},
		Edges: [][2]string{{"pump-1", "pump-2"}, {"pump-2", "pump-3"}, {"pump-3", "pump-1"}}}}
	fleet.Method, fleet.Privacy, err = plan.Suggest(plan.Known{Dim: 3, Samples: fleet.Records, Open: true,
		Privacy: sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: 1, Delta: 1e-5}})
	check(err)
	for _, name := range names { // each device makes its keys and publishes the public halves
		key, _, err := edge.Identity(filepath.Join(dir, name), name)
		check(err)
		fleet.Members = append(fleet.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{key}})
	}
	for i, name := range names { // each device dials the devices before it in the list
		node, err := edge.Open(filepath.Join(dir, name), fleet, name, sdk.OracleFunc(loss),
			edge.Options{Samples: 400, Listen: "127.0.0.1:0", Declared: state.NeverUsed})
		check(err)
		nodes[name], fleet.Members[i].Addresses = node, []string{node.Addr()}
	}
	var work sync.WaitGroup
	for name, node := range nodes {
		work.Go(func() {
			check(errors.Join(node.Run(context.Background()), node.Close()))
			fmt.Printf("%s: it fails if %.2v * (heat, vibration, 1) > 0\n", name, node.Model())
		})
	}
	work.Wait()
	check(os.RemoveAll(dir))
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
