package tinytest_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// A fleet of two real nodes trains over a network that loses every fifth frame, while one of them crashes. Its models
// are those of a run without faults.
func ExampleWorld() {
	w := &tinytest.World{
		Fleet: &sdk.Fleet{
			Run: "example", Dim: 2, Members: []string{"hall", "lab"}, Edges: [][2]string{{"hall", "lab"}},
			Method:  sdk.Method{Rounds: 5, Cooldown: 2, Tau: 2, Rho: 1, Gain: 0.4, Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3}},
			Privacy: sdk.Privacy{Clip: 0.3, Sigma: 0.05, Delta: 1e-5},
		},
		Link:  tinytest.Drop(1, 0.2),
		Disks: map[string]tinytest.OpenStore{"lab": tinytest.CrashAt(tinytest.MemStore(), 3)},
		// Change: func(client int, c *sdk.Config) { c.Oracle = yourLoss },
	}
	got, err := w.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	want, err := w.Simulate(context.Background())
	fmt.Println("the same releases:", got.Transcript == want.Transcript, err)
	// Output: the same releases: true <nil>
}
