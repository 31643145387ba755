package recovery_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/recovery"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Client 1 of two is lost after round 5, with its last release on its way. Client 0 tells the device in its place what
// it holds: the state of round 4 is there again.
func Example() {
	var clients []sim.Client
	for i := range 2 {
		clients = append(clients, sim.Client{
			Config: admm.Config{
				Estimator: zoest.Config{Dim: 2, Samples: 10, Batch: 10, Client: uint32(i)},
				Neighbors: []int{1 - i}, Rounds: 5, Tau: 1, Rho: 1, Beta: 20,
				Eta: admm.Schedule{0.05}, Mu: admm.Schedule{0.2}, NonPrivate: true, Releases: true,
			},
			Oracle: zoest.OracleFunc(func(_ context.Context, x []float32, _ int) (float64, error) {
				off := float64(x[i]) - 1
				return off * off, nil
			}),
		})
	}
	network, err := sim.New(clients)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored := map[int]admm.State{} // of client 0, by round
	neighbor := recovery.Node{Stored: func(round int) (admm.State, bool) { s, ok := stored[round]; return s, ok }}
	network.OnRelease = func(client int, m *admm.Machine) {
		if client != 0 {
			return
		}
		s := m.State() // its slices are the machine's
		s.X, s.Edges = slices.Clone(s.X), slices.Clone(s.Edges)
		s.Edges[0].Z, s.Edges[0].PeerZ = slices.Clone(s.Edges[0].Z), slices.Clone(s.Edges[0].PeerZ)
		neighbor.Machine, stored[s.Round] = m, s
	}
	var model []float32 // of client 1, after round 4
	each := func(round int) error {
		if round == 4 {
			model = network.Models()[1]
		}
		return nil
	}
	if err := network.Run(context.Background(), each); err != nil {
		fmt.Println(err)
		return
	}

	var answers []*admm.Message
	lost := recovery.New(recovery.Config{
		Name: "b", Names: []string{"a"}, Machine: clients[1].Config, Incarnation: 1,
		Send: func(_ int, request *admm.Message) error {
			request.From = 1 // as the transport says at the other end
			answers = append(answers, recovery.Respond(request, neighbor))
			return nil
		},
	})
	for done := false; !done; {
		for _, answer := range answers {
			if err := lost.Receive(answer); err != nil {
				fmt.Println(err)
			}
		}
		answers = nil
		if done, err = lost.Step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	found, err := lost.Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.State.Round, found.Generation, slices.Equal(found.State.X, model))
	// Output: 4 1 true
}
