package admm_test

import (
	"fmt"
	"log"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest"
)

// In this example two clients have different optima: x = 1 and x = 3. They agree on x = 2, which minimizes the sum of
// their losses.
func Example() {
	want := []float64{1, 3}
	pair, err := graph.New(2, [][2]int{{0, 1}})
	if err != nil {
		log.Fatal(err)
	}
	var machines []*admm.Machine
	for i := range want {
		m, err := admm.New(admm.Config{
			Estimator: zoest.Config{Dim: 1, Samples: 100, Seed: 1, Client: uint32(i)},
			Neighbors: []int{1 - i}, Consensus: pair.Chebyshev(),
			Rounds: 300, Cooldown: 30, Tau: 2,
			Rho: 1, Beta: 20, Eta: admm.Schedule{0.05}, Mu: admm.Schedule{0.2},
			NonPrivate: true,
		})
		if err != nil {
			log.Fatal(err)
		}
		machines = append(machines, m)
	}
	var air []admm.Message
	for finished := 0; finished < len(machines); {
		finished = 0
		for i, m := range machines {
			r, err := m.Ready()
			if err != nil {
				log.Fatal(err)
			}
			air = append(air, r.Send...)
			for _, q := range r.Queries { // the oracle returns only a loss
				x := float64(q.Point[0])
				if err := m.Answer((x - want[i]) * (x - want[i])); err != nil {
					log.Fatal(err)
				}
			}
			if r.Finished {
				finished++
			}
		}
		for _, msg := range air {
			if err := machines[msg.To].Receive(msg); err != nil {
				log.Fatal(err)
			}
		}
		air = air[:0]
	}
	for i, m := range machines {
		fmt.Printf("client %d, after %d losses: %.1f\n", i, m.Status().Queries, m.Model()[0])
	}
	// Output:
	// client 0, after 90000 losses: 2.0
	// client 1, after 90000 losses: 2.0
}
