package graph_test

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

func init() { graph.Parse = topology.Parse }

// In this example four hospitals form a ring. The example prints the neighbors of node 0 and a safe round gain for rho
// = 1.
func Example() {
	g, err := topology.Parse("ring", 4, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("edges:", g.Edges())
	fmt.Println("neighbors of 0:", g.Neighbors(0))
	fmt.Printf("largest eigenvalue: %.6g\n", g.LambdaMax())
	fmt.Printf("gain at 40%% of the limit: %.6f\n", g.Gain(0.4, 1))
	// Output:
	// edges: [[0 1] [0 3] [1 2] [2 3]]
	// neighbors of 0: [1 3]
	// largest eigenvalue: 4
	// gain at 40% of the limit: 0.266667
}
