// Command iot trains the alarm thresholds of a row of machines together.
//
// Each machine has a vibration sensor and a small board. Every second the board turns the last samples of the sensor
// into features, and sounds an alarm when a weighted sum of them passes a threshold. One machine alone has seen a
// handful of faults at most, and its recordings are private. So the boards train one common vector of weights with each
// other: nobody sends a signal, and what is sent is noised.
//
// The alarm is a black box for the training: it is on or off, and has no gradient. Training needs only a number that
// says how bad a vector of weights is on one recorded second: func (site) loss.
//
//	go run ./examples/iot
//
// The whole fleet runs in this one process, through transport/mem. On real boards each runs one node of it with
// transport/ws; nothing else changes. It fits into 16 MiB.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

const (
	machines = 100
	seconds  = 200 // recorded on each machine, one in ten of them with a fault
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "iot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	fleet := ring(machines)
	sites := make([]*site, machines)
	for i := range sites {
		sites[i] = record(uint64(i), seconds)
	}
	single := &sdk.Fleet{
		Run: "alone", Dim: dim, Members: fleet.Members[:1], Method: fleet.Method, Privacy: sdk.Privacy{NonPrivate: true},
	}
	alone, err := train(ctx, single, sites[:1])
	if err != nil {
		return err
	}
	together, err := train(ctx, fleet, sites)
	if err != nil {
		return err
	}
	unseen := record(machines, 2000) // a machine that takes no part
	delta := fleet.Privacy.Delta
	epsilon := dpmech.FormatEpsilon(dpmech.GDP.Epsilon(fleet.Rho(), delta), 1)
	fmt.Fprintf(out, "alarm of %s, trained alone: %s on a new machine\n", fleet.Members[0], unseen.score(alone[0]))
	fmt.Fprintf(out, "trained with %d others: %s\n", machines-1, unseen.score(together[0]))
	fmt.Fprintf(out, "each machine has spent epsilon %s at delta %v on all that it has recorded\n", epsilon, delta)
	return nil
}

// ring is the public part, the same on every board: the graph (a ring with two kinds of chords), the duration and the
// privacy. It trains for 20 rounds, and reaches consensus in 30 more that cost no privacy.
func ring(n int) *sdk.Fleet {
	fleet := &sdk.Fleet{
		Run: "thresholds", Dim: dim,
		Method: sdk.Method{
			Rounds: 20, Cooldown: 30, Tau: 4, Batch: 100, Rho: 1, Gain: 0.75, Eta: []float64{40}, Mu: []float64{0.4},
			Estimator: sdk.EstimatorCentered, Seed: 1,
		},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 1.5, Delta: 1e-5},
	}
	for i := range n {
		fleet.Members = append(fleet.Members, fmt.Sprintf("press-%02d", i))
	}
	for i, name := range fleet.Members {
		for _, far := range []int{1, 7, 31} {
			if far < n/2 {
				fleet.Edges = append(fleet.Edges, [2]string{name, fleet.Members[(i+far)%n]})
			}
		}
	}
	return fleet
}

// train runs one node for each site, and returns their models.
func train(ctx context.Context, fleet *sdk.Fleet, sites []*site) ([][]float32, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	net := mem.New(fleet.Members...)
	nodes, errs := make([]*sdk.Node, len(sites)), make([]error, len(sites))
	for i, name := range fleet.Members {
		link, err := net.Node(name)
		if err != nil {
			return nil, err
		}
		defer link.Close()
		nodes[i], err = sdk.New(sdk.Config{
			Fleet: fleet, Name: name, Samples: len(sites[i].recorded), Oracle: sdk.OracleFunc(sites[i].loss),
			Transport: link, SeededTable: true, // a node then holds a few vectors of the model's length
		})
		if err != nil {
			return nil, err
		}
	}
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			if errs[i] = node.Run(ctx); errs[i] != nil {
				cancel() // the others would wait for it
			}
		})
	}
	all.Wait()
	models := make([][]float32, len(nodes))
	for i, node := range nodes {
		models[i] = node.Model()
	}
	return models, errors.Join(errs...)
}
