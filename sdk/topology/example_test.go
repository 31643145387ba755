package topology_test

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// The example computes in how many rounds disagreement falls to a tenth. The slowest mode, at one end of the spectrum,
// determines this number.
func ExampleContraction() {
	g, err := topology.Parse("ring", 8, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	a := g.Gain(0.75, 1)
	slowest := topology.ContractionOf(g, a, 1)
	fmt.Printf("by %.4f a round, to a tenth in %.0f rounds\n", slowest, math.Ceil(math.Log(10)/-math.Log(slowest)))
	// Output:
	// by 0.9239 a round, to a tenth in 30 rounds
}
