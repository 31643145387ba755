package sdk_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// This example runs a private fleet of one member and prints the privacy cost of its releases. Larger networks differ
// only in Members and Edges.
func ExampleNode() {
	const delta = 1e-5
	sigma, err := budget.SigmaFor(0.1, 20, 8, delta, dpmech.GDP)
	if err != nil {
		fmt.Println(err)
		return
	}
	fleet := &sdk.Fleet{
		Run: "solo", Dim: 3, Members: []string{"me"},
		Method:  sdk.Method{Rounds: 20, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}},
		Privacy: sdk.Privacy{Clip: 0.1, Sigma: sigma, Delta: delta},
	}
	tr, err := mem.New(fleet.Members...).Node("me")
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := sdk.New(sdk.Config{
		Fleet: fleet, Name: "me", Samples: 50, Transport: tr,
		Oracle: sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) {
			off := float64(x[sample%3]) - 1
			return off * off / (1 + off*off), nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := node.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	st := node.Status()
	fmt.Printf("%d releases after %d losses, epsilon %.2f at delta %v\n",
		st.Round, st.Queries, dpmech.GDP.Epsilon(node.Spend().Rho, delta), delta)
	// Output: 20 releases after 3000 losses, epsilon 8.00 at delta 1e-05
}
