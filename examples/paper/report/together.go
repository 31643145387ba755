package report

import (
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// together returns the epsilon that holds against all other clients together in a run with pairwise noise. They know
// all pairwise noise, so only the client's own local noise protects its data. The graph is the random graph for seed 1.
// The result depends neither on the clipping norm nor on the number of rounds.
func together(clients int, epsilon float64) (string, error) {
	g, err := topology.Parse("er:0.3", clients, 1)
	if err != nil {
		return "", err
	}
	known := plan.Known{Dim: 1, Samples: slices.Repeat([]int{1}, clients), Graph: g, Method: sdk.Method{Rounds: 50},
		Privacy: sdk.Privacy{Clip: 1, EpsilonLimit: epsilon, Delta: experiment.Delta, Colluders: 1}}
	f := sdk.Fleet{}
	if f.Method, f.Privacy, err = plan.Suggest(known); err != nil {
		return "", err
	}
	return dpmech.FormatEpsilon(dpmech.GDP.Epsilon(f.Total(f.Method.Rounds).All, experiment.Delta), 3), nil
}
