package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/adapter"
	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

const members = 8

type way struct {
	spec      *adapter.Spec
	step, mu  float64 // without noise: step of a round along the gradient, and smoothing radius
	rounds    int     // without noise
	protected float64 // step of a run that protects each digit: longer, as clipping bounds each digit's slope
}

// name is the name of the adapter's form in the tables of the README.
func (w way) name() string {
	if w.spec.Form == adapter.Coords {
		return "the biases"
	}
	return "random subspace"
}

// Privacy levels of a run.
const (
	open   = "none"
	record = "each digit, epsilon 4"
	client = "each member's digits, epsilon 4, pairwise noise"
)

// fleet returns a fleet of eight members. The parameter each is the number of digits per member.
func (w way) fleet(privacy string, each int, seed uint64) (*sdk.Fleet, error) {
	known := plan.Known{Open: true, Method: sdk.Method{Mu: admm.Schedule{w.mu}, Seed: seed}}
	switch privacy {
	case open:
		const tau = 4
		known.Method.Rounds, known.Method.Tau, known.Method.Cooldown = w.rounds, tau, 5
		known.Method.Eta, known.Method.Momentum = admm.Schedule{w.step / w.mu / (1 + tau)}, 0.8
		known.Privacy.NonPrivate = true
	case record:
		known.Method.Rounds, known.Method.Tau, known.Method.Eta = 10, 16, admm.Schedule{w.protected / w.mu}
		known.Privacy = sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: 4}
	case client:
		known.Method.Rounds, known.Method.Tau = 10, 16
		known.Privacy = sdk.Privacy{EpsilonLimit: 4, Colluders: 1}
	}
	return suggested(w.spec, each, known)
}

// suggested returns a fleet that trains an adapter. Its eight members form a complete graph. The parameter each is the
// number of digits per member. Package plan derives the settings from the public numbers in the parameter known.
func suggested(spec *adapter.Spec, each int, known plan.Known) (*sdk.Fleet, error) {
	f := &sdk.Fleet{Run: "adapter", Dim: spec.Dim, Task: spec.Task()}
	for i := range members {
		f.Members = append(f.Members, fmt.Sprintf("camera-%d", i))
	}
	g, err := topology.Parse("complete", members, 1)
	if err != nil {
		return nil, err
	}
	for _, e := range g.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	known.Dim, known.Samples = spec.Dim, slices.Repeat([]int{each}, members)
	if known.Privacy.Unit == dpmech.Record {
		f.Records = known.Samples
	}
	if known.Privacy.Colluders > 0 {
		known.Graph = g
	}
	f.Method, f.Privacy, err = plan.Suggest(known)
	if err != nil {
		return nil, err
	}
	return f, nil
}

type outcome struct {
	accuracy float64 // of the first member's final model, on digits that no member has
	bytes    int64   // sent by a member to all neighbors in one round, without signatures
	queries  int64   // losses asked for, by all members together
}

// train simulates a run with the given privacy level, in which each member has an equal share of the trial's digits.
func (w way) train(privacy string, t *trial) (o outcome, err error) {
	f, err := w.fleet(privacy, len(t.own)/members, 1)
	if err != nil {
		return o, err
	}
	return t.run(f, w.spec)
}

// run simulates a fleet in which each member has an equal share of the trial's digits, and evaluates the first member's
// model.
func (t *trial) run(f *sdk.Fleet, spec *adapter.Spec) (o outcome, err error) {
	each := len(t.own) / members
	cfgs, err := sim.Machines(f, slices.Repeat([]int{each}, members), func(i int) io.Reader { // only in a simulation: real nodes use random noise
		s := rng.New(t.seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})
	if err != nil {
		return o, err
	}
	var clients []sim.Client
	var a *adapter.Adapter
	for i, cfg := range cfgs {
		if a, err = adapter.New(*spec, t.base, nil); err != nil {
			return o, err
		}
		clients = append(clients, sim.Client{Config: cfg, Oracle: a.Oracle(frozen.Member{Network: t.Network, Digits: t.own[i*each : (i+1)*each]})})
	}
	network, err := sim.New(clients)
	if err != nil {
		return o, err
	}
	network.Meter = func() func(*admm.Message) (int, error) { return meter(f.Dim) }
	if err := network.Run(context.Background(), nil); err != nil {
		return o, err
	}
	x := make([]float32, t.Params())
	a.Expand(x, network.Models()[0])
	o.accuracy, o.bytes = t.Accuracy(x, t.held), network.Weight()/int64(members*f.Method.Last())
	o.queries, _ = network.Queries()
	return o, nil
}

// meter returns a function that measures the encoded length, in bytes, of a message with dim numbers.
func meter(dim int) func(*admm.Message) (int, error) {
	codec, err := wire.NewCodec(dim)
	var frame []byte
	return func(m *admm.Message) (int, error) {
		if err != nil {
			return 0, err
		}
		frame, err = codec.Append(frame[:0], m)
		return len(frame), err
	}
}
