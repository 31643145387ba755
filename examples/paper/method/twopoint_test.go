package method

import (
	"context"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// TestTwoPointDSGOnACompleteGraphIsFedAvg checks that 2P-DSG equals DP-FedAvg on a complete graph, where all Metropolis
// weights are 1/N.
func TestTwoPointDSGOnACompleteGraphIsFedAvg(t *testing.T) {
	w := clinics(t)
	var err error
	if w.Graph, err = topology.Parse("complete", len(w.Clients), 1); err != nil {
		t.Fatal(err)
	}
	w.Queries, w.Privacy = 4, &Privacy{Epsilon: 50, Delta: 1e-5}
	s := Setting{"tau": 2, "eta": 0.5, "mu": 0.3, "clip": 0.2}
	last := func(m Method) (out [][]float32, spent Spent) {
		spent, err := m.Run(context.Background(), w, s, func(_ int, models [][]float32) error {
			out = nil
			for _, x := range models {
				out = append(out, append([]float32(nil), x...))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out, spent
	}
	one, spentOne := last(DPFedAvg{})
	many, spent := last(TwoPointDSG{})
	for i, x := range many {
		for j, v := range x {
			if d := v - one[0][j]; d > 1e-4 || d < -1e-4 {
				t.Errorf("client %d has %v at %d, a server %v", i, v, j, one[0][j])
			}
		}
	}
	if spent.Queries != spentOne.Queries || spent.Scalars != int64(2*6*w.Dim*w.Rounds) {
		t.Errorf("spent %+v, a server %+v", spent, spentOne)
	}
}
