// Command quickstart embeds two nodes in one program, each with websockets, pinned keys, and a state and a ledger on disk.
// Two pumps learn when a pump fails, with differential privacy for each reading. Everything that a device keeps is in the
// folder pumps: kill the program and start it again, and it continues.
package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log"
	"math"
	"sync"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/edge"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

func main() {
	method, privacy, err := plan.Suggest(plan.Known{Dim: 3, Samples: []int{400, 400}, Open: true,
		Privacy: sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: 1, Delta: 1e-5}})
	check(err)
	fleet := &fleetfile.File{Fleet: &sdk.Fleet{Run: "pumps", Dim: 3, Members: []string{"pump-1", "pump-2"}, Records: []int{400, 400},
		Edges: [][2]string{{"pump-1", "pump-2"}}, Method: method, Privacy: privacy}}
	for _, name := range fleet.Fleet.Members { // each device makes keys and publishes the public halves
		key, _, err := edge.Identity("pumps/"+name, name)
		check(err)
		fleet.Members = append(fleet.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{key}})
	}
	var nodes []*edge.Node
	for i, m := range fleet.Members { // each device opens its node; pump-2 dials pump-1
		node, err := edge.Open("pumps/"+m.Name, fleet, m.Name, sdk.OracleFunc(loss),
			edge.Options{Samples: 400, Listen: "127.0.0.1:0", Declared: state.NeverUsed})
		check(err)
		nodes, fleet.Members[i].Addresses = append(nodes, node), []string{node.Addr()}
	}
	var work sync.WaitGroup
	for _, node := range nodes {
		work.Go(func() { check(errors.Join(node.Run(context.Background()), node.Close())) })
	}
	work.Wait()
	fmt.Printf("a pump fails if %.2v * (heat, vibration, 1) > 0\n", nodes[0].Model())
}

// loss is your black box: the logistic loss of a model x for one reading. A pump fails if heat + 2 * vibration > 0.
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
