package method_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Three clients on a path find the mean of their numbers 1, 2 and 6 by querying the losses of guesses.
func ExampleRivals() {
	g, err := topology.Parse("path", 3, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := &method.World{Graph: g, Dim: 1, Rounds: 60, Seed: 1, Queries: 4}
	for _, number := range []float64{1, 2, 6} {
		off := func(_ context.Context, x []float32, _ int) (float64, error) {
			d := float64(x[0]) - number
			return d * d / 2, nil
		}
		w.Clients = append(w.Clients, method.Client{Oracle: zoest.OracleFunc(off), Samples: 1})
	}
	m := method.Rivals()[1]
	fmt.Print(m.Name(), " searches for")
	for _, p := range m.Space(w) {
		fmt.Print(" ", p.Name)
	}
	fmt.Println()

	s := method.Setting{"tau": 2, "gamma": 0.3, "gain": 0.5, "mu": 0.1}
	spent, err := m.Run(context.Background(), w, s, func(round int, models [][]float32) error {
		if round%30 == 0 {
			fmt.Printf("round %d: %.3f\n", round, models)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d losses, %d numbers sent\n", spent.Queries, spent.Scalars)
	// Output:
	// LT-ADMM-DP searches for tau gamma gain mu
	// round 30: [[3.000] [3.000] [3.000]]
	// round 60: [[3.000] [3.000] [3.000]]
	// 720 losses, 240 numbers sent
}
